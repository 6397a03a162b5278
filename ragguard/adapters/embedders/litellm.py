"""Embeddings through LiteLLM: a provider's, or those of any OpenAI-shaped server (TEI, vLLM, Ollama, Xinference)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import numpy as np
from pydantic import Field, field_validator
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random, wait_random_exponential

from ragguard.adapters import litellm_clients
from ragguard.adapters.embedders.base import (
    NO_EMBEDDER,
    EmbedderSettings,
    TextsRefusedError,
    batches,
    sendable,
    unit_vectors,
)
from ragguard.adapters.embedders.http_failures import headers_of, passes_by_itself, status_of
from ragguard.adapters.redaction import foreign
from ragguard.adapters.retry_after import retry_after_s
from ragguard.core.ports import Vectors
from ragguard.errors import ConfigError, EmbedderError, RagguardError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

LONGEST_WAIT_S = 60.0
_WRAPPING = re.compile(
    r"^litellm\.\w+: (?:\w+: )?(?:\w+(?:Exception|Error) - )?"
    r"|[\s:.,]*Traceback \(most recent call last\).*| Error_str: .*"
)
_BASE64 = re.compile(r"encoding|base64", re.IGNORECASE)
_NO_KEY = "none-needed"
_REFUSED = frozenset({400, 413, 422})
_MENDS: Mapping[int, str] = {
    402: "check the account's plan and credit at the provider",
    408: "raise embedder.timeout, or lower embedder.batch_size",
    429: "lower embedder.concurrency, or raise embedder.attempts",
    401: "set the key of the provider that embedder.model names (such as OPENAI_API_KEY for openai/…)",
    403: "set the key of the provider that embedder.model names, and check that it may use the model",
    404: "check embedder.model, and embedder.api_base: for most servers it ends with /v1",
}


@dataclass
class _Connection:
    """What belongs to one event loop: how many requests may run, how one is made, and the client where it is ours.

    Attributes:
        options: What each request holds besides.
    """

    gate: asyncio.Semaphore
    call: Callable[..., Awaitable[Any]]
    client: AsyncOpenAI | None = None
    options: dict[str, str] = field(default_factory=dict)


class LiteLLMEmbedder(EmbedderSettings):
    """Embeds with `litellm.aembedding`.

    A model without a known provider (`bge-m3`, `BAAI/bge-m3`) at an `api_base` is asked for in OpenAI's way and without
    any key; `openai/bge-m3` or `hosted_vllm/bge-m3` sends the key of that provider's own variable.
    """

    type: Literal["litellm"] = "litellm"
    model: str = Field(
        default="bge-m3",
        min_length=1,
        description="A model's name, with its provider (`openai/text-embedding-3-small`) unless api_base serves it.",
        json_schema_extra={"not": {"const": "offline"}},  # that is another type
    )
    dim: int | None = Field(default=None, ge=1, description="Checked against what comes back.")
    api_base: str | None = Field(default=None, description="Address of an OpenAI-shaped server, mostly ending in /v1.")
    timeout: float = Field(default=60.0, gt=0, le=3600, description="Seconds for one request.")
    batch_size: int = Field(default=32, ge=1, le=2048, description="Texts per request.")
    concurrency: int = Field(default=4, ge=1, le=256, description="Requests at the same time.")
    attempts: int = Field(default=5, ge=1, le=20, description="How often a request is tried in all.")
    backoff: float = Field(default=1.0, ge=0, le=60, description="Seconds before the first retry; doubles each time.")

    @field_validator("api_base")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value.strip())
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must be an http:// or https:// address, such as http://127.0.0.1:8080/v1")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must not hold a user name or password: secrets come from the provider's own variable")
        return value.strip().rstrip("/")

    @property
    def name(self) -> str:
        """The model's name as configured."""
        return self.model

    @property
    def dimension(self) -> int | None:
        """The configured dimension."""
        return self.dim

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, one row for each text: shape (len(texts), dim).

        Raises:
            EmbedderError: The server cannot be used, or gives something else than was asked for.
            ConfigError: The model has neither a known provider nor an `api_base`.
        """
        failed: list[RagguardError] = []
        parts = await asyncio.gather(*(self._embed_batch(some, failed) for some in batches(texts, self.batch_size)))
        if failed:
            raise failed[0]
        dims = {part.shape[1] for part in parts}
        if len(dims) > 1:
            raise EmbedderError(f"{self._source} gave vectors of different dimensions: {sorted(dims)}")
        return np.concatenate(parts) if parts else np.zeros((0, self.dim or 0))

    async def _embed_batch(self, texts: Sequence[str], failed: list[RagguardError]) -> Vectors:
        """Embeds a batch, unless another one has failed meanwhile; its own failure goes into `failed`.

        What is on its way is not cut off: LiteLLM does not clean up after that.
        """
        try:
            await asyncio.to_thread(litellm_clients.litellm_module)
            connection = self._connection()
            async with connection.gate:
                if not failed:
                    rows = in_order(await self._ask(connection, sendable(texts)), self._source)
                    return unit_vectors(rows, len(texts), self.dim, self._source)
        except RagguardError as error:
            failed.append(error)
        return np.zeros((0, self.dim or 0))

    async def _ask(self, connection: _Connection, texts: list[str]) -> Any:
        """Asks as the client does, for base64; a server that refuses that by name is asked for numbers."""
        try:
            return await self._ask_once(connection, texts, **connection.options)
        except TextsRefusedError as error:
            if connection.client is None or connection.options or not _BASE64.search(error.message):
                raise
            connection.options = {"encoding_format": "float"}
            return await self._ask_once(connection, texts, **connection.options)

    async def _ask_once(self, connection: _Connection, texts: list[str], **more: str) -> Any:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.attempts),
            retry=retry_if_exception(passes_by_itself),
            wait=self._wait,
            reraise=True,
        )
        try:
            with litellm_clients.unlogged():
                response: Any = await retrying(connection.call, input=texts, **more)
        except Exception as error:
            raise self._told(error) from error
        return response.data

    async def aclose(self) -> None:
        """Frees the connections of the running event loop; the next `embed` opens new ones."""
        connection = self._connections.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            if connection.client is not None:
                await connection.client.close()
            await litellm_clients.leave()

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = retry_after_s(headers_of(error), datetime.now(UTC))
        if asked is None:
            return wait_random_exponential(multiplier=self.backoff, max=LONGEST_WAIT_S)(state)
        return min(asked, LONGEST_WAIT_S) + wait_random(0, self.backoff)(state)

    def _connection(self) -> _Connection:
        loop = asyncio.get_running_loop()
        if loop not in self._connections:
            for closed in [known for known in self._connections if known.is_closed()]:
                self._connections.pop(closed, None)
            self._connections[loop] = self._connect()
            litellm_clients.enter()
        return self._connections[loop]

    def _connect(self) -> _Connection:
        litellm = litellm_clients.litellm_module()
        model = routed(self.model, self.api_base, {str(getattr(one, "value", one)) for one in litellm.provider_list})
        _require_provider(litellm, model)
        call = partial(litellm.aembedding, model=model, timeout=self.timeout, max_retries=0, num_retries=0)
        gate = asyncio.Semaphore(self.concurrency)
        if self.api_base is None:
            return _Connection(gate, call)
        if not model.startswith("openai/"):
            return _Connection(gate, partial(call, api_base=self.api_base))
        # OPENAI_API_KEY is not meant for a server that nobody called OpenAI's.
        client = self._openai_client(_NO_KEY if model != self.model else None)
        # The client itself asks for base64: through LiteLLM each number of each vector costs a step of its own.
        return _Connection(gate, partial(client.embeddings.create, model=model.removeprefix("openai/")), client)

    def _openai_client(self, api_key: str | None) -> AsyncOpenAI:
        import openai

        try:
            return openai.AsyncOpenAI(api_key=api_key, base_url=self.api_base, timeout=self.timeout, max_retries=0)
        except openai.OpenAIError as error:
            raise ConfigError(
                f"embedder.model is {self.model}, but OPENAI_API_KEY is not set",
                mend=f"set it, or write model: {self.model.removeprefix('openai/')} for a server that needs no key",
            ) from error

    @cached_property
    def _connections(self) -> dict[asyncio.AbstractEventLoop, _Connection]:
        return {}

    @property
    def _source(self) -> str:
        return f"embedder {self.model}" + (f" at {self.api_base}" if self.api_base else "")

    def _told(self, error: Exception) -> EmbedderError:
        status = status_of(error)
        said = foreign(_WRAPPING.sub("", " ".join(str(error).split())))[:300] or type(error).__name__
        if status in _REFUSED:
            return TextsRefusedError(
                f"{self._source} refuses the request: {said}",
                mend="a text may be longer than the model reads, or embedder.batch_size more than the server takes",
            )
        if "No embedding data" in said:
            return EmbedderError(f"{self._source} gave a reply without vectors", mend=NO_EMBEDDER)
        if "object has no attribute" in said:  # the client's word for a reply of another form, such as a web page
            said, status = "it does not reply with embeddings in OpenAI's form", 404
        return EmbedderError(
            f"{self._source} cannot be used: {said}",
            mend=_MENDS.get(status, "check that the server runs and that embedder.api_base is its address"),
        )


def routed(model: str, api_base: str | None, providers: Collection[str]) -> str:
    """Names the provider that LiteLLM shall speak to: an unknown one at an `api_base` is spoken to in OpenAI's way."""
    provider, slash, _ = model.partition("/")
    return model if api_base is None or (slash and provider in providers) else f"openai/{model}"


def in_order(data: Sequence[Any], source: str) -> list[Any]:
    """Puts the vectors of a reply in the order of the texts, by the index that each carries.

    Raises:
        EmbedderError: The indices are not 0 … n-1, each once.
    """
    try:
        items = [item if isinstance(item, Mapping) else item.model_dump() for item in data]
        by_index = {item.get("index", place): item.get("embedding") for place, item in enumerate(items)}
    except (AttributeError, TypeError) as error:
        raise EmbedderError(f"{source} does not reply with embeddings in OpenAI's form", mend=NO_EMBEDDER) from error
    if by_index.keys() != set(range(len(items))):
        what = "gave vectors whose index does not say which text they belong to"
        raise EmbedderError(f"{source} {what}", mend=NO_EMBEDDER)
    return [by_index[place] for place in range(len(items))]


def _require_provider(litellm: Any, model: str) -> None:
    try:
        litellm.get_llm_provider(model)
    except litellm.exceptions.BadRequestError as error:
        raise ConfigError(
            f"embedder.model is {model!r}, which names no provider that is known",
            mend="set embedder.api_base to the server of the model, or write provider/model, "
            "such as openai/text-embedding-3-small",
        ) from error

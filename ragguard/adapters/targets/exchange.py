"""One question over HTTP: bounded reply, retries that obey Retry-After, latency of the attempt that succeeded."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from ragguard.adapters.retry_after import retry_after_s
from ragguard.adapters.targets.replies import ReplyError, parse
from ragguard.adapters.targets.wording import Redactor, excerpt

_LONGEST_WAIT_S: Final = 60.0
_TRY_AGAIN: Final = frozenset({408, 425, 429})
_SAME_FOR_ALL: Final = frozenset({401, 403, 404, 405, 407})
_ERROR_BODY_BYTES: Final = 2_000
_SHORTEST_SECRET_IN_BODY: Final = 8  # a shorter one may be an innocent word of an answer
_START: Final = "start the RAG app, or correct the target's `url`"


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """Certificates as httpx comes with them; loading them takes longer than many a question."""
    return httpx.create_ssl_context(trust_env=False)


class FaultError(Exception):
    """No usable reply.

    Attributes:
        again: Whether another attempt may help.
        after: Seconds that the server asks to wait.
        unreachable: Set when it speaks of the target as a whole: the mend.
    """

    def __init__(
        self, message: str, *, again: bool = False, after: float | None = None, unreachable: str | None = None
    ) -> None:
        super().__init__(message)
        self.again = again
        self.after = after
        self.unreachable = unreachable


@dataclass(frozen=True)
class Limits:
    """What one question may take.

    Attributes:
        timeout_s: Seconds for one attempt, the whole reply included.
        retries: Attempts after the first.
        backoff_s: Base of the exponential, jittered wait between attempts, in seconds.
        max_bytes: Largest reply.
    """

    timeout_s: float
    retries: int
    backoff_s: float
    max_bytes: int


@dataclass(frozen=True)
class Message:
    """A request, rendered."""

    method: str
    url: str
    query: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True)
class Reply:
    """A JSON reply and the seconds of the attempt that brought it."""

    document: object
    latency_s: float


@dataclass
class Exchange:
    """Sends messages over one client. When the server asks one of them to wait, all wait.

    Secrets that a reply echoes are blotted out before anything else sees it: answers end up in published reports.
    """

    client: httpx.AsyncClient
    limits: Limits
    redact: Redactor
    _resume_at: float = field(default=0.0, init=False)

    async def send(self, message: Message) -> Reply:
        """Sends a message, several times if need be.

        Raises:
            FaultError: No attempt brought a usable reply; the message tells of the last one.
        """
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.limits.retries + 1),
            retry=retry_if_exception(lambda error: isinstance(error, FaultError) and error.again),
            wait=self._wait_s,
            reraise=True,
        )
        try:
            return await retrying(self._attempt, message)
        except FaultError as fault:
            attempts = int(retrying.statistics.get("attempt_number", 1))
            if attempts > 1:
                fault.args = (f"{fault} (attempt {attempts} of {self.limits.retries + 1})",)
            raise

    def _wait_s(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        jitter = wait_random_exponential(multiplier=self.limits.backoff_s, max=_LONGEST_WAIT_S)(state)
        return jitter if not isinstance(error, FaultError) or error.after is None else error.after + min(jitter, 1.0)

    async def _attempt(self, message: Message) -> Reply:
        await asyncio.sleep(max(0.0, self._resume_at - time.monotonic()))
        start = time.monotonic()
        try:
            async with asyncio.timeout(self.limits.timeout_s):
                body = await self._body(message)
        except FaultError as fault:
            if fault.after is not None:
                self._resume_at = max(self._resume_at, time.monotonic() + fault.after)
            raise
        except (TimeoutError, httpx.TimeoutException) as error:
            what = f"no whole reply within {self.limits.timeout_s:g} s"
            raise FaultError(what, again=True, unreachable=f"{_START}, or raise the target's `timeout`") from error
        except httpx.LocalProtocolError as error:
            raise FaultError(f"the request cannot be sent: {excerpt(str(error))}", unreachable=_START) from error
        except httpx.TransportError as error:
            raise FaultError(_connection_words(error), again=True, unreachable=_START) from error
        except httpx.InvalidURL as error:
            raise FaultError(f"the URL cannot be used: {excerpt(str(error))}", unreachable=_START) from error
        latency_s = time.monotonic() - start
        return Reply(_parsed(self._without_secrets(body)), latency_s)

    async def _body(self, message: Message) -> bytes:
        url = httpx.URL(message.url).copy_merge_params(dict(message.query))
        async with self.client.stream(message.method, url, content=message.body) as response:
            if not response.is_success:
                raise _status_fault(response, self._without_secrets(await _read(response, _ERROR_BODY_BYTES)), url)
            encoding = response.headers.get("content-encoding", "identity")
            if encoding.lower() != "identity":
                raise FaultError(f"the reply is compressed ({excerpt(encoding, 40)}) though that was not asked for")
            body = await _read(response, self.limits.max_bytes + 1)
            if len(body) > self.limits.max_bytes:
                raise FaultError(f"the reply is larger than max_response_bytes ({self.limits.max_bytes:,} bytes)")
            return body

    def _without_secrets(self, body: bytes) -> bytes:
        text = body.decode("utf-8", "surrogateescape")
        return self.redact(text, shortest=_SHORTEST_SECRET_IN_BODY).encode("utf-8", "surrogateescape")


async def _read(response: httpx.Response, limit: int) -> bytes:
    """Reads at most about `limit` bytes, as they came."""
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) >= limit:
            break
    return bytes(body[:limit])


def _parsed(body: bytes) -> object:
    if not body.strip():
        raise FaultError("the reply is empty")
    try:
        return parse(body)
    except ReplyError as error:
        start = excerpt(body[:400].decode("utf-8", "replace"), 120)
        raise FaultError(f"the reply {error}; it begins: {start}") from error


def _status_fault(response: httpx.Response, body: bytes, url: httpx.URL) -> FaultError:
    status = response.status_code
    if response.has_redirect_location:
        place = urlsplit(urljoin(str(url), response.headers["location"]))
        where = excerpt(f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}")
        return FaultError(
            f"HTTP {status}: it redirects to {where}, and redirects are not followed",
            unreachable="put the final address into the target's `url`",
        )
    text = excerpt(body.decode("utf-8", "replace"))
    words = f"HTTP {_with_name(status)}" + (f": {text}" if text else "")
    if status in _TRY_AGAIN or status >= 500:
        after = retry_after_s(response.headers)
        if after is not None and after > _LONGEST_WAIT_S:
            return FaultError(f"{words} (asks to wait {after:.0f} s)", unreachable="run it again later")
        return FaultError(words, again=True, after=after, unreachable="see the RAG app's own log")
    if status in _SAME_FOR_ALL:
        mend = "check the target's `auth` and headers" if status in {401, 403, 407} else "correct `url` or `method`"
        return FaultError(words, unreachable=mend)
    return FaultError(words)


def _with_name(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _connection_words(error: httpx.TransportError) -> str:
    kinds = {
        "ConnectError": "the connection was not made",
        "ReadError": "the connection broke",
        "WriteError": "the connection broke",
        "RemoteProtocolError": "the reply broke off or is not HTTP",
    }
    words = kinds.get(type(error).__name__, type(error).__name__)
    detail = excerpt(str(error))
    return f"{words}: {detail}" if detail else words

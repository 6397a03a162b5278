"""A live RAG app behind HTTP: one request a question, the answer picked out of the JSON reply."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from ragguard.adapters.targets import bodies, replies
from ragguard.adapters.targets.flow import Outcome, ask_each, unless_down
from ragguard.adapters.targets.headers import (
    HeaderName,
    HeaderValue,
    HttpAuth,
    SecretName,
    Url,
    check_headers,
    secret_headers,
)
from ragguard.adapters.targets.pointers import JsonPointer, PointerError, resolve
from ragguard.adapters.targets.settings import TargetSettings
from ragguard.adapters.targets.wording import Redactor
from ragguard.core.fields import Cell
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer, Sample

if TYPE_CHECKING:
    from ragguard.adapters.targets.exchange import Exchange, Message, Reply


class HttpTarget(TargetSettings):
    """A live RAG app behind HTTP.

    Attributes:
        url: Where to ask.
        method: The HTTP method; GET sends no body.
        query: Templates of query parameters.
        headers: Headers that are no secret.
        headers_env: Headers whose values are in environment variables.
        auth: The Authorization header.
        body: Template of the request's body, over question, history and id.
        answer: JSON pointer to the answer's text.
        passages: JSON pointer to what was retrieved, a list of texts or objects.
        citations: JSON pointer to the ids of cited passages.
        cost: JSON pointer to the US dollars that the answer cost.
        timeout: Seconds for one attempt, the whole reply included.
        retries: Attempts after the first, on broken connections, time-outs, 408, 425, 429 and 5xx.
        backoff: Base of the exponential, jittered wait between attempts, in seconds.
        concurrency: Questions in flight.
        max_response_bytes: Largest reply.

    A pointer that is given must lead somewhere in every reply, or the sample fails; null under `citations` and `cost`
    means not told.
    """

    type: Literal["http"] = "http"
    url: Url
    method: Literal["GET", "POST", "PUT", "PATCH"] = "POST"
    query: dict[str, str] = Field(default_factory=dict)
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict)
    headers_env: dict[HeaderName, SecretName] = Field(default_factory=dict)
    auth: HttpAuth | None = None
    body: str = bodies.DEFAULT_BODY
    answer: JsonPointer = "/answer"
    passages: JsonPointer | None = None
    citations: JsonPointer | None = None
    cost: JsonPointer | None = None
    timeout: float = Field(default=60, gt=0, le=3600)
    retries: int = Field(default=3, ge=0, le=10)
    backoff: float = Field(default=0.5, gt=0, le=60)
    concurrency: int = Field(default=8, ge=1, le=256)
    max_response_bytes: int = Field(default=4 * 2**20, ge=1)

    @model_validator(mode="after")
    def _check_templates(self) -> Self:
        for name, template in self.query.items():
            _checked(f"query.{name}", bodies.check_template, template)
        if self.method != "GET":
            _checked("body", bodies.check_json_body if self._sends_json() else bodies.check_template, self.body)
        return self

    @model_validator(mode="after")
    def _check_headers(self) -> Self:
        check_headers(self.headers, self.headers_env, self.auth)
        return self

    @property
    def environment_names(self) -> frozenset[str]:
        """The variables that hold header values."""
        return frozenset([*self.headers_env.values(), *([self.auth.env] if self.auth else [])])

    async def answer_all(self, samples: Sequence[Sample]) -> AsyncIterator[Answered]:
        """Asks every question; yields answers as they come.

        Raises:
            TargetError: The first questions could not reach the app, or were all turned away.
            UserInputError: A variable with a secret is missing or cannot stand in a header.
        """
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        import httpx

        from ragguard.adapters.targets.exchange import Exchange, Limits, tls_context

        secrets, redact = secret_headers(self.headers_env, self.auth, self._value_of)
        limits = Limits(self.timeout, self.retries, self.backoff, self.max_response_bytes)
        # No proxy or netrc from the environment: only what is configured decides where a question goes. No cookies:
        # they would join the questions to one session.
        async with httpx.AsyncClient(
            headers={**self._plain_headers(), **secrets},
            timeout=self.timeout,
            limits=httpx.Limits(max_connections=self.concurrency),
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            trust_env=False,
            verify=tls_context(),
        ) as client:
            exchange = Exchange(client, limits, redact)
            outcomes = ask_each(samples, self.concurrency, lambda sample: self._ask(sample, exchange, redact))
            async with aclosing(unless_down(outcomes, len(samples), f"the target {self._shown_url()}")) as answers:
                async for answered in answers:
                    yield answered

    async def _ask(self, sample: Sample, exchange: Exchange, redact: Redactor) -> Outcome:
        from ragguard.adapters.targets.exchange import FaultError

        try:
            reply = await exchange.send(self._message(sample))
            return Outcome(Answered(sample.id, self._answer_in(reply)))
        except FaultError as fault:
            return Outcome(Answered(sample.id, None, redact.failure(str(fault))), unreachable=fault.unreachable)
        except (bodies.RenderError, PointerError, replies.ReplyError) as error:
            return Outcome(Answered(sample.id, None, redact.failure(str(error))))

    def _message(self, sample: Sample) -> Message:
        from ragguard.adapters.targets.exchange import Message

        query = {name: bodies.render(template, sample) for name, template in self.query.items()}
        body = None if self.method == "GET" else bodies.render(self.body, sample).encode("utf-8", "replace")
        return Message(self.method, self.url, query, body)

    def _answer_in(self, reply: Reply) -> Answer:
        pointers = {
            "answer": self.answer,
            "contexts": self.passages,
            "citations": self.citations,
            "cost_usd": self.cost,
        }
        cells = {
            field: Cell(pointer or "the reply", resolve(reply.document, pointer))
            for field, pointer in pointers.items()
            if pointer is not None
        }
        return replies.answer_from_cells(cells, reply.latency_s)

    def _sends_json(self) -> bool:
        given = [value for name, value in self.headers.items() if name.lower() == "content-type"]
        return not given or "json" in given[0].lower()

    def _plain_headers(self) -> dict[str, str]:
        defaults = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "ragguard"}
        if self.method != "GET":
            defaults["content-type"] = "application/json"
        return {**defaults, **{name.lower(): value for name, value in self.headers.items()}}

    def _shown_url(self) -> str:
        return self.url.partition("?")[0]


def _checked(field: str, check: Callable[[str], None], template: str) -> None:
    try:
        check(template)
    except bodies.RenderError as error:
        raise ValueError(f"{field}: {error}") from error

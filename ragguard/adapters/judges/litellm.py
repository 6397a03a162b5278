"""The judge behind LiteLLM: any `provider/model`, with the settings of the config's `judge` section.

The settings are plain data; the engine that works by them is built in the event loop at the first call.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, PrivateAttr, field_validator

from ragguard.adapters import litellm_clients
from ragguard.adapters.judges.budget import Ledger
from ragguard.adapters.judges.caller import Address, Caller
from ragguard.adapters.judges.engine import Engine
from ragguard.adapters.judges.flow import Flow, Limits
from ragguard.adapters.judges.prompts import Prompts
from ragguard.adapters.judges.provider import Facts, facts
from ragguard.adapters.judges.reachable import await_server
from ragguard.core.digests import digest
from ragguard.core.runs import Observed
from ragguard.core.scores import JudgeRequest, Judgment
from ragguard.core.tasks import Task
from ragguard.errors import ConfigError

_MILLION = 1_000_000


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Price(_Settings):
    """What a model costs that LiteLLM's price list does not hold, in US dollars."""

    prompt_per_million: float = Field(ge=0, description="US dollars for a million tokens of prompts.")
    reply_per_million: float = Field(ge=0, description="US dollars for a million tokens of replies.")


class Fallback(_Settings):
    """Another model to start the run again with when the judge cannot be used."""

    model: str = Field(min_length=1)
    api_base: str | None = None


def _fallback(value: object) -> object:
    return {"model": value} if isinstance(value, str) else value


FallbackConfig = Annotated[Fallback, BeforeValidator(_fallback, json_schema_input_type=str | Fallback)]


class Gauge(_Settings):
    """How a judge is doing at the moment, for progress lines.

    Attributes:
        calls: Calls sent.
        in_flight: Calls that wait for a reply.
        waiting: Calls that wait to be sent.
        limit: Calls at once that flow control allows now.
        paused_s: Seconds that the provider has asked to wait still.
        tokens: Tokens spent.
        cost_usd: US dollars spent; None where unknown.
    """

    calls: int = 0
    in_flight: int = 0
    waiting: int = 0
    limit: int = 0
    paused_s: float = 0.0
    tokens: int = 0
    cost_usd: float | None = 0.0


class LiteLLMJudge(_Settings):
    """Asks a model through LiteLLM; keys come from the provider's own environment variables."""

    type: Literal["litellm"] = "litellm"
    model: str = Field(min_length=1, description="provider/model, as LiteLLM names it, such as `openai/gpt-4o-mini`.")
    api_base: str | None = Field(default=None, description="Address of a server of one's own or of a proxy.")
    temperature: float | None = Field(default=0.0, ge=0, le=2, description="null leaves it to the provider.")
    seed: int | None = Field(default=None, description="Sent to providers that take one.")
    max_tokens: int = Field(default=4096, ge=16, description="Limit of a reply; a cut reply is asked for again.")
    repeats: int = Field(default=1, ge=1, le=20, description="Times that each task is asked; the scores are averaged.")
    rpm: int | None = Field(default=None, ge=1, description="Requests a minute, at most.")
    tpm: int | None = Field(default=None, ge=1, description="Tokens a minute, at most.")
    concurrency: int = Field(default=16, ge=1, le=1000, description="Calls at once, at most; adapts to 429s.")
    timeout: float = Field(default=60.0, gt=0, description="Seconds that one call may take.")
    call_deadline: float = Field(default=300.0, gt=0, description="Seconds for one call with all its repetitions.")
    run_deadline: float | None = Field(default=None, gt=0, description="Seconds after which no further call is sent.")
    context_window: int | None = Field(default=None, ge=512, description="Tokens of prompt and reply, if unknown.")
    price: Price | None = Field(default=None, description="Where LiteLLM does not know the price.")
    fallbacks: tuple[FallbackConfig, ...] = Field(
        default=(), description="Models to start the whole run again with when this one cannot be used."
    )

    @field_validator("api_base")
    @classmethod
    def _no_password(cls, address: str | None) -> str | None:
        if address and "@" in address:
            raise ValueError("keep user and password out of api_base; set the provider's key in the environment")
        return address

    _prompts: Prompts = PrivateAttr(default_factory=Prompts)
    _ledger: Ledger = PrivateAttr(default_factory=Ledger)
    _started: Any = PrivateAttr(default=None)  # (event loop, task that builds the engine)
    _engine: Engine | None = PrivateAttr(default=None)

    def with_parts(self, *, prompts: Prompts | None = None, ledger: Ledger | None = None) -> LiteLLMJudge:
        """The same judge with the user's own templates and the run's budget; its engine is its own."""
        judge = LiteLLMJudge.model_validate(self.model_dump())
        judge._prompts, judge._ledger = prompts or self._prompts, ledger or self._ledger  # noqa: SLF001
        return judge

    def fallback(self) -> LiteLLMJudge | None:
        """The judge to start the run again with, or None; a server's address is kept for the same provider only."""
        if not self.fallbacks:
            return None
        first, *rest = self.fallbacks
        same = first.model.partition("/")[0] == self.model.partition("/")[0]
        update = {
            "model": first.model,
            "api_base": first.api_base or (self.api_base if same else None),
            "fallbacks": tuple(rest),
            "price": None,
            "context_window": None,
        }
        judge = LiteLLMJudge.model_validate({**dict(self), **update})
        return judge.with_parts(prompts=self._prompts, ledger=self._ledger)

    @property
    def params(self) -> dict[str, JsonValue]:
        """What decides a reply besides model and prompt."""
        params: dict[str, JsonValue] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {**params, "seed": self.seed} if self.seed is not None else params

    @property
    def fingerprint(self) -> str:
        """Digest of model, parameters and repeats."""
        return digest({"models": list(self.models), "params": self.params, "repeats": self.repeats})

    @property
    def models(self) -> tuple[str, ...]:
        """The configured model."""
        return (self.model,)

    def prompt_digest(self, task: str) -> str:
        """Digest of the sources that a task's prompt is rendered from."""
        return self._prompts.digest(task)

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        """One request for each configured repeat; repeat index = look's repeat * repeats + number of the repeat."""
        first = JudgeRequest(
            task=task.name,
            model=self.model,
            params=self.params,
            prompt_digest=self.prompt_digest(task.name),
            inputs_digest=digest(task.inputs),
            repeat=repeat * self.repeats,
            session=session,
        )
        return tuple(first.model_copy(update={"repeat": first.repeat + number}) for number in range(self.repeats))

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        """Makes one judgment.

        Raises:
            JudgeError: The judge as a whole cannot be used.
            BudgetError: The budget is spent.
            ConfigError: `budget.max_usd` is set and the model's price is unknown.
        """
        return await (await self._ready()).judge(task, request)

    async def preflight(self) -> None:
        """Checks what can be known without a call: whether a budget in dollars can be kept.

        A call of its own is not needed: the first call of `ask` goes alone, and nothing else is sent until it has
        succeeded; a run whose every judgment is cached then sends nothing at all.

        Raises:
            ConfigError: `budget.max_usd` is set and the model's price is unknown.
        """
        if self._ledger.budget.max_usd is not None:
            self._check_price(await self.facts())

    async def probe(self) -> None:
        """Sends one small call, for those who want to know by itself whether the judge can be used.

        Raises:
            JudgeError: The judge cannot be used.
            BudgetError: The budget does not allow one call.
            ConfigError: `budget.max_usd` is set and the model's price is unknown.
        """
        await (await self._ready()).probe()

    async def facts(self) -> Facts:
        """What LiteLLM knows of the model without asking it: price, window, missing environment variables."""
        return await facts(self.model, self.api_base)

    def gauge(self) -> Gauge:
        """How the judge is doing at the moment."""
        if self._engine is None:
            return Gauge(limit=self.concurrency)
        flow, spent = self._engine.caller.flow, self._ledger.spent
        return Gauge(
            calls=self._engine.caller.sent,
            in_flight=flow.slots.in_flight,
            waiting=flow.slots.waiting,
            limit=int(flow.slots.limit),
            paused_s=flow.paused_s,
            tokens=spent.tokens,
            cost_usd=spent.usd,
        )

    @property
    def observed(self) -> Observed:
        """What the judge did that was not configured, so far."""
        if self._engine is None:
            return Observed()
        notes = tuple(f"{self.model}: {note}" for note in self._engine.caller.manners.notes)
        return Observed(response_models=tuple(sorted(self._engine.caller.response_models)), dropped_params=notes)

    async def aclose(self) -> None:
        """Frees connections, once nobody in this event loop uses them."""
        started, self._started = self._started, None
        if started is not None and started[0] is asyncio.get_running_loop():
            await litellm_clients.leave()

    def __getstate__(self) -> dict[Any, Any]:
        """Settings and templates alone: an engine belongs to one process."""
        state = dict(super().__getstate__())
        kept = {"_prompts": self._prompts, "_ledger": Ledger(self._ledger.budget)}
        state["__pydantic_private__"] = {**kept, "_started": None, "_engine": None}
        return state

    async def _ready(self) -> Engine:
        """The engine of this event loop, built once."""
        loop = asyncio.get_running_loop()
        if self._started is None or self._started[0] is not loop:
            litellm_clients.enter()
            self._started = (loop, loop.create_task(self._build()))
        engine: Engine = await asyncio.shield(self._started[1])
        return engine

    async def _build(self) -> Engine:
        if self.api_base is not None:
            await await_server(self._who(), self.api_base, self._limits().proving_s)
        known = await self.facts()
        self._check_price(known)
        price = None
        if self.price:
            price = (self.price.prompt_per_million / _MILLION, self.price.reply_per_million / _MILLION)
        caller = Caller(
            address=Address(self.model, self.api_base, self.timeout, price),
            params={name: value for name, value in self.params.items() if name != "max_tokens"},
            facts=known,
            flow=Flow(self._who(), self._limits(), missing_keys=known.missing_keys),
            ledger=self._ledger,
        )
        self._engine = Engine(caller, self._prompts, self.max_tokens, self.context_window or known.window)
        return self._engine

    def _check_price(self, known: Facts) -> None:
        if self._ledger.budget.max_usd is not None and self.price is None and known.price is None:
            raise ConfigError(
                f"budget.max_usd is set, but the price of {self.model} is unknown, so that it cannot be kept",
                mend="set `judge.price`, or limit the run by budget.max_calls or budget.max_tokens",
            )

    def _who(self) -> str:
        """The judge as messages name it."""
        return self.model if self.api_base is None else f"{self.model} at {self.api_base}"

    def _limits(self) -> Limits:
        return Limits(
            concurrency=self.concurrency,
            rpm=self.rpm,
            tpm=self.tpm,
            call_deadline_s=self.call_deadline,
            run_deadline_s=self.run_deadline,
        )

"""The story of one judgment: ask, read the reply, ask again naming what is missing, and give up with the reply kept.

State of one judge in one event loop: what its model takes, its flow control, its counters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from ragguard.adapters.judges.budget import Amount, Ledger
from ragguard.adapters.judges.flow import Flow
from ragguard.adapters.judges.manners import Manners, Offer
from ragguard.adapters.judges.prompts import Prompt, Prompts
from ragguard.adapters.judges.provider import Completion, Facts, complete
from ragguard.adapters.judges.replies import LONGEST_KEPT, Accepted, follow_up, read_reply
from ragguard.adapters.judges.schemas import schema_name, strict_schema
from ragguard.adapters.judges.troubles import TroubleError
from ragguard.core.digests import digest
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key
from ragguard.core.tasks import Reply, Task
from ragguard.core.text import without_lone_surrogates
from ragguard.core.tokens import estimated_tokens
from ragguard.errors import JudgeError

ATTEMPTS = 3
"""Times that a judge is asked for one judgment before it counts as failed."""
_MOST_GIVEN_UP = 8
_WORTH_CACHING = 4_000  # characters: providers cache from about 1,024 tokens on
_USUAL_REPLY = 500
_PREFLIGHT = 'Reply with the JSON object {"ok": true} and nothing else.'
_FILTERED = {"content_filter", "refusal"}


class _Ready(Reply):
    ok: bool


@dataclass(frozen=True)
class Address:
    """Where the calls go, and how long one may take."""

    model: str
    api_base: str | None
    timeout_s: float
    price: tuple[float, float] | None = None


@dataclass
class Tally:
    """What one judgment took; a sum is None as soon as one part of it is unknown."""

    sent: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0
    model: str | None = None

    def add(self, completion: Completion, cost_usd: float | None) -> None:
        """Adds one reply."""
        self.prompt_tokens = _sum(self.prompt_tokens, completion.prompt_tokens)
        self.completion_tokens = _sum(self.completion_tokens, completion.completion_tokens)
        self.cost_usd = _sum(self.cost_usd, cost_usd)
        self.model = completion.model or self.model


def _sum(total: Any, more: Any) -> Any:
    return None if total is None or more is None else total + more


@dataclass
class Conversation:
    """The messages of one judgment, how long the next reply may be, and what was offered with the last call."""

    messages: list[dict[str, Any]]
    max_tokens: int
    offer: Offer = field(default_factory=lambda: Offer("schema"))

    @property
    def tokens(self) -> int:
        """About how many tokens the messages take."""
        return sum(estimated_tokens(_text_of(message["content"])) for message in self.messages)

    def answer_back(self, raw: str, problems: Sequence[str]) -> None:
        """Adds the reply that cannot be used, and the message that says why."""
        self.messages = self.messages[:2]
        self.messages.append({"role": "assistant", "content": raw[:LONGEST_KEPT] or "(empty)"})
        self.messages.append({"role": "user", "content": follow_up(problems)})


def _text_of(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


@dataclass
class Engine:
    """One judge at work.

    Attributes:
        address: Where calls go.
        params: Sampling parameters as configured, the limit of the reply apart.
        max_tokens: The limit of the first reply.
        facts: What is known of the model beforehand.
        flow: Flow control.
        prompts: The templates.
        ledger: The run's budget.
        window: Tokens of prompt and reply that the model takes; None where unknown.
        sent: Calls sent.
        response_models: The models that the provider says replied.
    """

    address: Address
    params: Mapping[str, JsonValue]
    max_tokens: int
    facts: Facts
    flow: Flow
    prompts: Prompts
    ledger: Ledger
    window: int | None = None
    sent: int = 0
    response_models: set[str] = field(default_factory=set)
    manners: Manners = field(init=False)
    _warming: dict[str, asyncio.Event] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.manners = Manners(self.facts.form)

    async def judge(self, task: Task, request: JudgeRequest) -> Judgment:
        """Makes one judgment; a judge that gives no usable reply is a failed judgment.

        Raises:
            JudgeError: The judge as a whole cannot be used.
            BudgetError: The budget is spent.
        """
        prompt = self.prompts.render(task)
        tally = Tally()
        first = await self._first_of_its_passages(prompt)
        try:
            return await self._converse(task, request, Conversation(self._messages(prompt), self.max_tokens), tally)
        except TroubleError as trouble:
            return _failed(request, tally, f"{trouble.kind.replace('_', ' ')}: {trouble.message}", None)
        finally:
            if first:
                first.set()

    async def preflight(self) -> None:
        """Sends one small call.

        Raises:
            JudgeError: The judge cannot be used.
            BudgetError: The budget does not allow it.
        """
        talk = Conversation([{"role": "user", "content": _PREFLIGHT}], self.max_tokens)
        try:
            await self._ask(Task("preflight", {}, _Ready), talk, Tally())
        except TroubleError as trouble:
            raise JudgeError(
                f"judge {self.address.model} cannot be used ({trouble.message})",
                mend="check model, api_base and parameters of `judge`",
            ) from trouble

    async def _converse(self, task: Task, request: JudgeRequest, talk: Conversation, tally: Tally) -> Judgment:
        raw, problems = "", ["no reply"]
        for _ in range(ATTEMPTS):
            completion = await self._ask(task, talk, tally)
            raw = str(without_lone_surrogates(completion.text or ""))
            if completion.finish == "length":
                problems = [f"the reply was cut after {talk.max_tokens} tokens"]
                talk.max_tokens *= 2
                continue
            if completion.finish in _FILTERED:
                problems = ["the provider's content filter withheld the reply"]
                continue
            reply = read_reply(raw, task)
            if isinstance(reply, Accepted):
                return _accepted(request, tally, reply)
            problems = list(reply.problems)
            talk.answer_back(raw, problems)
        return _failed(request, tally, f"no usable reply in {ATTEMPTS} attempts: {'; '.join(problems)}", raw)

    async def _ask(self, task: Task, talk: Conversation, tally: Tally) -> Completion:
        """Sends the conversation as the model takes it; learns from a 400 what it does not take."""
        for _ in range(_MOST_GIVEN_UP):
            try:
                completion = await self.flow.call(lambda: self._send(task, talk, tally), talk.tokens + _USUAL_REPLY)
            except TroubleError as trouble:
                if trouble.kind != "rejected" or not self.manners.give_way(talk.offer, trouble.message):
                    raise
            else:
                self.manners.worked(talk.offer)
                return completion
        raise TroubleError("rejected", "the model refuses one parameter after the other")

    async def _send(self, task: Task, talk: Conversation, tally: Tally) -> Completion:
        most = Amount(1, talk.tokens + talk.max_tokens, self._price(talk.tokens, talk.max_tokens))
        await self.ledger.reserve(most)
        spent = most  # of a call that was cut off nobody knows what it took
        talk.offer = self.manners.offer
        arguments = talk.offer.arguments(
            self.params, talk.max_tokens, schema_name(task.name), strict_schema(task.reply)
        )
        tally.sent += 1
        self.sent += 1
        try:
            completion = await complete(
                self.address.model,
                talk.messages,
                arguments,
                api_base=self.address.api_base,
                keyless=bool(self.address.api_base and self.facts.missing_keys),
                timeout_s=self.address.timeout_s,
            )
            cost = self._cost(completion)
            spent = Amount(1, (completion.prompt_tokens or 0) + (completion.completion_tokens or 0), cost)
        except TroubleError as trouble:
            # A call that timed out may well have been worked on, and billed.
            late = trouble.kind == "timeout"
            spent = Amount(1, talk.tokens, self._price(talk.tokens, 0)) if late else Amount(1)
            raise
        finally:
            self.ledger.settle(most, spent)
        tally.add(completion, cost)
        self.response_models |= {completion.model} if completion.model else set()
        return completion

    def _cost(self, completion: Completion) -> float | None:
        """US dollars: by the configured price where there is one, else by LiteLLM's own accounting."""
        if self.address.price is None:
            return completion.cost_usd
        return self._price(completion.prompt_tokens or 0, completion.completion_tokens or 0)

    def _price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars by the configured or the known price; None where it is unknown."""
        price = self.address.price or self.facts.price
        return None if price is None else prompt_tokens * price[0] + completion_tokens * price[1]

    def _messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        content: Any = prompt.user
        if self.facts.caches_by_mark and len(prompt.passages) >= _WORTH_CACHING:
            marked = {"type": "text", "text": prompt.passages, "cache_control": {"type": "ephemeral"}}
            content = [marked, {"type": "text", "text": prompt.body}]
        return [{"role": "system", "content": prompt.system}, {"role": "user", "content": content}]

    async def _first_of_its_passages(self, prompt: Prompt) -> asyncio.Event | None:
        """Lets the first call with long passages go ahead, so that the provider's prompt cache serves the others.

        Returns:
            For the first call an event to set when it is done; None for all others, which have waited for it.
        """
        if len(prompt.passages) < _WORTH_CACHING:
            return None
        key = digest(prompt.passages)
        if key in self._warming:
            await self._warming[key].wait()
            return None
        self._warming[key] = asyncio.Event()
        return self._warming[key]


def _accepted(request: JudgeRequest, tally: Tally, reply: Accepted) -> Judgment:
    return _judgment(request, tally).model_copy(update={"output": reply.output})


def _failed(request: JudgeRequest, tally: Tally, reason: str, raw: str | None) -> Judgment:
    kept = None if raw is None else raw[:LONGEST_KEPT]
    return _judgment(request, tally).model_copy(update={"status": "failed", "reason": reason, "raw": kept})


def _judgment(request: JudgeRequest, tally: Tally) -> Judgment:
    return Judgment(
        key=judgment_key(request),
        task=request.task,
        model=request.model,
        response_model=tally.model,
        status="ok",
        repeat=request.repeat,
        session=request.session,
        attempts=tally.sent,
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        cost_usd=tally.cost_usd,
    )

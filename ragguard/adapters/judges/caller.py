"""One call to a model within a judgment: paid for by the budget, sent by flow control, in the form the model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from ragguard.adapters.judges.budget import Amount, Ledger
from ragguard.adapters.judges.flow import Flow
from ragguard.adapters.judges.manners import Manners, Offer
from ragguard.adapters.judges.provider import Completion, Facts, complete
from ragguard.adapters.judges.replies import LONGEST_KEPT, follow_up
from ragguard.adapters.judges.schemas import schema_name, strict_schema
from ragguard.adapters.judges.troubles import TroubleError
from ragguard.core.tasks import Task
from ragguard.core.tokens import estimated_tokens

_MOST_GIVEN_UP = 8
_USUAL_REPLY = 500


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
class Caller:
    """Calls one model.

    Attributes:
        address: Where calls go.
        params: Sampling parameters as configured, the limit of the reply apart.
        facts: What is known of the model beforehand.
        flow: Flow control.
        ledger: The run's budget.
        sent: Calls sent.
        response_models: The models that the provider says replied.
    """

    address: Address
    params: Mapping[str, JsonValue]
    facts: Facts
    flow: Flow
    ledger: Ledger
    sent: int = 0
    response_models: set[str] = field(default_factory=set)
    manners: Manners = field(init=False)

    def __post_init__(self) -> None:
        self.manners = Manners(self.facts.form)

    async def ask(self, task: Task, talk: Conversation, tally: Tally) -> Completion:
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
            spent = _booked(completion, cost, most)
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
        """US dollars: by the configured price where there is one, else by LiteLLM's own accounting; None if unknown."""
        if self.address.price is None and completion.cost_usd:  # LiteLLM says 0 for a model that it does not know
            return completion.cost_usd
        if completion.prompt_tokens is None or completion.completion_tokens is None:
            return None
        return self._price(completion.prompt_tokens, completion.completion_tokens)

    def _price(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars by the configured or the known price; None where it is unknown."""
        price = self.address.price or self.facts.price
        return None if price is None else prompt_tokens * price[0] + completion_tokens * price[1]


def _booked(completion: Completion, cost_usd: float | None, most: Amount) -> Amount:
    """What the budget is charged: what the provider tells, and all that was reserved where it does not tell."""
    known = completion.prompt_tokens is not None and completion.completion_tokens is not None
    tokens = (completion.prompt_tokens or 0) + (completion.completion_tokens or 0) if known else most.tokens
    return Amount(1, tokens, most.usd if cost_usd is None else cost_usd)

"""The story of one judgment: ask, read the reply, ask again naming what is missing, and give up with the reply kept.

State of one judge in one event loop: what its model takes, its flow control, its counters.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from ragguard.adapters.judges.caller import Caller, Conversation, Tally
from ragguard.adapters.judges.prompts import Prompt, Prompts
from ragguard.adapters.judges.replies import LONGEST_KEPT, Accepted, check, read_reply
from ragguard.adapters.judges.troubles import TroubleError
from ragguard.adapters.redaction import foreign
from ragguard.core.digests import digest
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key
from ragguard.core.splitting import can_split, merge, split
from ragguard.core.tasks import Reply, Task
from ragguard.core.text import without_lone_surrogates
from ragguard.core.tokens import estimated_tokens
from ragguard.errors import JudgeError

ATTEMPTS = 3
"""Times that a judge is asked for one judgment before it counts as failed."""
_MOST_GIVEN_UP = 8
_WORTH_CACHING = 4_000  # characters: providers cache from about 1,024 tokens on
_USUAL_REPLY = 500
_SHORTEST_REPLY = 64
_PROBE = 'Reply with the JSON object {"ok": true} and nothing else.'
_FILTERED = {"content_filter", "refusal"}


class _Ready(Reply):
    ok: bool


@dataclass(frozen=True)
class Outcome:
    """What came of a task: an accepted output, or the reason why there is none and the last reply."""

    output: dict[str, JsonValue] | None = None
    reason: str | None = None
    raw: str | None = None


@dataclass
class Engine:
    """One judge at work.

    Attributes:
        caller: Sends the calls.
        prompts: The templates.
        max_tokens: The limit of the first reply.
        window: Tokens of prompt and reply that the model takes; None where unknown.
    """

    caller: Caller
    prompts: Prompts
    max_tokens: int
    window: int | None = None
    _warming: dict[str, asyncio.Event] = field(default_factory=dict)

    async def judge(self, task: Task, request: JudgeRequest) -> Judgment:
        """Makes one judgment; a judge that gives no usable reply is a failed judgment.

        Raises:
            JudgeError: The judge as a whole cannot be used.
            BudgetError: The budget is spent.
        """
        tally = Tally()
        outcome = await self._outcome(task, tally)
        return _judgment(request, tally, outcome)

    async def _outcome(self, task: Task, tally: Tally) -> Outcome:
        """Asks a task whole, or in parts where it is longer than the model's window."""
        prompt = self.prompts.render(task)
        if not self._fits(prompt):
            return await self._in_parts(task, prompt, tally)
        first = await self._first_of_its_passages(prompt)
        try:
            return await self._converse(task, Conversation(self._messages(prompt), self.max_tokens), tally)
        except TroubleError as trouble:
            if trouble.kind == "too_long":
                return await self._in_parts(task, prompt, tally)
            return Outcome(reason=f"{trouble.kind.replace('_', ' ')}: {trouble.message}")
        finally:
            if first:
                first.set()

    async def _in_parts(self, task: Task, prompt: Prompt, tally: Tally) -> Outcome:
        if not can_split(task):
            return Outcome(reason="the prompt is longer than the model's window and cannot be split by passages")
        fixed = estimated_tokens(prompt.system + prompt.body)
        room = max(1, self.window - fixed - self._reserve()) if self.window else math.inf
        parts = split(task, math.ceil(estimated_tokens(prompt.passages) / room) or 1)
        outcomes = await asyncio.gather(*(self._outcome(part.task, tally) for part in parts))
        for outcome in outcomes:
            if outcome.output is None:
                return outcome
        merged = check(merge(task, parts, [outcome.output or {} for outcome in outcomes]), task)
        if not isinstance(merged, Accepted):
            return Outcome(reason=f"the parts' replies do not fit together: {'; '.join(merged.problems)}")
        told = f"longer than the model's window: asked in {len(parts)} parts"
        return Outcome(merged.output, next((outcome.reason for outcome in outcomes if outcome.reason), told))

    def _fits(self, prompt: Prompt) -> bool:
        asked = estimated_tokens(prompt.system) + estimated_tokens(prompt.user)
        return self.window is None or asked + self._reserve() <= self.window

    def _reserve(self) -> int:
        """Tokens kept for the reply: what is configured, but at most a quarter of the window."""
        return min(self.max_tokens, self.window // 4) if self.window else self.max_tokens

    async def probe(self) -> None:
        """Sends one small call.

        Raises:
            JudgeError: The judge cannot be used.
            BudgetError: The budget does not allow it.
        """
        talk = Conversation([{"role": "user", "content": _PROBE}], self.max_tokens)
        try:
            await self.caller.ask(Task("probe", {}, _Ready), talk, Tally())
        except TroubleError as trouble:
            raise JudgeError(
                f"judge {self.caller.address.model} cannot be used ({trouble.message})",
                mend="check model, api_base and parameters of `judge`",
            ) from trouble

    async def _converse(self, task: Task, talk: Conversation, tally: Tally) -> Outcome:
        raw, problems, asked = "", ["no reply"], 0
        talk.max_tokens = min(talk.max_tokens, self._longest_reply(talk))
        while asked < ATTEMPTS:
            asked += 1
            completion = await self.caller.ask(task, talk, tally)
            raw = str(without_lone_surrogates(completion.text or ""))
            if completion.finish == "length":
                problems = [f"the reply was cut after {talk.max_tokens} tokens"]
                more = min(talk.max_tokens * 2, self._longest_reply(talk))
                if more == talk.max_tokens:
                    break
                talk.max_tokens = more
                continue
            if completion.finish in _FILTERED:
                problems = ["the provider's content filter withheld the reply"]
                continue
            reply = read_reply(raw, task)
            if isinstance(reply, Accepted):
                return Outcome(reply.output)
            problems = list(reply.problems)
            talk.answer_back(raw, problems)
        return Outcome(reason=f"no usable reply in {asked} attempts: {'; '.join(problems)}", raw=raw[:LONGEST_KEPT])

    def _longest_reply(self, talk: Conversation) -> int:
        """Tokens that a reply may take besides the messages, by the model's window and its own limit."""
        room = self.window - talk.tokens if self.window else talk.max_tokens * 2
        longest = self.caller.facts.longest_reply
        return max(_SHORTEST_REPLY, room if longest is None else min(room, longest))

    def _messages(self, prompt: Prompt) -> list[dict[str, Any]]:
        content: Any = prompt.user
        if self.caller.facts.caches_by_mark and len(prompt.passages) >= _WORTH_CACHING:
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


def _judgment(request: JudgeRequest, tally: Tally, outcome: Outcome) -> Judgment:
    return Judgment(
        key=judgment_key(request),
        task=request.task,
        model=request.model,
        response_model=tally.model,
        status="failed" if outcome.output is None else "ok",
        output=outcome.output or {},
        raw=outcome.raw and foreign(outcome.raw),
        reason=outcome.reason and foreign(outcome.reason),
        repeat=request.repeat,
        session=request.session,
        attempts=tally.sent,
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        cost_usd=tally.cost_usd,
    )

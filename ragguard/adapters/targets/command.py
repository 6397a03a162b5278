"""A RAG app that is a command: questions as JSONL on its stdin, answers as JSONL from its stdout."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from ragguard.adapters.targets.conversation import Conversation
from ragguard.adapters.targets.flow import Outcome, unless_down
from ragguard.adapters.targets.presence import require_program
from ragguard.adapters.targets.processes import ChildGroup
from ragguard.adapters.targets.settings import EnvironmentName, TargetSettings
from ragguard.adapters.targets.wording import Redactor, excerpt
from ragguard.core.ports import Answered
from ragguard.core.samples import Sample
from ragguard.errors import UserInputError


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character")
    return text


def _checked_command(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command[0].strip():
        raise ValueError("the program's name is blank")
    return command


_MEND: Final = "it must read JSONL from stdin and write one JSONL row for each id to stdout; see its stderr"
Argument = Annotated[str, AfterValidator(_without_nul)]


class CommandTarget(TargetSettings):
    """A command that answers questions.

    It reads rows `{"id", "question", "history"}` from stdin until its end, and writes for each of them, in any order,
    one row `{"id", "answer", "contexts"?, "citations"?, "latency_s"?, "cost_usd"?}` or `{"id", "error"}` to stdout.

    Attributes:
        command: Program and arguments; no shell is involved.
        env: Environment variables for it.
        pass_env: Names of variables that it gets from ragguard's own environment. It gets no others but PATH.
        timeout: Seconds until its first answer, and from each answer to the next.
        batch: Samples that one process gets; all where absent. Processes run one after another.
    """

    type: Literal["command"] = "command"
    command: Annotated[tuple[Argument, ...], Field(min_length=1), AfterValidator(_checked_command)]
    env: dict[EnvironmentName, Argument] = Field(default_factory=dict)
    pass_env: tuple[EnvironmentName, ...] = ()
    timeout: float = Field(default=120, gt=0, le=86_400)
    batch: int | None = Field(default=None, ge=1)

    @property
    def environment_names(self) -> frozenset[str]:
        """The variables that are passed on."""
        return frozenset(self.pass_env)

    def _visible_names(self) -> frozenset[str]:
        return self.environment_names | {"PATH"}

    def check(self) -> None:
        """Looks for the program; nothing is started."""
        require_program(self.command[0], self.env.get("PATH", self._path))

    @property
    def _path(self) -> str:
        path = self._environment.get("PATH")
        return path.get_secret_value() if path else os.defpath

    async def answer_all(self, samples: Sequence[Sample]) -> AsyncIterator[Answered]:
        """Runs the command; yields answers as they come.

        Raises:
            TargetError: The command ended, or was late, without a single answer.
            UserInputError: The command cannot be started, or a variable to pass on is not set.
        """
        passed = {name: self._value_of(name) for name in self.pass_env}
        environment = {"PATH": self._path, **passed, **self.env}
        outcomes = self._outcomes(samples, environment, Redactor(passed.values()))
        name = f"the command `{excerpt(' '.join(self.command), 80)}`"
        async with aclosing(unless_down(outcomes, len(samples), name)) as answers:
            async for answered in answers:
                yield answered

    async def _outcomes(
        self, samples: Sequence[Sample], environment: Mapping[str, str], redact: Redactor
    ) -> AsyncGenerator[Outcome, None]:
        size = self.batch or max(1, len(samples))
        for start in range(0, len(samples), size):
            batch = self._batch_outcomes(samples[start : start + size], environment, redact)
            async with aclosing(batch) as outcomes:
                async for outcome in outcomes:
                    yield outcome

    async def _batch_outcomes(
        self, samples: Sequence[Sample], environment: Mapping[str, str], redact: Redactor
    ) -> AsyncGenerator[Outcome, None]:
        child = await self._started(environment)
        conversation = Conversation(samples, self.timeout)
        try:
            async with aclosing(conversation.answers(child)) as answers:
                async for answered in answers:
                    failure = None if answered.failure is None else redact.failure(answered.failure)
                    yield Outcome(Answered(answered.id, answered.answer, failure))
        finally:
            await child.end()
        reason = redact.failure(conversation.ending(child))
        for id_ in conversation.unanswered:
            words = reason if conversation.answered_none else f"the command gave no row for this id: {reason}"
            yield Outcome(Answered(id_, None, words), unreachable=_MEND if conversation.answered_none else None)

    async def _started(self, environment: Mapping[str, str]) -> ChildGroup:
        try:
            return await ChildGroup.start(self.command, environment)
        except OSError as error:
            raise UserInputError(
                f"target command: `{excerpt(self.command[0], 80)}` cannot be started: {error.strerror or error}",
                mend="name a program that is on PATH or a path to one, and check that it may be executed",
            ) from error

"""Asks for many answers at once: bounded, cancelled cleanly, and ended early when the target is plainly down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from ragguard.core.ports import Answered
from ragguard.core.samples import Sample
from ragguard.errors import TargetError

ENOUGH_TO_CALL_IT_DOWN: Final = 5
"""So many samples, the first ones, must find the target unreachable before the run is given up."""


@dataclass(frozen=True)
class Outcome:
    """What came of asking one sample.

    Attributes:
        answered: The answer, or the sample's failure.
        unreachable: Set when the failure speaks of the target as a whole: the mend.
    """

    answered: Answered
    unreachable: str | None = None


async def ask_each(
    samples: Sequence[Sample], concurrency: int, ask: Callable[[Sample], Coroutine[None, None, Outcome]]
) -> AsyncGenerator[Outcome, None]:
    """Asks all samples, at most `concurrency` at a time; yields outcomes as they come.

    When the iterator is closed or cancelled, what is still being asked is cancelled and awaited.
    """
    waiting = iter(samples)
    flight: set[asyncio.Task[Outcome]] = set()
    try:
        while True:
            while len(flight) < concurrency and (sample := next(waiting, None)) is not None:
                flight.add(asyncio.create_task(ask(sample)))
            if not flight:
                return
            done, _ = await asyncio.wait(flight, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                flight.discard(task)
                yield task.result()
    finally:
        for task in flight:
            task.cancel()
        await asyncio.gather(*flight, return_exceptions=True)


async def unless_down(outcomes: AsyncGenerator[Outcome, None], total: int, name: str) -> AsyncGenerator[Answered, None]:
    """Passes outcomes on, but holds back failures to reach the target until it has been reached once.

    Args:
        outcomes: Outcomes as they come; closed with this iterator.
        total: How many outcomes there will be.
        name: The target in the message.

    Raises:
        TargetError: The first five outcomes, or all if there are fewer, could not reach the target.
    """
    held: list[Outcome] = []
    reached = False
    async with aclosing(outcomes):
        async for outcome in outcomes:
            if not reached and outcome.unreachable is not None:
                held.append(outcome)
                if len(held) >= min(ENOUGH_TO_CALL_IT_DOWN, total):
                    raise _down(name, outcome, len(held))
                continue
            reached = True
            for earlier in held:
                yield earlier.answered
            held.clear()
            yield outcome.answered


def _down(name: str, last: Outcome, count: int) -> TargetError:
    asked = f" to any of the first {count} questions" if count > 1 else ""
    return TargetError(f"{name} gave no answer{asked}: {last.answered.failure}", mend=last.unreachable)

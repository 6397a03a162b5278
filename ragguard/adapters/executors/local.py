"""Runs work items in this process: many samples in flight, results in the order of the work."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ragguard.core.evaluation import Bench, evaluate_item
from ragguard.core.scores import SampleResult
from ragguard.core.work import WorkItem
from ragguard.errors import RagguardError

_GRACE_S = 10.0
"""How long calls that are out may still take once the run is over."""


class LocalExecutor(BaseModel):
    """This process.

    Attributes:
        concurrency: Samples in flight; the judge's own limits hold besides.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["local"] = "local"
    concurrency: int = Field(default=64, ge=1, le=1024)

    async def evaluate(self, work: Iterable[WorkItem], bench: Bench) -> AsyncIterator[SampleResult]:
        """Yields one result for each work item, in the order of the work.

        The work is drawn only as fast as results are taken, so that memory stays flat. When judge or budget end the
        run, what is out is paid for: it is waited for, and given out before the error.

        Raises:
            JudgeError: The judge as a whole cannot be used.
            BudgetError: The budget is spent.
        """
        flight: deque[asyncio.Task[SampleResult]] = deque()
        items = iter(work)
        try:
            while True:
                while len(flight) < self.concurrency and (item := next(items, None)) is not None:
                    flight.append(asyncio.create_task(evaluate_item(item, bench)))
                if not flight:
                    return
                try:
                    result = await self._first(flight)
                except RagguardError:
                    for late in await self._finished(flight):
                        yield late
                    raise
                yield result
        finally:
            for task in flight:
                task.cancel()
            await asyncio.gather(*flight, return_exceptions=True)

    @staticmethod
    async def _finished(flight: Collection[asyncio.Task[SampleResult]]) -> list[SampleResult]:
        if not flight:
            return []
        done, _ = await asyncio.wait(flight, timeout=_GRACE_S)
        return [task.result() for task in flight if task in done and not task.cancelled() and not task.exception()]

    @staticmethod
    async def _first(flight: deque[asyncio.Task[SampleResult]]) -> SampleResult:
        """Waits for the oldest item, but fails as soon as any item in flight does."""
        oldest = flight[0]
        while not oldest.done():
            waiting = [task for task in flight if not task.done()]
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        return flight.popleft().result()

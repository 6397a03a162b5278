"""Rounds of lanes until every unit has its results, which are read in order while later ones are still being made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from ragguard.adapters.executors.lanes import Lane, LaneReport
from ragguard.adapters.executors.units import Unit, UnitFolder
from ragguard.core.elsewhere import BenchKit, Paid
from ragguard.core.scores import SampleResult
from ragguard.errors import BudgetError, OutsideWorldError

_POLL_S = 0.25


class Jobs(Protocol):
    """What runs lanes, all at once."""

    def run(self, lanes: Sequence[Lane], tag: str) -> list[LaneReport]:
        """Runs lanes to their ends and returns their reports; blocks.

        Raises:
            OutsideWorldError: They cannot be run.
        """
        ...

    def cancel(self, tag: str) -> None:
        """Ends what runs under a tag."""
        ...


@dataclass
class Rounds:
    """One evaluation.

    Attributes:
        uri: The scratch folder's address.
        job: The job's id.
        most_lanes: Lanes at once.
        concurrency: Samples in flight in each.
        fingerprints: By metric, what the driver's bench has.
    """

    jobs: Jobs
    folder: UnitFolder
    uri: str
    job: str
    kit: BenchKit
    fingerprints: Mapping[str, str]
    most_lanes: int
    concurrency: int
    _done: frozenset[str] = field(default=frozenset())

    async def results(self, units: Sequence[Unit]) -> AsyncGenerator[SampleResult, None]:
        """Yields all results in order.

        Raises:
            RagguardError: What ended a lane.
            BudgetError: The budget is spent.
            OutsideWorldError: The lanes cannot be run.
        """
        most, ready = self.most_lanes, 0
        self._done = await asyncio.to_thread(self.folder.done)
        while ready < len(units):
            lanes = self._lanes([unit for unit in units[ready:] if unit.name not in self._done], most)
            job = asyncio.ensure_future(self._run(lanes))
            try:
                while ready < len(units) and await self._wait_for(units[ready], job):
                    for result in self.folder.results(units[ready]):
                        yield result
                    ready += 1
                reports = await asyncio.shield(job)
            finally:
                if not job.done():
                    await self._cancel(job)
            most = self._following(reports, len(lanes), unfinished=ready < len(units))

    async def _run(self, lanes: Sequence[Lane]) -> list[LaneReport]:
        return await asyncio.to_thread(self.jobs.run, lanes, self.job) if lanes else []

    def _lanes(self, units: Sequence[Unit], most: int) -> list[Lane]:
        """Deals the units out in turn, so that those that are due first are done first."""
        parts = self.kit.most_parts
        count = min(most, len(units), most if parts is None else parts)
        return [
            Lane(
                folder=self.uri,
                job=self.job,
                units=tuple(units[number::count]),
                part=self.kit.part(number, count),
                fingerprints=dict(self.fingerprints),
                concurrency=self.concurrency,
            )
            for number in range(count)
        ]

    async def _wait_for(self, unit: Unit, job: asyncio.Future[list[LaneReport]]) -> bool:
        """Waits for a unit's results; False where the job ended without them."""
        while unit.name not in self._done:
            over = job.done()
            self._done = await asyncio.to_thread(self.folder.done)
            if unit.name not in self._done:
                if over:
                    return False
                await asyncio.wait([job], timeout=_POLL_S)
        return True

    async def _cancel(self, job: asyncio.Future[list[LaneReport]]) -> None:
        await asyncio.to_thread(self.folder.stop)
        with suppress(Exception):
            await asyncio.to_thread(self.jobs.cancel, self.job)
        with suppress(Exception):
            await job

    def _following(self, reports: Sequence[LaneReport], lanes: int, *, unfinished: bool) -> int:
        """Books what was paid; how many lanes a further round may have.

        Raises:
            RagguardError: There is no sense in one.
        """
        self.kit.book(sum((report.paid for report in reports), Paid()))
        failed = next((report for report in reports if report.kind == "error"), None)
        if failed is not None:
            raise failed.exception()
        if not unfinished:
            return lanes
        short = next((report for report in reports if report.kind == "budget"), None)
        if short is None:
            raise OutsideWorldError("the Spark job ended without all results", mend="run again: what is done is kept")
        if lanes == 1:
            raise BudgetError(short.message, mend=short.mend)
        return max(1, lanes // 2)  # what the others left over, in larger parts

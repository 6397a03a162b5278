"""What runs on a worker: the local engine over a lane of units, with the lane's part of the run's limits.

A lane is the work of one task. The task may be started again on another machine: what is done is found and skipped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ragguard import errors
from ragguard.adapters.executors.local import LocalExecutor
from ragguard.adapters.executors.units import Unit, UnitFolder
from ragguard.core.elsewhere import BenchPart, OpenBench, Paid
from ragguard.core.evaluation import Bench
from ragguard.core.scores import SampleResult
from ragguard.core.work import WorkItem

Kind = Literal["done", "stopped", "budget", "error"]


@dataclass(frozen=True)
class Lane:
    """One task's work; plain data that can be sent.

    Attributes:
        folder: Where the units are.
        job: The job's id.
        units: What to do, in order.
        part: The bench's settings, with this lane's part of the limits.
        fingerprints: By metric, what the driver's bench has: a worker with other prompts or models must not score.
        concurrency: Samples in flight.
    """

    folder: str
    job: str
    units: tuple[Unit, ...]
    part: BenchPart
    fingerprints: Mapping[str, str]
    concurrency: int


@dataclass(frozen=True)
class LaneReport:
    """How a lane ended.

    Attributes:
        kind: `done`, or why not: told to stop, the lane's part of the budget is spent, an error.
        error: The class of the error in `ragguard.errors`.
        paid: What the lane's calls took, earlier tries of the same job included.
    """

    kind: Kind
    message: str = ""
    mend: str | None = None
    error: str = ""
    paid: Paid = field(default_factory=Paid)

    def exception(self) -> errors.RagguardError:
        """The error that ended the lane, as it would have been raised here."""
        kind = getattr(errors, self.error, None)
        if not (isinstance(kind, type) and issubclass(kind, errors.RagguardError)):
            kind = errors.OutsideWorldError
        return kind(self.message, mend=self.mend)


class StoppedError(Exception):
    """The job is over before its end."""


def run_lane(lane: Lane) -> LaneReport:
    """Does a lane's units and writes their results."""
    return asyncio.run(_run(lane))


async def _run(lane: Lane) -> LaneReport:
    folder = UnitFolder(lane.folder, lane.job)
    paid, opened = Paid(), None
    try:
        done = folder.done()
        paid = folder.paid(unit for unit in lane.units if unit.name in done)
        opened = lane.part.open(paid)
        check_fingerprints(opened.bench, lane.fingerprints)
        todo = ((unit, folder.work) for unit in lane.units if unit.name not in done)
        async for unit, results in evaluate_units(todo, opened.bench, lane.concurrency):
            folder.put_results(unit, results)
            if folder.stopped():
                return LaneReport("stopped", paid=opened.paid)
    except errors.ObjectNotFoundError as error:
        folder.stop()
        mend = "set executor.scratch to a folder or bucket that all machines reach under the same name"
        return LaneReport("error", f"a worker does not see its work: {error.message}", mend, "ConfigError")
    except errors.RagguardError as error:
        kind: Kind = "budget" if isinstance(error, errors.BudgetError) else "error"
        if kind == "error":
            folder.stop()
        now = opened.paid if opened is not None else paid
        return LaneReport(kind, error.message, error.mend, type(error).__name__, now)
    finally:
        await _close(opened)
    return LaneReport("done", paid=opened.paid)


async def _close(opened: OpenBench | None) -> None:
    if opened is not None:
        await opened.aclose()


def check_fingerprints(bench: Bench, expected: Mapping[str, str]) -> None:
    """Checks that this process scores as the driver would.

    Raises:
        ConfigError: It has other prompts, models or versions.
    """
    for metric in bench.metrics:
        if bench.fingerprint(metric).digest != expected.get(metric.id):
            raise errors.ConfigError(
                f"the workers would score {metric.id} otherwise than the driver",
                mend="install the same version of ragguard and its extras on all machines",
            )


Source = tuple[Unit, Callable[[Unit], Iterator[WorkItem]]]


async def evaluate_units(
    units: Iterable[Source], bench: Bench, concurrency: int
) -> AsyncIterator[tuple[Unit, list[SampleResult]]]:
    """Evaluates units by the local engine, across their borders; yields each when its last result is there.

    Raises:
        JudgeError: The judge as a whole cannot be used.
        BudgetError: The budget is spent.
    """
    begun: deque[Unit] = deque()

    def items() -> Iterator[WorkItem]:
        for unit, work in units:
            begun.append(unit)
            yield from work(unit)

    found: list[SampleResult] = []
    async for result in LocalExecutor(concurrency=concurrency).evaluate(items(), bench):
        found.append(result)
        if len(found) == begun[0].count:
            yield begun.popleft(), found
            found = []

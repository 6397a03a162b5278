"""Runs work items on a Spark cluster: units of work in files, lanes of units as tasks, results in the work's order.

The driver holds one unit at a time. Limits are divided among the lanes, which run at once, so that together they keep
them; what one lane leaves of its budget is divided again among those that had too little.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ragguard.adapters.addresses import parse_address
from ragguard.adapters.executors.lanes import Lane, LaneReport, run_lane
from ragguard.adapters.executors.rounds import Rounds
from ragguard.adapters.executors.sessions import first_line, open_session, parallelism
from ragguard.adapters.executors.units import Unit, UnitFolder, work_line
from ragguard.core.digests import digest
from ragguard.core.elsewhere import Paid
from ragguard.core.evaluation import Bench
from ragguard.core.scores import SampleResult
from ragguard.core.work import WorkItem
from ragguard.errors import ConfigError, OutsideWorldError

_REPORT_SCHEMA = (
    "kind string, message string, mend string, error string, calls long, tokens long, usd double, usd_known boolean"
)


class SparkExecutor(BaseModel):
    """A Spark cluster.

    Attributes:
        scratch: Holds questions and answers while the job runs; only who may read those may read it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["spark"] = "spark"
    master: str | None = Field(
        default=None, description="Spark's master URL; as spark-submit or the running session says where left out."
    )
    partitions: int | None = Field(
        default=None, ge=1, le=100_000, description="Tasks at once; Spark's own number else."
    )
    concurrency: int = Field(default=64, ge=1, le=1024, description="Samples in flight in each task.")
    checkpoint: int = Field(default=32, ge=1, le=10_000, description="Samples whose results are written together.")
    scratch: str = Field(
        default=".ragguard/spark", min_length=1, description="Folder or bucket URL that driver and workers both reach."
    )
    keep_results: bool = Field(
        default=False, description="Leave results in scratch, for the next run of the same work."
    )
    conf: dict[str, str] = Field(default_factory=dict, description="Spark's own settings.")

    async def evaluate(self, work: Iterable[WorkItem], bench: Bench) -> AsyncGenerator[SampleResult, None]:
        """Yields one result for each work item, in the order of the work.

        Raises:
            ConfigError: PySpark is not installed, or the bench holds objects that cannot be sent.
            JudgeError: The judge as a whole cannot be used.
            BudgetError: The budget is spent.
            OutsideWorldError: Spark does not start, or the job fails.
        """
        if bench.kit is None:
            raise ConfigError("the Spark executor needs settings", mend="give names and settings instead of objects")
        job = secrets.token_hex(8)
        folder = UnitFolder(self.folder, job)
        units = await self._send(folder, work, bench)
        if not units:
            return
        session = await asyncio.to_thread(open_session, self.master, self.conf)
        rounds = Rounds(
            jobs=SparkJobs(session),
            folder=folder,
            uri=self.folder,
            job=job,
            kit=bench.kit,
            fingerprints=_fingerprints(bench),
            most_lanes=self.partitions or parallelism(session),
            concurrency=self.concurrency,
        )
        async with aclosing(rounds.results(units)) as results:
            async for result in results:
                yield result
        await asyncio.to_thread(folder.remove, units, results=not self.keep_results)

    @property
    def folder(self) -> str:
        """The scratch folder's address, the same in every process."""
        address = parse_address(self.scratch)
        return str(Path(address.path or ".").absolute()) if address.scheme == "file" else self.scratch

    async def _send(self, folder: UnitFolder, work: Iterable[WorkItem], bench: Bench) -> list[Unit]:
        how = digest([_fingerprints(bench), bench.store_text])
        lines = map(work_line, work)
        units = []
        while block := list(islice(lines, self.checkpoint)):
            units.append(await asyncio.to_thread(folder.put_work, block, how))
        return units


class SparkJobs:
    """Lanes as the tasks of Spark jobs.

    Args:
        session: The Spark session.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def run(self, lanes: Sequence[Lane], tag: str) -> list[LaneReport]:
        """Runs one Spark job, a task for each lane; only the lanes' reports come back.

        Raises:
            OutsideWorldError: The job failed.
        """
        count = len(lanes)
        self._session.addTag(tag)
        try:
            frame = self._session.range(0, count, 1, count).mapInPandas(_run_lanes(lanes), _REPORT_SCHEMA)
            return [_report(row) for row in frame.collect()]
        except Exception as error:
            raise OutsideWorldError(
                f"the Spark job failed: {first_line(error)}", mend="see Spark's log; what is done is kept in `scratch`"
            ) from error
        finally:
            self._session.removeTag(tag)

    def cancel(self, tag: str) -> None:
        """Ends the jobs of a tag."""
        self._session.interruptTag(tag)


def _fingerprints(bench: Bench) -> dict[str, str]:
    return {metric.id: bench.fingerprint(metric).digest for metric in bench.metrics}


def _run_lanes(lanes: Sequence[Lane]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What each task does: the rows that it gets are the numbers of its lanes."""

    def run(frames: Iterable[Any]) -> Iterator[Any]:
        import pandas as pd

        for frame in frames:
            rows = [_row(run_lane(lanes[int(number)])) for number in frame["id"]]
            yield pd.DataFrame(rows)

    return run


def _row(report: LaneReport) -> dict[str, Any]:
    paid = report.paid
    return {
        "kind": report.kind,
        "message": report.message,
        "mend": report.mend,
        "error": report.error,
        "calls": paid.calls,
        "tokens": paid.tokens,
        "usd": paid.usd or 0.0,
        "usd_known": paid.usd is not None,
    }


def _report(row: Any) -> LaneReport:
    paid = Paid(row["calls"], row["tokens"], row["usd"] if row["usd_known"] else None)
    return LaneReport(row["kind"], row["message"], row["mend"], row["error"], paid)

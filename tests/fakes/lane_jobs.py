"""Lanes run by threads of this process in place of a cluster; a bench whose kit counts what it is asked for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from ragguard.adapters.executors.lanes import Lane, LaneReport, run_lane
from ragguard.adapters.executors.local import LocalExecutor
from ragguard.adapters.executors.rounds import Rounds
from ragguard.adapters.executors.units import UnitFolder, work_line
from ragguard.adapters.judges.offline import OfflineJudge
from ragguard.core.digests import digest
from ragguard.core.elsewhere import Paid
from ragguard.core.evaluation import Bench
from ragguard.core.metrics.context_relevance import ContextRelevance
from ragguard.core.metrics.faithfulness import Faithfulness
from ragguard.core.ports import Judge, Vectors
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.scores import JudgeRequest, Judgment, SampleResult
from ragguard.core.tasks import Task
from ragguard.core.work import WorkItem
from ragguard.errors import BudgetError

METRICS = (Faithfulness(), ContextRelevance())


class NoEmbedder:
    """For metrics that embed nothing."""

    fingerprint = "none"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise AssertionError("nothing is embedded here")


@dataclass
class Till:
    """What all benches of a test have sent to the judge; `budget` calls are allowed in all, None: any number."""

    budget: int | None = None
    calls: list[str] = field(default_factory=list)
    before_call: Callable[[int], None] = lambda number: None
    lock: threading.Lock = field(default_factory=threading.Lock)


class CountingJudge:
    """The offline judge with a till and an allowance."""

    def __init__(self, till: Till, allowed: int | None) -> None:
        self._judge: Judge = OfflineJudge()
        self._till, self._allowed = till, allowed
        self.spent = 0
        self.fingerprint, self.models = self._judge.fingerprint, self._judge.models

    def prompt_digest(self, task: str) -> str:
        return self._judge.prompt_digest(task)

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        return self._judge.requests(task, repeat, session)

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        if self._allowed is not None and self.spent >= self._allowed:
            raise BudgetError("the budget is spent", mend="raise it")
        with self._till.lock:
            self._till.calls.append(request.inputs_digest)
            number = len(self._till.calls)
        self.spent += 1
        self._till.before_call(number)
        await asyncio.sleep(0)
        return await self._judge.ask(task, request)

    async def aclose(self) -> None:
        """Nothing to free."""


@dataclass
class OpenedBench:
    """A bench of one lane."""

    bench: Bench
    judge: CountingJudge
    before: Paid

    @property
    def paid(self) -> Paid:
        return self.before + Paid(calls=self.judge.spent)

    async def aclose(self) -> None:
        """Nothing to free."""


@dataclass
class Part:
    """One lane's share of the calls."""

    till: Till
    allowed: int | None

    def open(self, paid: Paid) -> OpenedBench:
        judge = CountingJudge(self.till, None if self.allowed is None else max(0, self.allowed - paid.calls))
        return OpenedBench(bench(judge), judge, paid)


@dataclass
class Kit:
    """Divides what is left of the till's budget."""

    till: Till
    booked: Paid = field(default_factory=Paid)

    @property
    def most_parts(self) -> int | None:
        return None

    def part(self, number: int, of: int) -> Part:
        left = None if self.till.budget is None else self.till.budget - self.booked.calls
        return Part(self.till, None if left is None else left // of + (number < left % of))

    def book(self, paid: Paid) -> None:
        self.booked += paid


def bench(judge: Judge | None = None) -> Bench:
    """The bench of all lanes."""
    return Bench(METRICS, judge or OfflineJudge(), NoEmbedder())


class ThreadJobs:
    """Runs lanes as threads.

    Attributes:
        attempts: How often a lane that raises is started again, as Spark does.
        rounds: The lanes of each round.
    """

    def __init__(self, attempts: int = 4) -> None:
        self.attempts = attempts
        self.rounds: list[list[Lane]] = []
        self.cancelled: list[str] = []

    def run(self, lanes: Sequence[Lane], tag: str) -> list[LaneReport]:
        self.rounds.append(list(lanes))
        with ThreadPoolExecutor(max_workers=len(lanes)) as pool:
            return list(pool.map(self._lane, lanes))

    def _lane(self, lane: Lane) -> LaneReport:
        for attempt in range(self.attempts):
            try:
                return run_lane(lane)
            except KilledError:
                if attempt + 1 == self.attempts:
                    raise
        raise AssertionError("no attempt")

    def cancel(self, tag: str) -> None:
        self.cancelled.append(tag)


class KilledError(BaseException):
    """Stands for a worker that died; no exception that the engine would turn into a value."""


def items(count: int, start: int = 0) -> list[WorkItem]:
    """Different samples with two judge calls each."""
    texts = (
        "The fee of course {k} is {k} dollars.",
        "Học phí khóa {k} là {k} nghìn đồng.",
        "第{k}门课程的学费是{k}元。",
    )
    found = []
    for k in range(start, start + count):
        text = texts[k % 3].format(k=k)
        sample = Sample(
            id=f"s{k:03d}", question=f"Fee {k}? 费用", contexts=(Passage(id=f"p{k}", text=text),), tags=("x",)
        )
        found.append(WorkItem(sample, Answer(text=text if k % 4 else f"{text} Or 99{k}.")))
    return found


@dataclass
class Evaluator:
    """Evaluates work by lanes in a folder."""

    folder: Path
    till: Till = field(default_factory=Till)
    jobs: ThreadJobs = field(default_factory=ThreadJobs)
    lanes: int = 3
    unit: int = 4
    concurrency: int = 2

    def __post_init__(self) -> None:
        self.kit = Kit(self.till)

    def results(self, work: Sequence[WorkItem], job: str = "job") -> Iterator[SampleResult]:
        """Yields results as they come; what was yielded before an error stays."""
        loop = asyncio.new_event_loop()
        try:
            stream = self.stream(work, job)
            while True:
                try:
                    yield loop.run_until_complete(stream.__anext__())
                except StopAsyncIteration:
                    return
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    async def stream(self, work: Sequence[WorkItem], job: str = "job"):  # type: ignore[no-untyped-def]
        """The results as an asynchronous iterator."""
        folder = UnitFolder(str(self.folder), job)
        how = digest("how")
        units = [
            folder.put_work([work_line(item) for item in work[start : start + self.unit]], how)
            for start in range(0, len(work), self.unit)
        ]
        fingerprints = {metric.id: bench().fingerprint(metric).digest for metric in METRICS}
        rounds = Rounds(self.jobs, folder, str(self.folder), job, self.kit, fingerprints, self.lanes, self.concurrency)
        async with aclosing(rounds.results(units)) as results:
            async for result in results:
                yield result


def locally(work: Sequence[WorkItem]) -> list[SampleResult]:
    """What the local executor gives."""

    async def story() -> list[SampleResult]:
        return [result async for result in LocalExecutor(concurrency=5).evaluate(work, bench())]

    return asyncio.run(story())


def plain(results: Sequence[SampleResult]) -> list[SampleResult]:
    """Results without how they were come by."""
    return [replace_judgments(result, source="called", attempts=1) for result in results]


def replace_judgments(result: SampleResult, **fields: object) -> SampleResult:
    """A result whose judgments have some fields replaced."""
    return result.model_copy(
        update={"judgments": tuple(judgment.model_copy(update=fields) for judgment in result.judgments)}
    )

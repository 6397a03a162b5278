"""A run in parts: what a shard may say of itself, and the shards of one run read back as if it had run in one piece."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from ragguard.adapters.runfiles import SavedRun
from ragguard.core.bare import aggregate
from ragguard.core.decisions import Decision, MetricDecision
from ragguard.core.evaluation import Bench
from ragguard.core.evidence import MetricEvidence
from ragguard.core.ports import Answered, Executor
from ragguard.core.runs import DatasetInfo, RunHead
from ragguard.core.samples import Sample, sample_digest
from ragguard.core.scores import SampleResult
from ragguard.core.selection import parse_shard, shard_number
from ragguard.core.work import CANDIDATE, WorkItem
from ragguard.errors import RunFileError


def shard_decision(shard: str, evidence: Mapping[str, MetricEvidence]) -> Decision:
    """What a shard says of itself: its numbers, and that nobody has judged them yet.

    A part of a run is not held against the baseline: its looks would be paid for twice, and its verdict would be
    about the samples that a hash happened to put into it.
    """
    reason = f"shard {shard}: evaluated, not judged; `ragguard merge` judges the whole run"
    metrics = {
        name: MetricDecision(
            metric=name,
            outcome="warned",
            reason=reason,
            n_scored=int(found.candidate_values.size),
            n_failed=found.n_failed,
            n_not_applicable=found.n_not_applicable,
            mean=aggregate(found.candidate_values, found.aggregate),
        )
        for name, found in evidence.items()
    }
    return Decision(metrics, "warned", reasons=(reason,))


@dataclass(frozen=True)
class Shards:
    """All shards of one run, in the order of their numbers."""

    runs: tuple[SavedRun, ...]

    @classmethod
    def of(cls, runs: Sequence[SavedRun]) -> Shards:
        """Puts shards in order.

        Raises:
            RunFileError: One is missing, there twice, broken off, or of another run.
        """
        if not runs:
            raise RunFileError("no shards are given", mend="name the output folders of all shards")
        numbered: dict[int, SavedRun] = {}
        for run in runs:
            number = _number(run, of=_count(runs[0]))
            if number in numbered:
                raise RunFileError(
                    f"{numbered[number].uri} and {run.uri} are both shard {run.head.dataset.selection.shard}",
                    mend="name each shard once",
                )
            numbered[number] = run
        count = _count(runs[0])
        missing = [f"{number}/{count}" for number in range(1, count + 1) if number not in numbered]
        if missing:
            raise RunFileError(f"missing: shard {', '.join(missing)}", mend="name the output folders of all shards")
        ordered = tuple(numbered[number] for number in sorted(numbered))
        for run in ordered[1:]:
            _require_same(ordered[0], run)
        return cls(ordered)

    @property
    def first(self) -> RunHead:
        """The first shard's head; the others agree with it in what makes them one run."""
        return self.runs[0].head

    def check(self, info: DatasetInfo) -> None:
        """Checks that the data set at hand is the one that the shards took.

        Raises:
            RunFileError: It is not.
        """
        taken = self.first.dataset
        for what, theirs, ours in (
            ("data set", (taken.digest, taken.n_total), (info.digest, info.n_total)),
            ("sample_budget", taken.selection.budget, info.selection.budget),
            ("filter", taken.selection.tags, info.selection.tags),
        ):
            if theirs != ours:
                raise RunFileError(
                    f"the shards were taken from another {what}", mend="merge with the config and data of the shards"
                )

    def check_bench(self, bench: Bench) -> None:
        """Checks that the shards were evaluated as the merged run is to be.

        Raises:
            RunFileError: They were not.
        """
        ours = {metric.id: bench.fingerprint(metric) for metric in bench.metrics}
        for run in self.runs:
            theirs = run.head.fingerprints
            if theirs.keys() != ours.keys():
                raise RunFileError(f"{run.uri}: has other metrics than the config", mend=_AGAIN)
            for metric, fingerprint in ours.items():
                if changed := theirs[metric].differences(fingerprint):
                    raise RunFileError(f"{run.uri}: {metric}: changed: {', '.join(changed)}", mend=_AGAIN)

    @property
    def texts(self) -> bool:
        """Whether the shards keep questions and answers."""
        return any(result.sample is not None for result in self.runs[0].results())

    @property
    def target(self) -> MergedTarget:
        """Gives the answers that the shards got."""
        return MergedTarget(self)

    def executor(self, live: Executor) -> MergedExecutor:
        """Gives the results that the shards got, and has everything else evaluated.

        Args:
            live: What evaluates looks, and whatever the shards did not.
        """
        return MergedExecutor(self, live)

    def streams(self, side: str) -> Streams:
        """The shards' look-1 results of one side."""
        return Streams(self.runs, side)

    def has_rescored(self, side: str, metrics: frozenset[str] | None) -> bool:
        """Whether every shard judged the answers of a stored run again, in these metrics."""
        for run in self.runs:
            found = next(iter(Streams((run,), side).of(0)), None)
            if found is None or frozenset(score.metric for score in found.scores) != metrics:
                return False
        return True


_AGAIN = "run the shards again, all with the same config"


def _count(run: SavedRun) -> int:
    shard = run.head.dataset.selection.shard
    if shard is None:
        raise RunFileError(f"{run.uri}: is no shard but a whole run", mend="name the output of `ragguard run --shard`")
    return parse_shard(shard)[1]


def _number(run: SavedRun, *, of: int) -> int:
    count = _count(run)
    shard = str(run.head.dataset.selection.shard)
    if count != of:
        raise RunFileError(f"{run.uri}: is shard {shard}, the first one is one of {of}", mend=_AGAIN)
    if run.head.outcome == "error":
        why = run.head.reasons[0] if run.head.reasons else "it has an error"
        raise RunFileError(f"{run.uri}: shard {shard} did not get to its end: {why}", mend="run that shard again")
    return parse_shard(shard)[0]


def _require_same(first: SavedRun, other: SavedRun) -> None:
    for what, of_first, of_other in (
        ("suite", first.head.suite, other.head.suite),
        ("commit", first.head.commit, other.head.commit),
        ("data set", first.head.dataset.digest, other.head.dataset.digest),
        ("fingerprints of its metrics", first.head.fingerprints, other.head.fingerprints),
    ):
        if of_first != of_other:
            raise RunFileError(f"{other.uri}: has another {what} than {first.uri}", mend=_AGAIN)


class Streams:
    """The look-1 results of one side, shard by shard in the order of the data set; each is read once.

    Args:
        runs: All shards, in order.
        side: `candidate`, or the id of the stored run that was judged again.
    """

    def __init__(self, runs: Sequence[SavedRun], side: str) -> None:
        self._runs, self._side = runs, side
        self._open = [self.of(place) for place in range(len(runs))]

    def of(self, place: int) -> Iterator[SampleResult]:
        """One shard's results from its beginning."""
        for result in self._runs[place].results():
            if result.side == self._side and result.session is None:
                yield result

    def next(self, sample: Sample) -> SampleResult:
        """The result of a sample; samples are asked for in the order of the data set.

        Raises:
            RunFileError: Its shard holds another one there.
        """
        place = shard_number(sample.id, len(self._runs)) - 1
        result = next(self._open[place], None)
        if result is None or result.id != sample.id or result.sample_digest != sample_digest(sample):
            found = "its end" if result is None else f"{result.id!r}"
            raise RunFileError(
                f"{self._runs[place].uri}: holds {found} where sample {sample.id!r} should be", mend=_AGAIN
            )
        return result

    def finish(self) -> None:
        """Reads on to the ends, which checks the files as a whole.

        Raises:
            RunFileError: There is more than was asked for, or a file was changed.
        """
        for run, rest in zip(self._runs, self._open, strict=True):
            more = next(rest, None)
            if more is not None:
                raise RunFileError(f"{run.uri}: holds {more.id!r}, which is not due", mend=_AGAIN)


@dataclass(frozen=True)
class MergedTarget:
    """The answers of the shards, as a target."""

    shards: Shards
    type: Literal["recorded"] = "recorded"

    async def answer_all(self, samples: Sequence[Sample]) -> AsyncIterator[Answered]:
        """Yields each sample's answer, in the order of the samples.

        Raises:
            RunFileError: The shards do not hold these samples.
        """
        streams = self.shards.streams(CANDIDATE)
        for sample in samples:
            yield Answered(sample.id, streams.next(sample).answer, "its shard has no answer")
        streams.finish()


@dataclass(frozen=True)
class MergedExecutor:
    """The results of the shards, as an executor; what no shard has evaluated is evaluated now."""

    shards: Shards
    live: Executor

    async def evaluate(self, work: Iterable[WorkItem], bench: Bench) -> AsyncIterator[SampleResult]:
        """Yields one result for each work item, in the order of the work.

        Raises:
            RunFileError: The shards do not hold these samples, or were evaluated otherwise.
        """
        items = iter(work)
        first = next(items, None)
        if first is None:
            return
        whole = chain((first,), items)
        if not self._has(first):
            async for result in self.live.evaluate(whole, bench):
                yield result
            return
        self.shards.check_bench(bench)
        streams = self.shards.streams(first.side)
        for item in whole:
            yield streams.next(item.sample)
        streams.finish()

    def _has(self, first: WorkItem) -> bool:
        if first.session is not None:
            return False
        return first.side == CANDIDATE or self.shards.has_rescored(first.side, first.metrics)

"""Which earlier runs the candidate is compared with, and what of them the comparison needs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field

from ragguard.core.runs import Event, Fingerprint, RunHead
from ragguard.core.scores import SampleResult
from ragguard.core.tables import DigestTable, ScoreColumn
from ragguard.core.work import CANDIDATE, Carried

MAX_RUNS = 5
_ACCEPTED_BY_THEMSELVES = frozenset({"local", "push", "schedule", "workflow_dispatch"})
_SAME_ANSWERS_SHARE = 0.5


def is_accepted(head: RunHead, events: Iterable[Event]) -> bool:
    """Whether a run may be a baseline.

    A shard of a run never is. The newest accepting or rejecting event decides. Without one, a run is accepted by
    itself if it was no pull request's, used the suite's own data set, and passed or warned.
    """
    if head.dataset.selection.shard is not None:
        return False
    decided = [event for event in events if event.run_id == head.run_id and event.kind in {"accepted", "rejected"}]
    if decided:
        return max(decided, key=lambda event: event.at).kind == "accepted"
    return (
        head.event in _ACCEPTED_BY_THEMSELVES and not head.dataset.overridden and head.outcome in {"passed", "warned"}
    )


def pinned_run(events: Iterable[Event]) -> str | None:
    """The run that is pinned by event: the newest pin that was not taken back."""
    newest = max((event for event in events if event.kind in {"pinned", "unpinned"}), key=lambda e: e.at, default=None)
    return newest.run_id if newest is not None and newest.kind == "pinned" else None


@dataclass
class BaselineRun:
    """One stored run, by sample id; only what pairing, scoring and carry-over need.

    Attributes:
        digests: (sample, passages, answer) digests.
        scores: By metric, then id: the value, None where the run has a failed score; no entry where not applicable.
        tags: Of the samples that have any.
        carried: What can be taken over, by id.
        texts: How many samples' question, passages and answer are stored.
    """

    head: RunHead
    digests: DigestTable = field(default_factory=DigestTable)
    scores: dict[str, ScoreColumn] = field(default_factory=dict)
    carried: MutableMapping[str, Carried] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    texts: int = 0
    _same_tags: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict, repr=False)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.head.run_id

    @classmethod
    def of(
        cls,
        head: RunHead,
        results: Iterable[SampleResult],
        *,
        carry_over: bool,
        carried: MutableMapping[str, Carried] | None = None,
    ) -> BaselineRun:
        """Reads a stored run's look-1 results; looks and re-scored sides are left out.

        Args:
            head: The run.
            results: Its results.
            carry_over: Whether what it knows can be taken over.
            carried: Where that is kept; in memory where left out.
        """
        run = cls(head, carried={} if carried is None else carried)
        for result in results:
            if result.side == CANDIDATE and result.session is None:
                run.add(result, carry_over=carry_over)
        return run

    def add(self, result: SampleResult, *, carry_over: bool) -> None:
        """Takes in one sample's result."""
        self.digests[result.id] = (result.sample_digest, result.passages_digest, result.answer_digest)
        if result.tags:
            self.tags[sys.intern(result.id)] = self._same_tags.setdefault(result.tags, result.tags)
        for score in result.scores:
            if score.metric not in self.scores:
                self.scores[score.metric] = ScoreColumn(self.digests.rows)
            self.scores[score.metric].add(result.id, score.status, score.value)
        if carry_over:
            self.carried[result.id] = Carried.of(result)
        self.texts += result.sample is not None and result.answer is not None

    def scores_of(self, metric: str) -> Mapping[str, float | None]:
        """Scores of one metric by id; empty where the run has none."""
        return self.scores.get(metric, {})


@dataclass(frozen=True)
class Baseline:
    """The runs that the candidate is compared with, newest first, and how each metric can be compared.

    Attributes:
        runs: Accepted runs with independently generated answers, newest first; at most five.
        rescored: By metric, scores of the newest run's stored answers under the candidate's settings.
    """

    runs: tuple[BaselineRun, ...] = ()
    rescored: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def newest(self) -> BaselineRun | None:
        """The newest run, or None where there is none yet."""
        return self.runs[0] if self.runs else None

    def comparable_runs(self, metric: str, fingerprint: Fingerprint) -> tuple[BaselineRun, ...]:
        """The runs whose scores of a metric were made as the candidate's are."""
        return tuple(
            run
            for run in self.runs
            if (known := run.head.fingerprints.get(metric)) is not None and known.digest == fingerprint.digest
        )

    def difference(self, metric: str, fingerprint: Fingerprint) -> str | None:
        """Names why the newest run's scores of a metric cannot be used as they are; None where they can."""
        if self.newest is None or self.comparable_runs(metric, fingerprint):
            return None
        known = self.newest.head.fingerprints.get(metric)
        if known is None:
            return "the metric is new"
        return f"changed: {', '.join(known.differences(fingerprint))}"


def independent(runs: Iterable[BaselineRun], limit: int = MAX_RUNS) -> tuple[BaselineRun, ...]:
    """Keeps runs whose answers were generated independently: no two share more than half of their answers.

    Args:
        runs: Newest first, read only as far as needed; of two that share answers the newer one stays.
        limit: At most so many are kept.
    """
    kept: list[BaselineRun] = []
    for run in runs:
        if all(_shared_answers(run, other) <= _SAME_ANSWERS_SHARE for other in kept):
            kept.append(run)
        if len(kept) == limit:
            break
    return tuple(kept)


def _shared_answers(run: BaselineRun, other: BaselineRun) -> float:
    """Share of the common samples whose answers are the same to the byte; 1.0 where nothing is common."""
    common = run.digests.keys() & other.digests.keys()
    if not common:
        return 1.0
    return sum(run.digests[id_][2] == other.digests[id_][2] for id_ in common) / len(common)

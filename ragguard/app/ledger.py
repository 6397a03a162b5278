"""Collects what the gate needs while results stream by: statuses and values, never texts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragguard.core.baseline import Baseline, BaselineRun
from ragguard.core.digests import digest
from ragguard.core.evidence import EvidenceBuilder, MetricEvidence
from ragguard.core.metrics.base import Metric
from ragguard.core.runs import Fingerprint
from ragguard.core.samples import Sample, sample_digest
from ragguard.core.scores import SampleResult
from ragguard.core.tables import DigestTable, ScoreColumn, Seen
from ragguard.core.work import CANDIDATE

_NOT_EVALUATED: Seen = ("failed", None)


def conversation_of(sample: Sample) -> str:
    """What a sample shares with the other questions of its conversation: the conversation's first turn."""
    return digest(sample.history[0].content if sample.history else sample.question)[:16]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the candidate's run was to evaluate, as far as pairing needs it.

    Attributes:
        digest: The sample's digest.
        line: Its line in the data set; 0 where unknown.
        cluster: What it shares with other samples; None where nothing.
    """

    digest: str
    line: int = 0
    cluster: str | None = None


@dataclass(frozen=True)
class Traits:
    """How a metric's values become the run's value."""

    direction: Literal["higher", "lower"]
    aggregate: Literal["mean", "p50", "p95"]


def cluster_of(sample: Sample, cluster_by: str) -> str | None:
    """What a sample shares with others, by `gate.cluster_by`; None where samples are taken as independent.

    A sample that shares nothing is a cluster of its own.
    """
    if cluster_by == "conversation":
        return conversation_of(sample)
    if cluster_by.startswith("tag:"):
        prefix = cluster_by.removeprefix("tag:")
        return next((tag for tag in sample.tags if tag.startswith(prefix)), f"sample {sample.id}")
    return None


def asked_samples(samples: Iterable[Sample], cluster_by: str = "none") -> dict[str, Asked]:
    """By id, in order, with their clusters."""
    return {
        sys.intern(sample.id): Asked(sample_digest(sample), sample.line, cluster_of(sample, cluster_by))
        for sample in samples
    }


def traits_of(metrics: Sequence[Metric]) -> dict[str, Traits]:
    """By metric id."""
    return {metric.id: Traits(metric.direction, metric.aggregate) for metric in metrics}


@dataclass
class Ledger:
    """The candidate's scores beside the baseline's.

    Attributes:
        asked: The selected samples by id, in order.
        would_select: Whether this run's budget, tags and shard would take a baseline's sample.
        blocked: By metric, why it cannot be compared although there is a baseline.
        digests: (sample, passages, answer) digests of the candidate's results.
    """

    asked: Mapping[str, Asked]
    traits: Mapping[str, Traits]
    fingerprints: Mapping[str, Fingerprint]
    baseline: Baseline
    would_select: Callable[[str, Sequence[str]], bool]
    blocked: dict[str, str] = field(default_factory=dict)
    digests: DigestTable = field(default_factory=DigestTable)
    _seen: dict[str, ScoreColumn] = field(default_factory=dict)
    _rescored: dict[str, dict[str, float | None]] = field(default_factory=dict)

    def beside(self, baseline: Baseline) -> Ledger:
        """The same candidate beside another baseline."""
        return replace(self, baseline=baseline, blocked={}, _rescored={})

    def add(self, result: SampleResult) -> None:
        """Takes in one look-1 result, the candidate's or the re-scored baseline's."""
        if result.side == CANDIDATE:
            self.digests[result.id] = (result.sample_digest, result.passages_digest, result.answer_digest)
            for score in result.scores:
                if score.metric not in self._seen:
                    self._seen[score.metric] = ScoreColumn(self.digests.rows)
                self._seen[score.metric].add(result.id, score.status, score.value)
            return
        for score in result.scores:
            if score.status != "not_applicable":
                self._rescored.setdefault(score.metric, {})[result.id] = score.value

    def runs_of(self, metric: str) -> tuple[BaselineRun, ...]:
        """The stored runs that a metric is compared with, newest first; the newest alone where it was re-scored."""
        runs = self.baseline.comparable_runs(metric, self.fingerprints[metric])
        if not runs and metric in self._rescored and self.baseline.newest is not None:
            return (self.baseline.newest,)
        return runs

    def is_paired(self, id_: str, run: BaselineRun) -> bool:
        """Whether a run has the sample with the same question, reference and gold."""
        known = run.digests.get(id_)
        return known is not None and known[0] == self.asked[id_].digest

    def evidence(self, look_blocked: str | None = None) -> dict[str, MetricEvidence]:
        """The gate's evidence after look 1, by metric."""
        return {metric: self._evidence(metric, traits, look_blocked) for metric, traits in self.traits.items()}

    def _evidence(self, metric: str, traits: Traits, look_blocked: str | None) -> MetricEvidence:
        runs = self.runs_of(metric)
        columns = [self._column(metric, run) for run in runs]
        builder = EvidenceBuilder(metric, runs=len(runs), direction=traits.direction, aggregate=traits.aggregate)
        seen = self._seen.get(metric)
        for id_, asked in self.asked.items():
            status, value = (seen.seen(id_) if seen is not None else None) or _NOT_EVALUATED
            stored = [
                column.get(id_) if self.is_paired(id_, run) else None for run, column in zip(runs, columns, strict=True)
            ]
            known = any(score is not None for score in stored)
            builder.add(id_, status, value, stored if known else None, asked.cluster)
        reason = None
        if self.baseline.newest is not None and not runs:
            changed = self.baseline.difference(metric, self.fingerprints[metric])
            reason = "; ".join(part for part in (changed, self.blocked.get(metric)) if part)
        return builder.build(
            n_baseline_ids=self._n_baseline_ids(metric, runs), not_comparable=reason, look_blocked=look_blocked
        )

    def _column(self, metric: str, run: BaselineRun) -> Mapping[str, float | None]:
        """A run's scores of a metric; the fresh ones where it was re-scored."""
        rescored = not self.baseline.comparable_runs(metric, self.fingerprints[metric])
        return self._rescored.get(metric, {}) if rescored else run.scores_of(metric)

    def _n_baseline_ids(self, metric: str, runs: Sequence[BaselineRun]) -> int:
        newest = runs[0] if runs else self.baseline.newest
        if newest is None:
            return 0
        ids = self._column(metric, newest) if runs else newest.digests
        return sum(self.would_select(id_, newest.tags.get(id_, ())) for id_ in ids)

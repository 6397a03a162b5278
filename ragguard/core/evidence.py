"""What the gate reads: a metric's scores on both sides, and the fresh judgments of later looks.

Scores live in arrays, so that 100,000 samples stay small. Inside an array NaN marks a score that is missing; whoever
builds evidence may write None for it, and whatever leaves the gate says None.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ragguard.core.statistics import FloatArray

Direction = Literal["higher", "lower"]
Aggregate = Literal["mean", "p50", "p95"]
Fresh = tuple[float | None, ...]


def to_array(values: Sequence[float | None] | FloatArray) -> FloatArray:
    """Turns scores, None where missing, into an array of shape (n,)."""
    return np.asarray(values, dtype=np.float64).reshape(len(values))


def to_table(rows: Sequence[Sequence[float | None]] | FloatArray) -> FloatArray:
    """Turns rows of equal length, None where missing, into an array of shape (n, m)."""
    width = len(rows[0]) if len(rows) else 0
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), width)


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricEvidence:
    """One metric, candidate against baseline.

    Attributes:
        direction: Which way is better.
        aggregate: What is compared: `mean` of fractions, or a percentile of latency or cost (gated as a relative rise).
        ids: The pairs: samples that both sides have, with the same question and reference, and to which the metric
            applies on the baseline's side.
        candidate: Look-1 score of each pair, shape (n,); NaN where it could not be scored.
        baseline: Scores of each pair in the stored runs, newest first, shape (n, m).
        clusters: For each pair what it shares with others, such as a document; None where pairs are independent.
        look: Looks done so far; its fresh judgments are in the two `fresh_*`.
        fresh_candidate: By id, judgments of the candidate's answer in looks 2 and 3, in the order of their repeats.
        fresh_baseline: By id and anchor (newest first), judgments of that anchor's answer in looks 2 and 3.
        look_blocked: Why no further look can be made, such as "answers are not stored"; None where one can.
        candidate_values: All scored values of the candidate, unpaired samples included.
        n_failed: Samples of the candidate that could not be scored.
        n_not_applicable: Samples that the metric does not apply to.
        n_selected: Samples that the run selected.
        n_baseline_ids: Ids that the baseline has for this metric under this run's budget, tags and shard;
            0 where there is no baseline yet.
        not_comparable: What differs, where it cannot be mended.
    """

    metric: str
    direction: Direction = "higher"
    aggregate: Aggregate = "mean"
    ids: tuple[str, ...] = ()
    candidate: FloatArray = field(default_factory=lambda: np.empty(0))
    baseline: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    clusters: tuple[str, ...] | None = None
    look: int = 1
    fresh_candidate: Mapping[str, Fresh] = field(default_factory=dict)
    fresh_baseline: Mapping[str, tuple[Fresh, ...]] = field(default_factory=dict)
    look_blocked: str | None = None
    candidate_values: FloatArray = field(default_factory=lambda: np.empty(0))
    n_failed: int = 0
    n_not_applicable: int = 0
    n_selected: int = 0
    n_baseline_ids: int = 0
    not_comparable: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError where the parts do not fit together."""
        n = len(self.ids)
        if self.candidate.shape != (n,) or self.baseline.shape[:1] != (n,) or self.baseline.ndim != 2:
            raise ValueError(f"{self.metric}: candidate and baseline need one row for each of the {n} ids")
        if self.clusters is not None and len(self.clusters) != n:
            raise ValueError(f"{self.metric}: clusters need one entry for each of the {n} ids")
        if self.look < 1:
            raise ValueError(f"{self.metric}: look counts from 1")

    def looked_again(self, candidate: Mapping[str, Fresh], baseline: Mapping[str, tuple[Fresh, ...]]) -> MetricEvidence:
        """Returns the evidence with one more look; its judgments are pooled behind those of earlier looks.

        Args:
            candidate: By id, this look's scores of the candidate's answer, None where one could not be scored; the ids
                and numbers of repeats are those that were asked for.
            baseline: By id, for each anchor, this look's scores of its answer.
        """
        return replace(
            self,
            look=self.look + 1,
            fresh_candidate={
                **self.fresh_candidate,
                **{id_: self.fresh_candidate.get(id_, ()) + new for id_, new in candidate.items()},
            },
            fresh_baseline={
                **self.fresh_baseline,
                **{id_: _append(self.fresh_baseline.get(id_), new) for id_, new in baseline.items()},
            },
        )


def _append(old: tuple[Fresh, ...] | None, new: tuple[Fresh, ...]) -> tuple[Fresh, ...]:
    if old is None:
        return new
    return tuple(before + after for before, after in zip(old, new, strict=True))


class EvidenceBuilder:
    """Collects one metric's evidence from streamed results, eight bytes a score.

    Args:
        metric: The metric's id.
        runs: How many stored baseline runs there are (m); 0 where there is none yet.
    """

    def __init__(
        self, metric: str, *, runs: int, direction: Direction = "higher", aggregate: Aggregate = "mean"
    ) -> None:
        self._metric = metric
        self._direction: Direction = direction
        self._aggregate: Aggregate = aggregate
        self._runs = runs
        self._ids: list[str] = []
        self._clusters: list[str | None] = []
        self._candidate = array("d")
        self._baseline = array("d")
        self._values = array("d")
        self._failed = self._not_applicable = self._selected = 0

    def add(
        self,
        sample_id: str,
        status: Literal["scored", "failed", "not_applicable"],
        value: float | None,
        baseline: Sequence[float | None] | None = None,
        cluster: str | None = None,
    ) -> None:
        """Adds one sample of the candidate.

        Args:
            sample_id: The sample's id.
            status: The score's status.
            value: The score; None unless scored.
            baseline: The stored runs' scores, newest first, None where missing; None for a sample that is not paired
                (added, changed) or that no stored run has a score of.
            cluster: What the sample shares with others.

        Raises:
            ValueError: `baseline` is not as long as there are runs.
        """
        self._selected += 1
        self._failed += status == "failed"
        self._not_applicable += status == "not_applicable"
        scored = value if status == "scored" else None
        if scored is not None:
            self._values.append(scored)
        if baseline is None:
            return
        if len(baseline) != self._runs:
            raise ValueError(f"{self._metric}: {len(baseline)} baseline scores for {self._runs} runs")
        self._ids.append(sample_id)
        self._clusters.append(cluster)
        self._candidate.append(_or_nan(scored))
        self._baseline.extend(map(_or_nan, baseline))

    def build(
        self, *, n_baseline_ids: int, not_comparable: str | None = None, look_blocked: str | None = None
    ) -> MetricEvidence:
        """Returns the evidence after look 1; see `MetricEvidence` for the arguments."""
        clustered = len(self._clusters) > 0 and all(cluster is not None for cluster in self._clusters)
        return MetricEvidence(
            metric=self._metric,
            direction=self._direction,
            aggregate=self._aggregate,
            ids=tuple(self._ids),
            candidate=np.array(self._candidate),
            baseline=np.array(self._baseline).reshape(len(self._ids), self._runs),
            clusters=tuple(str(cluster) for cluster in self._clusters) if clustered else None,
            look_blocked=look_blocked,
            candidate_values=np.array(self._values),
            n_failed=self._failed,
            n_not_applicable=self._not_applicable,
            n_selected=self._selected,
            n_baseline_ids=n_baseline_ids,
            not_comparable=not_comparable,
        )


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value

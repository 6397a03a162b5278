"""One metric's drop at one look: which judgments count, the mean difference, its standard error and its worst case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragguard.core.decisions import LookPlan
from ragguard.core.evidence import Fresh, MetricEvidence
from ragguard.core.statistics import (
    SLACK,
    FloatArray,
    StandardError,
    cluster_se,
    drop_p_value,
    mean,
    one_sided_bounds,
    paired_se,
    pooled_variance,
    row_means,
    runs_se,
)

MAX_ANCHORS = 3
CANDIDATE_REPEATS = 2


@dataclass(frozen=True, slots=True)
class Measurement:
    """A drop and what is known about it; None where it is unknown.

    Attributes:
        drop: D over the scored pairs, positive is worse.
        drop_worst: D over all pairs, each that could not be scored taken at the worst score there is.
        error: Standard error and degrees of freedom.
        low: One-sided 95 % lower bound of the drop.
        high: One-sided 95 % upper bound of the drop.
        n: Scored pairs.
        n_unscored: Pairs that could not be scored at this look.
    """

    look: int
    drop: float | None
    drop_worst: float | None
    error: StandardError | None
    method: Literal["paired", "runs"]
    p_value: float | None
    low: float | None
    high: float | None
    n: int
    n_unscored: int


@dataclass(frozen=True, slots=True)
class Sides:
    """Each pair's two scores at one look, as far as that look has them.

    Attributes:
        drops: Shape (n,), positive is worse; NaN where unscored.
        baseline: Shape (n,), what the drop is counted from.
        candidate: Shape (n,); NaN where unscored.
    """

    drops: FloatArray
    baseline: FloatArray
    candidate: FloatArray


class Pairs:
    """The pairs of one metric's evidence that the baseline has a score of.

    Attributes:
        m: Stored baseline runs.
        anchors: The newest of them, which later looks judge again.
    """

    def __init__(self, evidence: MetricEvidence) -> None:
        usable = ~np.isnan(evidence.baseline).all(axis=1) if evidence.baseline.size else np.zeros(0, dtype=bool)
        self._evidence = evidence
        self._sign = 1.0 if evidence.direction == "higher" else -1.0
        self._worst_score = 0.0 if evidence.direction == "higher" else 1.0
        self.rows: npt.NDArray[np.intp] = np.flatnonzero(usable)
        self.stored: FloatArray = evidence.baseline[self.rows]
        self.candidate: FloatArray = evidence.candidate[self.rows]
        self.m = evidence.baseline.shape[1] if self.rows.size else 0
        self.anchors = min(self.m, MAX_ANCHORS)

    @cached_property
    def baseline_means(self) -> FloatArray:
        """Mean over the stored runs, shape (n,)."""
        return row_means(self.stored)

    @cached_property
    def variance(self) -> tuple[float, int] | None:
        """Pooled run-to-run variance of the stored scores and its degrees of freedom; None where unknown."""
        return pooled_variance(self.stored) if self.m >= 2 else None

    @cached_property
    def differing(self) -> npt.NDArray[np.intp]:
        """X: positions whose look-1 score differs from some anchor's, in either direction."""
        anchors = self.stored[:, : self.anchors]
        differs = np.abs(anchors - self.candidate[:, np.newaxis]) > SLACK
        unknown = np.isnan(anchors).all(axis=1) if self.anchors else np.zeros(0, dtype=bool)
        return np.flatnonzero((differs.any(axis=1) | unknown) & ~np.isnan(self.candidate))

    @property
    def anchor_repeats(self) -> int:
        """Fresh judgments of each anchor's answer at each look."""
        return 2 if self.m == 1 else 1

    @cached_property
    def plan(self) -> LookPlan:
        """What a further look judges."""
        ids = tuple(self._evidence.ids[row] for row in self.rows[self.differing])
        return LookPlan(ids, CANDIDATE_REPEATS, self.anchor_repeats, self.anchors)

    def has_look(self, look: int) -> bool:
        """Whether the evidence of a look is there; nothing to judge counts as judged."""
        return self._evidence.look >= look or self.differing.size == 0

    def sides(self, look: int) -> Sides:
        """The two scores of every pair: stored and first ones at look 1, fresh ones of the differing pairs later on."""
        if look == 1:
            return Sides(self._sign * (self.baseline_means - self.candidate), self.baseline_means, self.candidate)
        where = self.differing
        drops = np.where(np.isnan(self.candidate), np.nan, 0.0)
        baseline, candidate = self.baseline_means.copy(), self.candidate.copy()
        if where.size:
            fresh_candidate, fresh_baseline = self._fresh(look)
            drops[where] = self._sign * (fresh_baseline - fresh_candidate)
            baseline[where] = np.where(np.isnan(fresh_baseline), baseline[where], fresh_baseline)
            candidate[where] = fresh_candidate
        return Sides(drops, baseline, candidate)

    def measure(self, look: int) -> Measurement:
        """Measures the drop at one look, all fresh judgments up to it pooled."""
        sides = self.sides(look)
        scored = ~np.isnan(sides.drops)
        drops = sides.drops[scored]
        drop = mean(drops)
        error, method = self._error(drops, scored, look)
        known = drop is not None and error is not None
        bounds = one_sided_bounds(drop, error) if drop is not None and error is not None else None
        return Measurement(
            look=look,
            drop=drop,
            drop_worst=self._worst_case(sides, scored),
            error=error,
            method=method,
            p_value=drop_p_value(drop, error) if drop is not None and error is not None else None,
            low=bounds.low if known and bounds else None,
            high=bounds.high if known and bounds else None,
            n=int(drops.size),
            n_unscored=int(scored.size - drops.size),
        )

    def _error(
        self, drops: FloatArray, scored: npt.NDArray[np.bool_], look: int
    ) -> tuple[StandardError | None, Literal["paired", "runs"]]:
        if self.variance is not None and drops.size:
            variance, df = self.variance
            return runs_se(variance, df, self.m if look == 1 else self.anchors, int(drops.size)), "runs"
        clusters = self._evidence.clusters
        if clusters is None:
            return paired_se(drops), "paired"
        return cluster_se(drops, [clusters[row] for row in self.rows[scored]]), "paired"

    def _worst_case(self, sides: Sides, scored: npt.NDArray[np.bool_]) -> float | None:
        if scored.size == 0:
            return None
        lost = self._sign * (sides.baseline[~scored] - self._worst_score)
        return math.fsum([*sides.drops[scored].tolist(), *lost.tolist()]) / int(scored.size)

    def _fresh(self, look: int) -> tuple[FloatArray, FloatArray]:
        """Means of the fresh judgments of the differing pairs, of the candidate and over the anchors."""
        ids = [self._evidence.ids[row] for row in self.rows[self.differing]]
        width = CANDIDATE_REPEATS * (look - 1)
        candidate = np.array([_first(self._evidence.fresh_candidate.get(id_), width) for id_ in ids], dtype=np.float64)
        width = self.anchor_repeats * (look - 1)
        baseline = np.array(
            [_first_of_anchors(self._evidence.fresh_baseline.get(id_), self.anchors, width) for id_ in ids],
            dtype=np.float64,
        )
        return row_means(candidate), row_means(row_means(baseline))


def _first(scores: Fresh | None, width: int) -> Sequence[float | None]:
    found = scores or ()
    return found[:width] if len(found) >= width else (*found, *(None,) * (width - len(found)))


def _first_of_anchors(scores: tuple[Fresh, ...] | None, anchors: int, width: int) -> list[Sequence[float | None]]:
    found = scores or ()
    return [_first(found[anchor] if anchor < len(found) else None, width) for anchor in range(anchors)]

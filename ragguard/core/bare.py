"""The bare rule: two aggregates and a tolerance. For `rule: threshold`, and for latency and cost always."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ragguard.core import reasons
from ragguard.core.decisions import MetricDecision
from ragguard.core.evidence import MetricEvidence
from ragguard.core.measurement import Measurement, Pairs
from ragguard.core.policy import GatePolicy
from ragguard.core.runs import Outcome
from ragguard.core.statistics import SLACK, FloatArray, mean

PERCENTILES = {"p50": 0.50, "p95": 0.95}
_NOTHING = 1e-15
"""Seconds or dollars of which no ratio has a meaning."""


@dataclass(frozen=True, slots=True)
class Levels:
    """One aggregate on both sides.

    Attributes:
        worst: The candidate's, with every sample that could not be measured slower or dearer than any; may be infinite.
    """

    candidate: float
    baseline: float
    worst: float


def bare_outcome(drop: float, tolerance: float, *, worst_beyond: bool) -> Outcome:
    """More than the tolerance fails; a pass that unscored samples might undo is inconclusive."""
    if drop > tolerance + SLACK:
        return "failed"
    return "inconclusive" if worst_beyond else "passed"


def decide_mean(
    blank: MetricDecision, evidence: MetricEvidence, measured: Measurement, tolerance: float
) -> MetricDecision:
    """The bare rule on two means, for `rule: threshold`."""
    if measured.drop is None or measured.drop_worst is None:
        return replace(blank, outcome="not_comparable", reason=f"{evidence.metric}: no pair is scored on both sides")
    outcome = bare_outcome(measured.drop, tolerance, worst_beyond=measured.drop_worst > tolerance + SLACK)
    if outcome == "failed":
        reason = f"{reasons.change(evidence.metric, measured.drop, evidence.direction)}, more than the tolerance of "
        reason += reasons.points(tolerance)
    elif outcome == "inconclusive":
        reason = reasons.unscored(evidence, measured, tolerance)
    else:
        reason = reasons.passed(evidence, measured, tolerance, small_real_drop=False)
    return replace(
        blank,
        outcome=outcome,
        reason=reason,
        drop=measured.drop,
        drop_worst=measured.drop_worst,
        method="threshold",
        tolerance=tolerance,
        n_pairs=measured.n,
        n_unscored_pairs=measured.n_unscored,
        beyond=outcome == "failed",
    )


def decide_percentile(
    blank: MetricDecision, evidence: MetricEvidence, policy: GatePolicy, pairs: Pairs
) -> MetricDecision:
    """The bare rule on a percentile of latency or cost: a rise relative to the baseline."""
    tolerance, relative = policy.tolerance_of(evidence.metric, evidence.aggregate)
    levels = _levels(evidence, pairs)
    blank = replace(blank, method="threshold", tolerance=tolerance)
    if levels is None:
        return replace(blank, outcome="not_comparable", reason=f"{evidence.metric}: no pair is measured on both sides")
    n_unscored = int(np.isnan(pairs.candidate).sum())
    blank = replace(
        blank,
        baseline_mean=levels.baseline,
        n_pairs=int(pairs.candidate.size) - n_unscored,
        n_unscored_pairs=n_unscored,
    )
    scale = levels.baseline if relative else 1.0
    if scale <= _NOTHING:
        return _without_scale(blank, levels)
    sign = 1.0 if evidence.direction == "lower" else -1.0
    drop = sign * (levels.candidate - levels.baseline) / scale
    worst = sign * (levels.worst - levels.baseline) / scale
    outcome = bare_outcome(drop, tolerance, worst_beyond=worst > tolerance + SLACK)
    return replace(
        blank,
        outcome=outcome,
        reason=reasons.ratio(evidence.metric, evidence.aggregate, drop, tolerance, relative=relative, outcome=outcome),
        drop=drop,
        drop_worst=worst if math.isfinite(worst) else None,
        beyond=outcome == "failed",
    )


def aggregate(values: FloatArray, name: str) -> float | None:
    """Mean or percentile (linear between order statistics) of the values; None for none."""
    if name == "mean" or values.size == 0:
        return mean(values)
    return float(np.quantile(values, PERCENTILES[name]))


def _without_scale(blank: MetricDecision, levels: Levels) -> MetricDecision:
    if levels.candidate <= levels.baseline:
        return replace(blank, outcome="passed", reason=f"{blank.metric} is 0, as in the baseline", drop=0.0)
    return replace(
        blank,
        outcome="not_comparable",
        reason=f"{blank.metric} was 0 in the baseline and is {levels.candidate:.4g} now: a relative rise has no "
        "meaning; set its tolerance with relative: false",
    )


def _levels(evidence: MetricEvidence, pairs: Pairs) -> Levels | None:
    scored = ~np.isnan(pairs.candidate)
    candidate = aggregate(pairs.candidate[scored], evidence.aggregate)
    runs = [column[~np.isnan(column)] for column in pairs.stored[scored].T]
    baselines = [level for level in (aggregate(run, evidence.aggregate) for run in runs) if level is not None]
    if candidate is None or not baselines:
        return None
    worst = candidate
    if not scored.all():
        unlucky = math.inf if evidence.direction == "lower" else 0.0
        ordered = np.sort(np.where(scored, pairs.candidate, unlucky))
        share = PERCENTILES[evidence.aggregate]
        worst = float(ordered[math.ceil(share * (ordered.size - 1) - SLACK)])
    return Levels(candidate, math.fsum(baselines) / len(baselines), worst)

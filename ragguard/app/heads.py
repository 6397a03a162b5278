"""Writes the head of a run: the decision, the numbers and the facts, as run.json holds them."""

from __future__ import annotations

from collections.abc import Mapping

from ragguard.core.decisions import Decision, MetricDecision
from ragguard.core.metrics.base import Metric
from ragguard.core.policy import GatePolicy
from ragguard.core.runs import MetricSummary


def summaries(
    decision: Decision, metrics: Mapping[str, Metric | MetricSummary], policy: GatePolicy
) -> dict[str, MetricSummary]:
    """One summary for each metric of the decision, in its order.

    Args:
        decision: The gate's decision.
        metrics: By id, the configured metrics, or their summaries in a saved run.
        policy: The gate's settings.
    """
    return {name: _summary(found, metrics.get(name), policy) for name, found in decision.metrics.items()}


def _summary(found: MetricDecision, metric: Metric | MetricSummary | None, policy: GatePolicy) -> MetricSummary:
    aggregate = metric.aggregate if metric is not None else "mean"
    return MetricSummary(
        unit=metric.unit if metric is not None else "fraction",
        direction=metric.direction if metric is not None else "higher",
        aggregate=aggregate,
        mean=found.mean,
        baseline_mean=found.baseline_mean,
        delta=found.delta,
        ci_low=found.ci_low,
        ci_high=found.ci_high,
        p_value=found.p_value,
        mdd=found.mdd,
        samples_to_halve_mdd=found.samples_to_halve_mdd,
        mdd_of_three_runs=found.mdd_of_three_runs,
        tolerance=found.tolerance,
        tolerance_relative=policy.tolerance_of(found.metric, aggregate)[1],
        slo_min=policy.slo_minima.get(found.metric),
        n_scored=found.n_scored,
        n_failed=found.n_failed,
        n_not_applicable=found.n_not_applicable,
        n_pairs=found.n_pairs,
        look=found.look,
        m=found.m,
        outcome=found.outcome,
        reason=found.reason,
    )


def coverage(decision: Decision) -> float:
    """The least share of samples that any metric could score, of those it applies to; 0 where nothing was scored."""
    shares = [
        found.n_scored / (found.n_scored + found.n_failed)
        for found in decision.metrics.values()
        if found.n_scored + found.n_failed
    ]
    return min(shares, default=0.0)

"""From a settled metric to its decision: numbers, power, floor and plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ragguard.core import reasons
from ragguard.core.decisions import MetricDecision, worst
from ragguard.core.evidence import MetricEvidence
from ragguard.core.measurement import MAX_ANCHORS, Measurement, Pairs
from ragguard.core.policy import GatePolicy
from ragguard.core.slo import judge_slo
from ragguard.core.statistics import SLACK, minimal_detectable_drop, runs_se, samples_to_halve

Verdict = Literal["pass", "fail", "inconclusive", "again"]


@dataclass(slots=True)
class StagedMetric:
    """A metric on its way through the looks."""

    evidence: MetricEvidence
    pairs: Pairs
    tolerance: float
    blank: MetricDecision
    measured: list[Measurement] = field(default_factory=list)
    p_holm: float | None = None
    verdict: Verdict = "again"
    blocked: str | None = None

    @property
    def last(self) -> Measurement:
        """The latest look's numbers."""
        return self.measured[-1]


def conclude(metric: StagedMetric, policy: GatePolicy, family: int) -> MetricDecision:
    """Writes down a settled metric."""
    last, evidence, pairs, tolerance = metric.last, metric.evidence, metric.pairs, metric.tolerance
    passed = metric.verdict == "pass"
    guarded = last.look > 1 or policy.looks == 1
    real = last.drop is not None and last.drop > SLACK and metric.p_holm is not None
    small_real_drop = passed and guarded and real and (metric.p_holm or 0.0) <= policy.look_alpha
    decision = replace(
        metric.blank,
        outcome={"pass": "warned" if small_real_drop else "passed", "fail": "failed"}.get(
            metric.verdict, "inconclusive"
        ),
        reason=_reason(metric, small_real_drop=small_real_drop),
        drop=last.drop,
        ci_low=None if last.high is None else -last.high,
        ci_high=None if last.low is None else -last.low,
        p_value=last.p_value,
        p_holm=metric.p_holm,
        method=last.method,
        drop_worst=last.drop_worst,
        tolerance=tolerance,
        n_pairs=last.n,
        n_unscored_pairs=last.n_unscored,
        look=last.look,
        small_real_drop=small_real_drop,
        proven=last.high is not None and last.high <= tolerance + SLACK,
        beyond=_beyond(metric),
    )
    decision = _with_power(decision, last, pairs, policy, family)
    return _lost_in_look(decision, evidence, last, policy)


def _beyond(metric: StagedMetric) -> bool:
    """Whether the suspicion is of a drop beyond the tolerance: now, or at look 1 where a later look lost samples."""
    first, last, limit = metric.measured[0], metric.last, metric.tolerance + SLACK
    if last.drop is None or last.drop > limit:
        return True
    return last.n_unscored > first.n_unscored and first.drop is not None and first.drop > limit


def _with_power(
    decision: MetricDecision, measured: Measurement, pairs: Pairs, policy: GatePolicy, family: int
) -> MetricDecision:
    if measured.error is None or decision.tolerance is None:
        return decision
    se, df = measured.error
    setting = (decision.tolerance, policy.alpha, policy.looks, family)
    # With one run the pairs' variance is twice the run-to-run variance, and more where the change differs by sample.
    variance = pairs.variance[0] if pairs.variance is not None else se**2 * measured.n / 2
    with_three = minimal_detectable_drop(runs_se(variance, df, MAX_ANCHORS, measured.n).se, *setting)
    return replace(
        decision,
        se=se,
        df=df,
        mdd=minimal_detectable_drop(se, *setting),
        samples_to_halve_mdd=samples_to_halve(measured.n, se, *setting),
        mdd_of_three_runs=with_three if pairs.m < MAX_ANCHORS else None,
    )


def _lost_in_look(
    decision: MetricDecision, evidence: MetricEvidence, measured: Measurement, policy: GatePolicy
) -> MetricDecision:
    """A look that lost too many samples says nothing, whatever the rest says."""
    coverage = measured.n / (measured.n + measured.n_unscored)
    if measured.look == 1 or coverage >= policy.min_coverage - SLACK:
        return decision
    reason = reasons.lost_in_look(evidence, measured, coverage, policy)
    return replace(decision, outcome="error", reason=reason, error="outside", small_real_drop=False)


def _reason(metric: StagedMetric, *, small_real_drop: bool) -> str:
    last, evidence, tolerance = metric.last, metric.evidence, metric.tolerance
    if metric.verdict == "fail":
        return reasons.failed(evidence, last, tolerance, int(metric.pairs.differing.size), metric.pairs.m)
    if metric.verdict == "pass":
        return reasons.passed(evidence, last, tolerance, small_real_drop=small_real_drop)
    hidden = last.drop_worst is not None and last.drop_worst > tolerance + SLACK
    if metric.blocked is None and last.n_unscored and hidden and last.drop is not None and not _beyond(metric):
        return reasons.unscored(evidence, last, tolerance)
    return reasons.inconclusive(evidence, last, tolerance, metric.blocked)


def with_slo(decision: MetricDecision, evidence: MetricEvidence, policy: GatePolicy, pairs: Pairs) -> MetricDecision:
    """Adds the verdict on the metric's floor; it holds whatever the comparison says."""
    floor = policy.slo_minima.get(evidence.metric)
    if floor is None or evidence.aggregate != "mean" or evidence.direction == "lower":
        return decision
    variance = pairs.variance[0] if pairs.variance is not None else None
    verdict = judge_slo(evidence.candidate_values, evidence.n_failed, variance, floor)
    if verdict is None:
        return decision
    outcome = worst(decision.outcome, verdict.outcome)
    reason = (
        decision.reason
        if verdict.outcome == "passed"
        else f"{reasons.slo(evidence.metric, verdict)}; {decision.reason}"
    )
    return replace(decision, outcome=outcome, reason=reason, slo=verdict, beyond=decision.beyond or verdict.below)


def notes(metrics: Mapping[str, MetricDecision], policy: GatePolicy, *, any_staged: bool) -> tuple[str, ...]:
    """What a reader should know besides the outcomes."""
    found = []
    if any_staged and policy.looks == 1:
        found.append(reasons.SINGLE_LOOK_NOTE)
    bare = [name for name, metric in metrics.items() if metric.slo is not None and metric.slo.sigma is None]
    if bare:
        found.append(
            f"SLO of {', '.join(bare)}: compared without a noise band, which needs two baseline runs whose "
            "answers the app generated anew"
        )
    return tuple(found)

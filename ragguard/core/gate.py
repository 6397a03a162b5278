"""The gate: from evidence to a decision, or to the wish to look again. Pure.

The rule for a metric that is a mean of fractions, `rule: staged`:

- Look 1 compares the run with the mean of the stored baseline runs. A drop of at most half the tolerance passes;
  anything else is looked at again and never fails on one look, because a judge drifts between sessions.
- Looks 2 and 3 judge both sides afresh in one session, and only those samples whose first scores differ, in either
  direction. Stored and first scores play no part in the drop any more.
- A drop fails when it is beyond the tolerance and significant at its share of alpha, Holm-adjusted over all metrics.

`step` replays every look from the evidence, whose fresh judgments stand in the order of their looks. So a metric that
was settled at look 2 is settled by the same numbers while others go on to look 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ragguard.core import reasons
from ragguard.core.bare import aggregate, decide_mean, decide_percentile
from ragguard.core.conclusion import StagedMetric, Verdict, conclude, notes, with_slo
from ragguard.core.decisions import Decision, LookRequest, MetricDecision, decide
from ragguard.core.evidence import MetricEvidence
from ragguard.core.measurement import Measurement, Pairs
from ragguard.core.policy import GatePolicy
from ragguard.core.screening import applies, screen
from ragguard.core.statistics import SLACK, holm


def step(evidence: Mapping[str, MetricEvidence], policy: GatePolicy) -> Decision | LookRequest:
    """Judges a run, or asks for another look at some of its metrics.

    Args:
        evidence: By metric id. After a `LookRequest`, call again with that look's judgments pooled in
            (`MetricEvidence.looked_again`) or with `look_blocked` saying why there are none.
        policy: The gate's settings.

    Returns:
        A decision, or a request for look 2 or 3.
    """
    settled: dict[str, MetricDecision] = {}
    staged: dict[str, StagedMetric] = {}
    for name, found in evidence.items():
        pairs = Pairs(found)
        blank = _blank(found, pairs)
        others_apply = any(applies(other) for other in evidence.values())
        outside = _decide_without_looks(blank, found, policy, pairs, others_apply=others_apply)
        if outside is not None:
            settled[name] = with_slo(outside, found, policy, pairs)
        else:
            staged[name] = StagedMetric(found, pairs, _points_of_tolerance(blank, found, policy), blank)
    settled |= _missing_slo_metrics(evidence, policy)
    futile = any(metric.outcome == "error" for metric in settled.values())
    request = _replay(staged, policy, futile=futile)
    if request is not None:
        return request
    for name, metric in staged.items():
        decision = conclude(metric, policy, family=len(staged))
        settled[name] = with_slo(decision, metric.evidence, policy, metric.pairs)
    ordered = {name: settled[name] for name in (*evidence, *(name for name in settled if name not in evidence))}
    return decide(ordered, notes(ordered, policy, any_staged=bool(staged)))


def judge_look(measured: Measurement, p_holm: float, tolerance: float, policy: GatePolicy) -> Verdict:
    """Judges one metric at one look of the staged rule.

    Args:
        measured: The drop at this look.
        p_holm: Its p-value, adjusted over the family.
        tolerance: In points of [0, 1].
        policy: Looks and alpha.
    """
    look, final = measured.look, measured.look >= policy.looks
    drop = measured.drop
    if drop is None:
        return "inconclusive"
    noisy = measured.error is None or measured.error.se > 0
    cleared = drop <= tolerance / 2 + SLACK
    if measured.n < reasons.MIN_SAMPLES and noisy and not (look == 1 and cleared):
        return "inconclusive"
    may_fail = look > 1 or final
    if may_fail and drop > tolerance + SLACK and p_holm <= policy.look_alpha:
        return "fail"
    if cleared or (final and drop <= tolerance + SLACK):
        hidden = measured.drop_worst is not None and measured.drop_worst > tolerance + SLACK
        return "inconclusive" if hidden else "pass"
    return "inconclusive" if final else "again"


def _replay(staged: Mapping[str, StagedMetric], policy: GatePolicy, *, futile: bool) -> LookRequest | None:
    """Takes every metric through the looks that it has; returns the look that is still needed."""
    for look in range(1, policy.looks + 1):
        active = {name: metric for name, metric in staged.items() if metric.verdict == "again"}
        lacking = {name: metric for name, metric in active.items() if not metric.pairs.has_look(look)}
        for metric in lacking.values():
            metric.blocked = metric.evidence.look_blocked or ("the run has an error as it is" if futile else None)
            if metric.blocked is not None:
                metric.verdict = "inconclusive"
        wanted = {name: metric for name, metric in lacking.items() if metric.blocked is None}
        if wanted:
            return LookRequest(
                look,
                {name: metric.pairs.plan for name, metric in wanted.items()},
                tuple(
                    reasons.look_again(metric.evidence, metric.last, metric.tolerance, metric.pairs.differing.size)
                    for metric in wanted.values()
                ),
            )
        _judge_all({name: metric for name, metric in active.items() if name not in lacking}, staged, policy, look)
    return None


def _judge_all(
    active: Mapping[str, StagedMetric], staged: Mapping[str, StagedMetric], policy: GatePolicy, look: int
) -> None:
    """One look at the metrics that are still open; those that passed earlier stay in the family with p = 1."""
    for metric in active.values():
        metric.measured.append(metric.pairs.measure(look))
    family = {
        name: metric.last.p_value
        if metric.last.p_value is not None and (name in active or metric.verdict == "fail")
        else 1.0
        for name, metric in staged.items()
    }
    adjusted = holm(family)
    for name, metric in active.items():
        metric.p_holm = adjusted[name]
        metric.verdict = judge_look(metric.last, adjusted[name], metric.tolerance, policy)


def _blank(evidence: MetricEvidence, pairs: Pairs) -> MetricDecision:
    scored = ~np.isnan(pairs.candidate)
    return MetricDecision(
        metric=evidence.metric,
        outcome="passed",
        reason="",
        n_scored=int(evidence.candidate_values.size),
        n_failed=evidence.n_failed,
        n_not_applicable=evidence.n_not_applicable,
        m=pairs.m,
        n_differ=int(pairs.differing.size),
        mean=aggregate(evidence.candidate_values, evidence.aggregate),
        baseline_mean=aggregate(pairs.baseline_means[scored], evidence.aggregate),
    )


def _decide_without_looks(
    blank: MetricDecision, evidence: MetricEvidence, policy: GatePolicy, pairs: Pairs, *, others_apply: bool
) -> MetricDecision | None:
    screened = screen(evidence, policy, pairs, others_apply=others_apply)
    if screened is not None:
        return replace(
            blank,
            outcome=screened.outcome,
            reason=screened.reason,
            error=screened.error,
            no_baseline=screened.no_baseline,
        )
    if evidence.aggregate != "mean":
        return decide_percentile(blank, evidence, policy, pairs)
    if policy.rule == "threshold":
        return decide_mean(blank, evidence, pairs.measure(1), _points_of_tolerance(blank, evidence, policy))
    return None


def _points_of_tolerance(blank: MetricDecision, evidence: MetricEvidence, policy: GatePolicy) -> float:
    tolerance, relative = policy.tolerance_of(evidence.metric, evidence.aggregate)
    return tolerance * (blank.baseline_mean or 0.0) if relative else tolerance


def _missing_slo_metrics(evidence: Mapping[str, MetricEvidence], policy: GatePolicy) -> dict[str, MetricDecision]:
    """A floor under a metric that the run does not have is never silently kept."""
    return {
        name: MetricDecision(
            metric=name,
            outcome="error",
            reason=f"slo: the run has no metric {name}; is it renamed, or missing in metrics?",
            error="input",
        )
        for name in policy.slo_minima
        if name not in evidence
    }

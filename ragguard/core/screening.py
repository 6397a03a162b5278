"""What keeps a metric from being compared at all: too little scored, or nothing fit to compare with."""

from __future__ import annotations

from dataclasses import dataclass

from ragguard.core import reasons
from ragguard.core.decisions import ErrorKind
from ragguard.core.evidence import MetricEvidence
from ragguard.core.measurement import Pairs
from ragguard.core.policy import GatePolicy
from ragguard.core.runs import Outcome
from ragguard.core.statistics import SLACK


@dataclass(frozen=True, slots=True)
class Screened:
    """Why a metric is not compared."""

    outcome: Outcome
    reason: str
    error: ErrorKind | None = None
    no_baseline: bool = False


def applies(evidence: MetricEvidence) -> bool:
    """Whether a metric applies to any of the run's samples."""
    return evidence.candidate_values.size > 0 or evidence.n_failed > 0


def screen(
    evidence: MetricEvidence, policy: GatePolicy, pairs: Pairs, *, others_apply: bool = False
) -> Screened | None:
    """Returns why a metric cannot be compared, the gravest reason first; None where it can.

    Args:
        evidence: The metric's evidence.
        policy: The gate's settings.
        pairs: Its pairs.
        others_apply: Whether another metric of the run applies to a sample.
    """
    return (
        _nothing_to_judge(evidence, policy, others_apply=others_apply)
        or _too_little_scored(evidence, policy)
        or _no_match(evidence, policy, pairs)
    )


def _nothing_to_judge(evidence: MetricEvidence, policy: GatePolicy, *, others_apply: bool) -> Screened | None:
    name = evidence.metric
    if evidence.n_selected == 0:
        return Screened("error", f"{name}: no sample was selected; check the data set, tags, shard and budget", "input")
    if not applies(evidence):
        # A floor or a baseline that knew the metric would go unchecked: that is never only a warning.
        harmless = others_apply and name not in policy.slo_minima and evidence.n_baseline_ids == 0
        return Screened(
            "warned" if harmless else "error",
            reasons.not_applicable(evidence),
            None if harmless else "input",
        )
    if name in policy.slo_minima and (evidence.direction == "lower" or evidence.aggregate != "mean"):
        return Screened("error", f"slo: a minimum makes no sense for {name}; set its tolerance instead", "input")
    return None


def _too_little_scored(evidence: MetricEvidence, policy: GatePolicy) -> Screened | None:
    scored, failed = int(evidence.candidate_values.size), evidence.n_failed
    coverage = scored / (scored + failed)
    if scored and coverage >= policy.min_coverage - SLACK:
        return None
    return Screened(
        "error",
        f"{evidence.metric}: {reasons.counted(failed, 'sample')} of {scored + failed:,} could not be scored; coverage "
        f"{reasons.percent(coverage)} is under min_coverage ({reasons.percent(policy.min_coverage)})",
        "outside",
    )


def _no_match(evidence: MetricEvidence, policy: GatePolicy, pairs: Pairs) -> Screened | None:
    name = evidence.metric
    if evidence.not_comparable is not None:
        return Screened("not_comparable", f"{name} cannot be compared with the baseline: {evidence.not_comparable}")
    if evidence.n_baseline_ids == 0:
        return Screened("warned", f"{name}: no baseline yet, SLO minima only", no_baseline=True)
    share = pairs.rows.size / evidence.n_baseline_ids
    if pairs.rows.size and share >= policy.min_pair_share - SLACK:
        return None
    return Screened(
        "not_comparable",
        f"{name} cannot be compared with the baseline: only {pairs.rows.size:,} of the baseline's "
        f"{reasons.counted(evidence.n_baseline_ids, 'sample')} ({reasons.percent(share)}) are paired; "
        "the data set changed",
    )

"""Outcomes in plain words: what happened, by how much, against what, and what would mend it."""

from __future__ import annotations

from ragguard.core.decisions import SloVerdict
from ragguard.core.evidence import MetricEvidence
from ragguard.core.measurement import Measurement
from ragguard.core.policy import GatePolicy
from ragguard.core.statistics import SLACK

SINGLE_LOOK_NOTE = "looks: 1 judges once and cannot tell a drop from a judge that drifted since the baseline"


def points(value: float) -> str:
    """A difference of fractions as percentage points."""
    return f"{100 * value:.2f} points"


def percent(value: float) -> str:
    """A share as per cent."""
    return f"{100 * value:.1f} %"


def counted(n: int, noun: str) -> str:
    """A number and its noun."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def differing(n: int, *, now: bool = False) -> str:
    """`the 3 samples that differ were`, as the number wants it."""
    if n == 1:
        return f"the 1 sample that differs {'is' if now else 'was'}"
    return f"the {n:,} samples that differ {'are' if now else 'were'}"


def change(metric: str, drop: float, direction: str) -> str:
    """That a mean fell, rose or stayed."""
    if abs(drop) <= SLACK:
        return f"{metric} did not change"
    fell = (drop > 0) == (direction == "higher")
    return f"{metric} {'fell' if fell else 'rose'} by {points(abs(drop))}"


def failed(evidence: MetricEvidence, measured: Measurement, tolerance: float, n_differ: int, m: int) -> str:
    """A drop beyond the tolerance that held."""
    held = (
        f"and that held when {differing(n_differ)} judged again on both sides" if measured.look > 1 else "judged once"
    )
    chance = f", p = {measured.p_value:.2g}" if measured.p_value is not None else ""
    return (
        f"{change(evidence.metric, measured.drop or 0.0, evidence.direction)}, more than the tolerance of "
        f"{points(tolerance)}, {held} ({counted(measured.n, 'sample')}, {counted(m, 'baseline run')}{chance})"
    )


def passed(evidence: MetricEvidence, measured: Measurement, tolerance: float, *, small_real_drop: bool) -> str:
    """A drop within the tolerance, or none."""
    text = f"{change(evidence.metric, measured.drop or 0.0, evidence.direction)}, within the tolerance of "
    text += points(tolerance)
    return f"{text}; the drop is small but real, more than noise explains" if small_real_drop else text


def unscored(evidence: MetricEvidence, measured: Measurement, tolerance: float) -> str:
    """A pass that the samples that could not be scored might undo."""
    worst = f"up to {points(measured.drop_worst)}" if measured.drop_worst is not None else "more"
    return (
        f"{counted(measured.n_unscored, 'sample')} of {evidence.metric} could not be scored; at worst they hide a drop "
        f"of {worst}, beyond the tolerance of {points(tolerance)}: inconclusive. Run again, or see why they failed"
    )


def inconclusive(evidence: MetricEvidence, measured: Measurement, tolerance: float, blocked: str | None) -> str:
    """A suspicion that could be neither confirmed nor cleared."""
    if measured.drop is None:
        return f"{evidence.metric}: no sample could be judged again; the suspected drop is neither proven nor cleared"
    text = f"{change(evidence.metric, measured.drop, evidence.direction)} (tolerance {points(tolerance)})"
    if blocked is not None:
        return f"{text}, which needed a second look that could not be made: {blocked}"
    if measured.n < MIN_SAMPLES:
        return (
            f"{text}, but {counted(measured.n, 'sample')} are too few to tell it from noise; {MIN_SAMPLES} is the least"
        )
    noise = f" of {points(measured.error.se)}" if measured.error is not None else ""
    return f"{text}, but noise (standard error{noise}) may explain it. More samples or baseline runs make it clear"


MIN_SAMPLES = 20
_MEASURED = {
    "latency": "http and python targets are timed; a command target, or recorded answers, must bring `latency_s` "
    "in each row",
    "cost": "ragguard cannot see what the app pays; it must bring `cost_usd` with each answer",
}


def look_again(evidence: MetricEvidence, measured: Measurement, tolerance: float, n_differ: int) -> str:
    """Why a metric is judged again."""
    return (
        f"{change(evidence.metric, measured.drop or 0.0, evidence.direction)} at look {measured.look}, more than half "
        f"the tolerance of {points(tolerance)}: {differing(n_differ, now=True)} judged again on both "
        "sides"
    )


def not_applicable(evidence: MetricEvidence) -> str:
    """A metric that no sample could be scored in, and what would make it applicable."""
    of, samples = evidence.metric.partition("@")[0], counted(evidence.n_selected, "sample")
    if evidence.aggregate != "mean" and of in _MEASURED:
        return f"{evidence.metric}: no answer of {samples} came with its {of}: {_MEASURED[of]}"
    return (
        f"{evidence.metric}: not applicable to any of {samples}, which lack the fields it needs; add them to the data "
        "set or take the metric out of the config"
    )


def lost_in_look(evidence: MetricEvidence, measured: Measurement, coverage: float, policy: GatePolicy) -> str:
    """A later look that lost too many samples."""
    return (
        f"{evidence.metric}: look {measured.look} could score only {percent(coverage)} of the pairs, less than "
        f"min_coverage ({percent(policy.min_coverage)}): is the judge down?"
    )


def slo(metric: str, verdict: SloVerdict) -> str:
    """A mean against its floor."""
    text = f"{metric} is {percent(verdict.mean)}, its minimum {percent(verdict.floor)}"
    if verdict.outcome == "failed":
        return f"{text}: under the SLO"
    if verdict.outcome == "inconclusive" and verdict.low is not None and verdict.high is not None:
        return f"{text}: too close to tell (noise band {percent(verdict.low)} to {percent(verdict.high)})"
    if verdict.outcome == "inconclusive":
        return f"{text}: the samples that could not be scored might bring it under the SLO"
    return f"{text}: met"


def ratio(metric: str, aggregate: str, drop: float, tolerance: float, *, relative: bool, outcome: str) -> str:
    """A percentile of latency or cost."""
    word = "rose" if drop > 0 else "fell"
    size = percent(abs(drop)) if relative else f"{abs(drop):.4g}"
    limit = percent(tolerance) if relative else f"{tolerance:.4g}"
    text = f"{metric} ({aggregate}) {word} by {size}" if abs(drop) > SLACK else f"{metric} ({aggregate}) did not change"
    if outcome == "inconclusive":
        return f"{text}, but samples that could not be measured might take it beyond the tolerance of {limit}"
    return f"{text}, {'more than' if outcome == 'failed' else 'within'} the tolerance of {limit}"

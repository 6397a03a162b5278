"""What the gate says: a decision with its numbers and its reasons, or the wish to look again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ragguard.core.policy import GatePolicy
from ragguard.core.runs import OUTCOMES, Outcome
from ragguard.errors import ExitCode

ErrorKind = Literal["input", "outside"]
Method = Literal["paired", "runs", "threshold"]
SloOutcome = Literal["passed", "failed", "inconclusive"]


def worst(*outcomes: Outcome) -> Outcome:
    """The worst of some outcomes; `passed` for none."""
    return min(outcomes, key=OUTCOMES.index, default="passed")


@dataclass(frozen=True, slots=True)
class SloVerdict:
    """A metric's mean against its floor.

    Attributes:
        sigma: Standard deviation of one sample's score from run to run; None with fewer than two baseline runs, and
            then the comparison is the bare one.
        low: Lower 95 % bound of the mean; None where sigma is unknown.
        high: Upper 95 % bound of the mean.
        p_breach: Chance of a mean this low or lower if the true one were at the floor.
        below: Whether the mean itself is under the floor, proven or not.
    """

    floor: float
    mean: float
    outcome: SloOutcome
    below: bool
    sigma: float | None = None
    low: float | None = None
    high: float | None = None
    p_breach: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDecision:
    """One metric's outcome and the numbers behind it.

    Drops and tolerances are in points of [0, 1], or shares of the baseline where the tolerance is relative by nature
    (latency, cost). Unknown is None.

    Attributes:
        reason: The outcome in plain words.
        drop: D at the last look, over the pairs; positive is worse.
        ci_low: One-sided 95 % lower bound of `delta`.
        ci_high: One-sided 95 % upper bound of `delta`.
        p_holm: `p_value` adjusted for all metrics of the family.
        method: Where the standard error comes from: the pairs, or the run-to-run variance of the baseline.
        mdd: Minimal detectable drop.
        samples_to_halve_mdd: Samples that would halve it; None where no number would.
        mdd_of_three_runs: What it would be with three baseline runs, the most that are judged again; no number of runs
            halves it, since the candidate's own noise stays. None where there are three.
        drop_worst: D if each sample that could not be scored had the worst score there is.
        n_pairs: Pairs scored on both sides, at the last look.
        n_unscored_pairs: Pairs that could not be scored, at the last look.
        n_differ: Pairs whose look-1 score differs from some anchor's.
        m: Baseline runs compared with.
        look: Looks done.
        mean: The candidate's aggregate over all of its scored samples.
        baseline_mean: The baseline's aggregate at look 1, over the pairs.
        small_real_drop: A drop within the tolerance that is more than noise.
        proven: The whole one-sided interval lies within the tolerance.
        beyond: Whether the drop exceeds the tolerance, or the mean is under its floor, proven or not.
        no_baseline: Whether there was nothing to compare with yet.
        error: For the outcome `error`, whose it is: the user's input or the world outside.
        tolerance: As applied.
    """

    metric: str
    outcome: Outcome
    reason: str
    drop: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    se: float | None = None
    df: int | None = None
    method: Method | None = None
    mdd: float | None = None
    samples_to_halve_mdd: int | None = None
    mdd_of_three_runs: float | None = None
    slo: SloVerdict | None = None
    drop_worst: float | None = None
    tolerance: float | None = None
    n_pairs: int = 0
    n_unscored_pairs: int = 0
    n_differ: int = 0
    n_scored: int = 0
    n_failed: int = 0
    n_not_applicable: int = 0
    m: int = 0
    look: int = 1
    mean: float | None = None
    baseline_mean: float | None = None
    small_real_drop: bool = False
    proven: bool = False
    beyond: bool = False
    no_baseline: bool = False
    error: ErrorKind | None = None

    @property
    def delta(self) -> float | None:
        """The change, negative is worse: minus the drop."""
        return None if self.drop is None else -self.drop

    def exit_code(self, policy: GatePolicy, *, pull_request: bool) -> ExitCode:
        """What this metric alone would let the command exit with."""
        if self.outcome == "error":
            return ExitCode.USER_INPUT if self.error == "input" else ExitCode.OUTSIDE_WORLD
        if self.outcome == "failed":
            return ExitCode.REGRESSION
        blocks = (
            (self.outcome == "inconclusive" and self.beyond and policy.on_inconclusive == "fail")
            or (self.outcome == "not_comparable" and pull_request and policy.on_not_comparable == "fail")
            or (self.no_baseline and policy.on_no_baseline == "fail")
        )
        return ExitCode.INCONCLUSIVE if blocks else ExitCode.OK


_WORST_EXIT_FIRST = (
    ExitCode.OUTSIDE_WORLD,
    ExitCode.USER_INPUT,
    ExitCode.REGRESSION,
    ExitCode.INCONCLUSIVE,
    ExitCode.OK,
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's last word on a run.

    Attributes:
        outcome: The worst of the metrics' outcomes.
        reasons: Plain words for all that is not simply passed, the worst first.
        notes: What a reader should know besides, such as what a single look cannot guard against.
        pinned: The decision against the pinned run, where there was one; already part of `outcome`.
        pinned_run_id: That run.
    """

    metrics: Mapping[str, MetricDecision]
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pinned: Decision | None = None
    pinned_run_id: str | None = None

    def exit_code(self, policy: GatePolicy, *, pull_request: bool) -> ExitCode:
        """Returns 0, 1, 2, 3 or 4; where metrics disagree, the worst: 4, 2, 1, 3, 0."""
        codes = {metric.exit_code(policy, pull_request=pull_request) for metric in self.metrics.values()}
        if self.pinned is not None:
            codes.add(self.pinned.exit_code(policy, pull_request=pull_request))
        if not self.metrics:
            codes.add(ExitCode.USER_INPUT)
        return next(code for code in _WORST_EXIT_FIRST if code in codes)


@dataclass(frozen=True, slots=True)
class LookPlan:
    """What one metric needs to have judged again.

    Attributes:
        ids: Samples that differ from a baseline run.
        candidate_repeats: Fresh judgments of the candidate's answer to each.
        anchor_repeats: Fresh judgments of each anchor's answer to each.
        anchors: How many of the newest stored runs are anchors.
    """

    ids: tuple[str, ...]
    candidate_repeats: int
    anchor_repeats: int
    anchors: int


@dataclass(frozen=True, slots=True)
class LookRequest:
    """The wish to look again, in one session, both sides interleaved.

    Attributes:
        look: 2 or 3.
        metrics: By metric, what to judge.
        reasons: Plain words for why, one for each metric.
    """

    look: int
    metrics: Mapping[str, LookPlan]
    reasons: tuple[str, ...] = field(default=())


def decide(metrics: Mapping[str, MetricDecision], notes: tuple[str, ...] = ()) -> Decision:
    """Draws the metrics' decisions together; a run without any metric is an error."""
    if not metrics:
        return Decision({}, "error", ("no metric was evaluated: the gate has nothing to judge",), notes)
    ordered = sorted(metrics.values(), key=lambda metric: OUTCOMES.index(metric.outcome))
    first_run = [metric for metric in ordered if metric.no_baseline and metric.outcome == "warned"]
    told = [metric.reason for metric in ordered if metric.outcome != "passed" and metric not in first_run]
    if len(first_run) > 1:
        told.append(f"no baseline yet for {', '.join(metric.metric for metric in first_run)}: SLO minima only")
    else:
        told += [metric.reason for metric in first_run]
    reasons = tuple(told)
    return Decision(dict(metrics), worst(*(metric.outcome for metric in ordered)), reasons, notes)


def merge_decisions(decision: Decision, pinned: Decision, run_id: str | None = None) -> Decision:
    """Joins the decision against the last runs with the one against the pinned run: the worst outcome holds."""
    said = set(decision.reasons)
    reasons = tuple(f"against the pinned run: {reason}" for reason in pinned.reasons if reason not in said)
    return replace(
        decision,
        outcome=worst(decision.outcome, pinned.outcome),
        reasons=decision.reasons + reasons,
        pinned=pinned,
        pinned_run_id=run_id,
    )

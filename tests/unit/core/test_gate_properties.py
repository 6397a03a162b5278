"""What must hold for any evidence: properties of the gate, searched by hypothesis."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.core.decisions import Decision, LookRequest, merge_decisions
from ragguard.core.evidence import MetricEvidence
from ragguard.core.gate import judge_look, step
from ragguard.core.measurement import Pairs
from ragguard.core.policy import GatePolicy
from ragguard.core.regressions import regressed_samples
from ragguard.core.runs import OUTCOMES
from tests.unit.core.gate_cases import evidence, repeat_looks

QUICK = settings(max_examples=100, deadline=None)
SCORES = [0.0, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 0.9, 1.0]
scores = st.sampled_from(SCORES)
policies = st.builds(
    GatePolicy,
    rule=st.sampled_from(["staged", "threshold"]),
    looks=st.integers(1, 3),
    regression_tolerance=st.sampled_from([0.0, 0.02, 0.1]),
    slo_minima=st.sampled_from([{}, {"f": 0.5}]),
)


@st.composite
def cases(draw: st.DrawFn, *, judged: int = 3, missing: bool = True) -> MetricEvidence:
    """Any evidence, with as many looks as may be asked for; judgments of later looks are as noisy as can be."""
    n, m = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    loss = draw(st.sampled_from([0.0, 0.02, 0.3])) if missing else 0.0
    repeats, anchor_repeats = 2 * (judged - 1), (2 if m == 1 else 1) * (judged - 1)

    def judgments(times: int) -> tuple[float | None, ...]:
        lost = rng.random(times) < loss
        return tuple(
            None if gone else score for gone, score in zip(lost, rng.choice(SCORES, times).tolist(), strict=True)
        )

    ids = [f"s{row:03}" for row in range(n)]
    return evidence(
        rng.choice(SCORES, (n, m)).tolist(),
        judgments(n),
        metric="f",
        direction=draw(st.sampled_from(["higher", "lower"])),
        look=judged,
        fresh_candidate={id_: judgments(repeats) for id_ in ids} if judged > 1 else {},
        fresh_baseline={id_: tuple(judgments(anchor_repeats) for _ in range(min(m, 3))) for id_ in ids}
        if judged > 1
        else {},
    )


def decided(found: Mapping[str, MetricEvidence], policy: GatePolicy) -> Decision:
    answer = step(found, policy)
    assert isinstance(answer, Decision)
    return answer


def numbers(decision: Decision) -> list[float]:
    metrics = decision.metrics.values()
    values = [value for metric in metrics for value in dataclasses.asdict(metric).values()]
    slo = [value for metric in metrics if metric.slo for value in dataclasses.asdict(metric.slo).values()]
    return [value for value in (*values, *slo) if isinstance(value, float)]


@QUICK
@given(cases(), policies)
def test_no_nan_and_no_infinity_leave_the_gate(found: MetricEvidence, policy: GatePolicy) -> None:
    policy = policy.model_copy(update={"min_coverage": 0.0})
    assert all(math.isfinite(value) for value in numbers(decided({"f": found}, policy)))
    assert all(math.isfinite(sample.drop) for sample in regressed_samples(found).samples)


@QUICK
@given(st.lists(scores, min_size=1, max_size=60), st.integers(1, 5), policies)
def test_equal_runs_never_fail_and_are_never_judged_again(values: list[float], m: int, policy: GatePolicy) -> None:
    policy = policy.model_copy(update={"slo_minima": {}})
    decision = decided({"f": evidence([[value] * m for value in values], values, metric="f")}, policy)
    assert decision.outcome == "passed"
    assert decision.metrics["f"].drop == 0.0


@QUICK
@given(cases(), policies, st.randoms(use_true_random=False))
def test_the_order_of_samples_is_irrelevant(found: MetricEvidence, policy: GatePolicy, random: object) -> None:
    order = list(range(len(found.ids)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = dataclasses.replace(
        found,
        ids=tuple(found.ids[row] for row in order),
        candidate=found.candidate[order],
        baseline=found.baseline[order],
        candidate_values=np.sort(found.candidate_values),
    )
    one, other = decided({"f": found}, policy), decided({"f": shuffled}, policy)
    assert one.outcome == other.outcome
    assert numbers(one) == pytest.approx(numbers(other), rel=1e-9, abs=1e-12)
    assert {sample.id for sample in regressed_samples(found).samples} == {
        sample.id for sample in regressed_samples(shuffled).samples
    }


@QUICK
@given(st.lists(cases(), min_size=1, max_size=4), policies, st.randoms(use_true_random=False))
def test_the_order_of_metrics_is_irrelevant(found: list[MetricEvidence], policy: GatePolicy, random: object) -> None:
    names = {f"metric {index}": dataclasses.replace(one, metric=f"metric {index}") for index, one in enumerate(found)}
    policy = policy.model_copy(update={"slo_minima": {}})
    order = list(names)
    random.shuffle(order)  # type: ignore[attr-defined]
    one, other = decided(names, policy), decided({name: names[name] for name in order}, policy)
    assert one.metrics == other.metrics
    assert one.outcome == other.outcome


@QUICK
@given(cases(), policies)
def test_the_same_evidence_gives_the_same_decision(found: MetricEvidence, policy: GatePolicy) -> None:
    assert step({"f": found}, policy) == step({"f": dataclasses.replace(found)}, policy)


def lose(found: MetricEvidence, lost: set[int]) -> MetricEvidence:
    """The same, but the candidate's scores of some rows could not be had, at any look."""
    candidate = found.candidate.copy()
    candidate[sorted(lost)] = np.nan
    kept = candidate[~np.isnan(candidate)]
    return dataclasses.replace(
        found,
        candidate=candidate,
        candidate_values=kept,
        n_failed=len(found.ids) - kept.size,
        fresh_candidate={
            id_: (None,) * len(fresh) if row in lost else fresh
            for row, (id_, fresh) in enumerate(found.fresh_candidate.items())
        },
    )


@QUICK
@given(st.data(), policies)
def test_a_failed_score_never_clears_a_drop(data: st.DataObject, policy: GatePolicy) -> None:
    """With a judge that repeats itself, losing scores never turns a run that was stopped into one that passes."""
    found = data.draw(cases(judged=1, missing=False))
    lost = data.draw(st.sets(st.integers(0, len(found.ids) - 1), max_size=3))
    policy = policy.model_copy(update={"min_coverage": 0.0})
    before, _, _ = repeat_looks({"f": found}, policy)
    after, _, _ = repeat_looks({"f": lose(found, lost)}, policy)
    if before.metrics["f"].beyond:
        assert after.outcome not in {"passed", "warned"}


@QUICK
@given(st.data(), st.integers(1, 3))
def test_a_failed_score_never_clears_a_drop_at_any_look(data: st.DataObject, look: int) -> None:
    """However noisy the fresh judgments are: what is beyond the tolerance at a look does not pass there by a loss."""
    found = data.draw(cases(missing=False))
    policy = GatePolicy()
    # Scores lost in the look; those lost at look 1 count from the stored baseline, as look 1 does.
    lost = data.draw(st.sets(st.integers(0, len(found.ids) - 1), max_size=3))
    after = lose(found, lost) if look == 1 else dataclasses.replace(lose(found, lost), candidate=found.candidate)
    before_at, after_at = Pairs(found).measure(look), Pairs(after).measure(look)
    assert before_at.drop is not None
    if before_at.drop > policy.regression_tolerance + 1e-9:
        assert judge_look(after_at, 1.0, policy.regression_tolerance, policy) != "pass"


@QUICK
@given(cases(), policies)
def test_more_failed_scores_never_raise_coverage(found: MetricEvidence, policy: GatePolicy) -> None:
    before = decided({"f": found}, policy)
    after = decided({"f": dataclasses.replace(found, n_failed=found.n_failed + 5)}, policy)
    assert OUTCOMES.index(after.outcome) <= OUTCOMES.index(before.outcome)


@QUICK
@given(cases(judged=1, missing=False), policies)
def test_the_gate_ends_within_its_looks(found: MetricEvidence, policy: GatePolicy) -> None:
    decision, _, requests = repeat_looks({"f": found}, policy)
    assert [request.look for request in requests] == list(range(2, len(requests) + 2))
    assert len(requests) < policy.looks
    assert decision.metrics["f"].look <= policy.looks


@QUICK
@given(cases(judged=1, missing=False))
def test_without_noise_the_staged_rule_is_the_bare_rule(found: MetricEvidence) -> None:
    exact = dataclasses.replace(found, baseline=np.repeat(found.baseline[:, :1], 2, axis=1))
    staged, _, _ = repeat_looks({"f": exact}, GatePolicy())
    bare = decided({"f": exact}, GatePolicy(rule="threshold"))
    assert (staged.outcome == "failed") == (bare.outcome == "failed")


@QUICK
@given(cases(judged=1), policies)
def test_a_blocked_look_never_passes_what_a_look_was_asked_for(found: MetricEvidence, policy: GatePolicy) -> None:
    if isinstance(step({"f": found}, policy), LookRequest):
        blocked = decided({"f": dataclasses.replace(found, look_blocked="the budget is spent")}, policy)
        assert OUTCOMES.index(blocked.outcome) <= OUTCOMES.index("inconclusive")


@QUICK
@given(cases(), cases(), policies)
def test_a_pinned_run_never_improves_a_decision(
    last: MetricEvidence, pinned: MetricEvidence, policy: GatePolicy
) -> None:
    one, other = decided({"f": last}, policy), decided({"f": pinned}, policy)
    both = merge_decisions(one, other)
    assert OUTCOMES.index(both.outcome) == min(OUTCOMES.index(one.outcome), OUTCOMES.index(other.outcome))


def test_false_alarms_stay_under_alpha_under_the_null() -> None:
    """With no tolerance to hide behind, the whole rule on three metrics is within alpha; drifting judge included."""
    rng = np.random.default_rng(7)
    policy = GatePolicy(regression_tolerance=0.0)
    runs, alarms = 400, 0
    for _ in range(runs):
        alarms += _clean_run_fails(rng, policy)
    assert alarms / runs <= policy.alpha + 3 * math.sqrt(policy.alpha * (1 - policy.alpha) / runs)


def _clean_run_fails(rng: np.random.Generator, policy: GatePolicy) -> bool:
    found = {}
    for name in ("a", "b", "c"):
        quality = rng.uniform(0.3, 0.8, (40, 1))
        stored = quality + rng.normal(0, 0.1, (40, 3))
        first = quality[:, 0] + rng.normal(-0.02, 0.1, 40)
        fresh = {f"s{row:03}": tuple((quality[row, 0] + rng.normal(0, 0.1, 4)).tolist()) for row in range(40)}
        again = {
            f"s{row:03}": tuple((score,) * 2 for score in (quality[row, 0] + rng.normal(0, 0.1, 3)).tolist())
            for row in range(40)
        }
        found[name] = evidence(
            stored.tolist(), first.tolist(), metric=name, look=3, fresh_candidate=fresh, fresh_baseline=again
        )
    return decided(found, policy).outcome == "failed"

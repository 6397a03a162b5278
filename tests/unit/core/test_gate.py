"""The gate's rule: the shared vectors, and every sentence of it, one case each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ragguard.core.decisions import Decision, LookPlan, LookRequest, MetricDecision, decide, merge_decisions
from ragguard.core.evidence import EvidenceBuilder, MetricEvidence
from ragguard.core.gate import judge_look, step
from ragguard.core.measurement import Pairs
from ragguard.core.policy import GatePolicy, Tolerance
from ragguard.core.slo import judge_slo
from ragguard.core.statistics import holm
from ragguard.errors import ExitCode
from tests.unit.core.gate_cases import VECTORS, evidence, from_vector, policy_of, repeat_looks, vector

EXACT = {"rel": 1e-9, "abs": 1e-12}
VERDICTS = {"PASS": "pass", "FAIL": "fail", "INCONCLUSIVE": "inconclusive", "RERUN": "again"}
STAGED = [case["name"] for case in VECTORS if "cand" in case["input"]]
HOLM = "24_holm_three_metrics_b"


def one(found: MetricEvidence, policy: GatePolicy | None = None) -> MetricDecision:
    answer = step({found.metric: found}, policy or GatePolicy())
    assert isinstance(answer, Decision)
    return answer.metrics[found.metric]


def code(decision: Decision, *, pull_request: bool = True, **policy: Any) -> int:
    return int(decision.exit_code(GatePolicy(**policy), pull_request=pull_request))


def fallen(n: int, total: int, by: float = 1.0) -> list[float]:
    """Candidate scores of which the first n fell from 1."""
    return [1.0 - by] * n + [1.0] * (total - n)


# The vectors


@pytest.mark.parametrize("name", STAGED)
def test_numbers_of_the_vectors(name: str) -> None:
    case, expected = vector(name)["input"], vector(name)["expected"]
    pairs = Pairs(from_vector(case, case["look"]))
    found = pairs.measure(case["look"])
    assert found.error is not None
    numbers = {
        "n": found.n,
        "m": pairs.m,
        "n_differ": pairs.differing.size,
        "D1": pairs.measure(1).drop,
        "D": found.drop,
        "se": found.error.se,
        "df": found.error.df,
        "p": found.p_value,
        "lo95": found.low,
        "hi95": found.high,
        "D_worst": found.drop_worst,
        "n_err": found.n_unscored,
    }
    assert numbers == pytest.approx({key: expected[key] for key in numbers}, **EXACT)
    assert found.method == expected["method"]


@pytest.mark.parametrize("name", STAGED)
def test_verdicts_of_the_vectors(name: str) -> None:
    case, expected = vector(name)["input"], vector(name)["expected"]
    policy = policy_of(case)
    found = Pairs(from_vector(case, case["look"])).measure(case["look"])
    assert found.p_value is not None
    p_holm = holm({"faithfulness": found.p_value})["faithfulness"]
    assert p_holm == pytest.approx(expected["p_holm"], **EXACT)
    assert policy.look_alpha == pytest.approx(expected["alpha_look"], **EXACT)
    assert judge_look(found, p_holm, case["tol"], policy) == VERDICTS[expected["verdict"]]


@pytest.mark.parametrize("name", STAGED)
def test_steps_of_the_vectors(name: str) -> None:
    """The whole gate, which also goes through the earlier looks of the same evidence."""
    case, expected = vector(name)["input"], vector(name)["expected"]
    found = from_vector(case, case["look"])
    answer = step({"faithfulness": found}, policy_of(case))
    if expected["verdict"] == "RERUN":
        assert isinstance(answer, LookRequest)
        assert answer.look == case["look"] + 1
        assert len(answer.metrics["faithfulness"].ids) == expected["n_differ"]
        return
    assert isinstance(answer, Decision)
    metric = answer.metrics["faithfulness"]
    outcomes = {"FAIL": "failed", "PASS": "passed", "INCONCLUSIVE": "inconclusive"}
    if name in {"5_knife_edge_look3", "7_significant_within_tolerance"}:
        assert (metric.outcome, metric.small_real_drop) == ("warned", True)
    else:
        assert metric.outcome == outcomes[expected["verdict"]]
    assert (metric.drop, metric.delta) == pytest.approx((expected["D"], -expected["D"]), **EXACT)
    if name != "10_small_n":  # Settled at look 1 here: too few samples stay too few.
        assert metric.look == case["look"]
        assert (metric.ci_low, metric.ci_high) == pytest.approx((-expected["hi95"], -expected["lo95"]), **EXACT)
        assert (metric.se, metric.df) == pytest.approx((expected["se"], expected["df"]), **EXACT)
        assert (metric.p_value, metric.p_holm) == pytest.approx((expected["p"], expected["p_holm"]), **EXACT)
        assert metric.proven == expected["proven"]


def test_look_1_of_the_vectors_asks_for_more() -> None:
    for case in VECTORS:
        if "look1" in case["expected"]:
            found = from_vector(case["input"], 1)
            assert Pairs(found).measure(1).drop == pytest.approx(case["expected"]["look1"]["D"], **EXACT)
            assert isinstance(step({"faithfulness": found}, policy_of(case["input"])), LookRequest)


def holm_family() -> dict[str, MetricEvidence]:
    case = vector(HOLM)["input"]
    return {name: from_vector({**case, **found}, case["look"], name) for name, found in case["metrics"].items()}


def test_holm_vector() -> None:
    case, expected = vector(HOLM)["input"], vector(HOLM)["expected"]
    answer = step(holm_family(), policy_of(case))
    assert isinstance(answer, Decision)
    for name, numbers in expected.items():
        metric = answer.metrics[name]
        assert metric.outcome == {"FAIL": "failed", "PASS": "passed"}[numbers["verdict"]]
        found = (metric.drop, metric.se, metric.df, metric.p_value, metric.p_holm)
        keys = ("D", "se", "df", "p", "p_holm")
        assert found == pytest.approx(tuple(numbers[key] for key in keys), **EXACT)
    assert answer.outcome == "failed"


@pytest.mark.parametrize("name", ["slo_fail", "slo_pass"])
def test_slo_vectors(name: str) -> None:
    case, expected = vector(name)["input"], vector(name)["expected"]
    scores = {"ones": 1.0, "three_quarters": 0.75, "halves": 0.5, "quarters": 0.25}
    values = np.concatenate([np.full(case.get(key, 0), score) for key, score in scores.items()])
    verdict = judge_slo(values, 0, case["sigma_w"] ** 2, case["floor"])
    assert verdict is not None
    assert verdict.outcome == {"FAIL": "failed", "PASS": "passed"}[expected["verdict"]]
    assert (verdict.mean, verdict.low, verdict.high, verdict.p_breach) == pytest.approx(
        tuple(expected[key] for key in ("mean", "lo95", "hi95", "p_breach")), **EXACT
    )


# Look 1


def test_half_the_tolerance_passes_at_look_1_and_no_more() -> None:
    assert one(evidence([1.0] * 100, fallen(1, 100))).outcome == "passed"
    assert isinstance(step({"f": evidence([1.0] * 100, fallen(11, 100, 0.1))}, GatePolicy()), LookRequest)


def test_look_1_never_fails_while_more_looks_are_allowed() -> None:
    worst = evidence([[1.0, 1.0]] * 100, [0.0] * 100)
    assert isinstance(step({"f": worst}, GatePolicy()), LookRequest)
    assert one(worst, GatePolicy(looks=1)).outcome == "failed"


def test_a_rise_passes() -> None:
    metric = one(evidence([0.5] * 30, [1.0] * 30))
    assert (metric.outcome, metric.drop) == ("passed", -0.5)


# What is looked at again


def test_samples_that_differ_from_any_anchor_in_either_direction_are_judged_again() -> None:
    baseline = [[1.0, 1.0, 1.0, 0.0]] * 90 + [[0.5, 0.5, 0.5, 0.5]] * 5 + [[1.0, 1.0, 0.5, 1.0]] * 5
    candidate = [0.9] * 80 + [1.0] * 10 + [0.6] * 5 + [1.0] * 5
    # 80 fell, 10 equal all three anchors (the fourth run is none), 5 rose, 5 differ from the third anchor alone.
    found = Pairs(evidence(baseline, candidate))
    assert found.plan.ids == tuple(f"s{i:03}" for i in (*range(80), *range(90, 100)))
    assert (found.m, found.plan.anchors) == (4, 3)


@pytest.mark.parametrize(("m", "anchors", "anchor_repeats"), [(1, 1, 2), (2, 2, 1), (3, 3, 1), (5, 3, 1)])
def test_how_often_each_side_is_judged_again(m: int, anchors: int, anchor_repeats: int) -> None:
    request = step({"f": evidence([[1.0] * m] * 40, fallen(5, 40))}, GatePolicy())
    assert isinstance(request, LookRequest)
    plan = LookPlan(tuple(f"s{i:03}" for i in range(5)), 2, anchor_repeats, anchors)
    assert request == LookRequest(2, {"f": plan}, request.reasons)
    assert "fell by 12.50 points at look 1" in request.reasons[0]


def test_stored_and_first_scores_do_not_count_once_judged_afresh() -> None:
    """The judge became stricter since the baseline: at look 1 everything fell, side by side nothing did."""
    ids = [f"s{i:03}" for i in range(40)]
    found = evidence([[1.0, 1.0]] * 40, [0.8] * 40)
    again = found.looked_again(dict.fromkeys(ids, (0.8, 0.8)), dict.fromkeys(ids, ((0.8,), (0.8,))))
    metric = one(again)
    assert (metric.outcome, metric.drop, metric.look) == ("passed", 0.0, 2)


def test_looks_are_pooled() -> None:
    found = evidence([1.0] * 40, fallen(2, 40, 0.5))
    first = ({"s000": (0.5, 0.5), "s001": (1.0, 1.0)}, {"s000": ((1.0, 1.0),), "s001": ((1.0, 1.0),)})
    second = ({"s000": (0.5, 0.5), "s001": (0.0, 0.0)}, {"s000": ((1.0, 0.0),), "s001": ((1.0, 1.0),)})
    at_2 = found.looked_again(*first)
    assert Pairs(at_2).measure(2).drop == pytest.approx(0.5 / 40)
    at_3 = at_2.looked_again(*second)
    assert Pairs(at_3).measure(3).drop == pytest.approx((0.75 - 0.5 + 0.5) / 40)
    assert Pairs(at_3).measure(2).drop == pytest.approx(0.5 / 40)


def test_look_2_between_half_and_whole_tolerance_goes_to_look_3_and_passes_there() -> None:
    decision, _found, requests = repeat_looks({"f": evidence([1.0] * 40, fallen(1, 40, 0.6))}, GatePolicy())
    assert [request.look for request in requests] == [2, 3]
    assert (decision.outcome, decision.metrics["f"].look) == ("passed", 3)


def test_an_unproven_drop_beyond_the_tolerance_is_inconclusive_at_the_last_look() -> None:
    decision, _, requests = repeat_looks({"f": evidence([1.0] * 40, fallen(1, 40))}, GatePolicy())
    assert [request.look for request in requests] == [2, 3]
    metric = decision.metrics["f"]
    assert (metric.outcome, metric.beyond, metric.drop) == ("inconclusive", True, 0.025)
    assert "noise" in metric.reason


def test_two_looks_have_the_whole_alpha_and_end_at_look_2() -> None:
    policy = GatePolicy(looks=2)
    assert policy.look_alpha == 0.05
    found = evidence([1.0] * 60, fallen(3, 60, 0.5))  # p = 0.042
    decision, _, requests = repeat_looks({"f": found}, policy)
    assert (len(requests), decision.outcome) == (1, "failed")
    decision, _, requests = repeat_looks({"f": found}, GatePolicy(looks=3))
    assert (len(requests), decision.outcome) == (2, "inconclusive")


def test_a_single_look_uses_all_stored_runs_and_says_what_it_cannot_guard_against() -> None:
    found = evidence([[1.0, 0.9, 1.0, 0.9]] * 40, fallen(10, 40))
    decision = step({"f": found}, GatePolicy(looks=1))
    assert isinstance(decision, Decision)
    variance = 4 * 0.05**2 / 3
    assert decision.metrics["f"].se == pytest.approx((variance * (1 / 4 + 1) / 40) ** 0.5)
    assert decision.outcome == "failed"
    assert any("drift" in note for note in decision.notes)


def test_a_metric_settled_at_look_2_stays_settled_while_another_goes_on() -> None:
    family = holm_family()
    case = vector(HOLM)["input"]
    before = step(family, policy_of(case))
    assert isinstance(before, Decision)
    # A fourth metric that is open at look 2 and clean at look 3.
    ids = ("s000", "s001")
    open_ = evidence([1.0] * 60, fallen(2, 60, 0.5), metric="open")
    open_ = open_.looked_again(dict.fromkeys(ids, (0.5, 0.5)), dict.fromkeys(ids, ((1.0, 1.0),)))
    request = step({**family, "open": open_}, policy_of(case))
    assert isinstance(request, LookRequest)
    assert (request.look, list(request.metrics)) == (3, ["open"])
    clean = open_.looked_again(dict.fromkeys(ids, (1.0, 1.0)), dict.fromkeys(ids, ((1.0, 1.0),)))
    after = step({**family, "open": clean}, policy_of(case))
    assert isinstance(after, Decision)
    assert {name: metric.look for name, metric in after.metrics.items()} == {
        "faithfulness": 2,
        "context_relevance": 2,
        "answer_relevance": 1,
        "open": 3,
    }
    assert after.metrics["faithfulness"].p_holm == pytest.approx(4 * (before.metrics["faithfulness"].p_value or 0))


def test_metrics_that_passed_stay_in_the_family() -> None:
    """The same drop that fails alone is not significant among ten."""
    drop = evidence([1.0] * 60, fallen(6, 60, 0.25), metric="drop")
    alone, _, _ = repeat_looks({"drop": drop}, GatePolicy())
    assert alone.outcome == "failed"
    others = {f"clean{i}": evidence([1.0] * 60, [1.0] * 60, metric=f"clean{i}") for i in range(9)}
    among, _, _ = repeat_looks({"drop": drop, **others}, GatePolicy())
    assert among.metrics["drop"].outcome == "inconclusive"
    assert among.metrics["drop"].p_holm == pytest.approx(10 * (alone.metrics["drop"].p_value or 0))


def test_nothing_to_judge_again_is_a_clean_look() -> None:
    """Only runs older than the anchors differ: no call can tell more, and side by side nothing fell."""
    found = evidence([[0.5, 0.5, 0.5, 1.0, 1.0]] * 40, [0.5] * 40)
    metric = one(found)
    assert (metric.outcome, metric.drop, metric.look) == ("passed", 0.0, 2)


# Few samples, no noise


def test_fewer_than_twenty_samples_with_noise_are_inconclusive_unless_clean_at_look_1() -> None:
    assert one(evidence([1.0] * 19, fallen(3, 19))).outcome == "inconclusive"
    assert one(evidence([1.0] * 19, [0.9, *[1.0] * 18])).outcome == "passed"
    assert isinstance(step({"f": evidence([1.0] * 20, fallen(3, 20))}, GatePolicy()), LookRequest)


def test_fewer_than_twenty_samples_without_noise_follow_the_bare_rule() -> None:
    decision, _, _ = repeat_looks({"f": evidence([[1.0, 1.0]] * 5, fallen(1, 5))}, GatePolicy())
    assert decision.outcome == "failed"
    decision, _, _ = repeat_looks({"f": evidence([[1.0, 1.0]] * 5, fallen(1, 5, 0.1))}, GatePolicy())
    assert decision.metrics["f"].drop == pytest.approx(0.02)
    assert decision.outcome == "warned"


def test_a_single_sample() -> None:
    assert one(evidence([1.0], [1.0])).outcome == "passed"
    assert one(evidence([1.0], [0.0])).outcome == "inconclusive"


def test_the_tolerance_itself_passes_and_a_hair_more_does_not() -> None:
    for excess, outcome in ((0.0, "warned"), (1e-12, "warned"), (1e-6, "failed")):
        candidate = [1.0 - 0.02 - excess] * 50
        decision, _, _ = repeat_looks({"f": evidence([[1.0, 1.0]] * 50, candidate)}, GatePolicy())
        assert decision.outcome == outcome


# Tolerances and directions


def test_tolerance_per_metric_absolute_or_relative() -> None:
    found = evidence([[0.5, 0.5]] * 50, [0.47] * 50)
    for tolerance, outcome in (
        ({}, "failed"),
        ({"faithfulness": 0.03}, "warned"),
        ({"faithfulness": Tolerance(value=0.06, relative=True)}, "warned"),
        ({"faithfulness": {"value": 0.05, "relative": True}}, "failed"),
        ({"other": 0.5}, "failed"),
    ):
        decision, _, _ = repeat_looks({"faithfulness": found}, GatePolicy(tolerance=tolerance))
        assert decision.outcome == outcome, tolerance


def test_where_low_is_good_a_rise_is_the_drop() -> None:
    found = evidence([[0.1, 0.1]] * 50, [0.2] * 50, direction="lower")
    decision, _, _ = repeat_looks({"f": found}, GatePolicy())
    assert decision.outcome == "failed"
    assert decision.metrics["f"].drop == pytest.approx(0.1)
    assert "rose" in decision.metrics["f"].reason
    assert one(evidence([[0.2, 0.2]] * 50, [0.1] * 50, direction="lower")).outcome == "passed"


def latency(
    baseline: list[float], candidate: list[float | None], aggregate: str = "p95", **more: Any
) -> MetricEvidence:
    return evidence(baseline, candidate, metric="latency", direction="lower", aggregate=aggregate, **more)


def test_latency_is_gated_by_the_bare_rule_on_a_relative_rise() -> None:
    baseline = [float(i) for i in range(1, 101)]
    policy = GatePolicy(tolerance={"latency": 0.1})
    metric = one(latency(baseline, [1.2 * value for value in baseline]), policy)
    assert (metric.outcome, metric.method, metric.look) == ("failed", "threshold", 1)
    assert metric.drop == pytest.approx(0.2)
    assert metric.mean == pytest.approx(1.2 * np.quantile(baseline, 0.95))
    assert metric.baseline_mean == pytest.approx(np.quantile(baseline, 0.95))
    assert "rose by 20.0 %" in metric.reason
    assert one(latency(baseline, [1.1 * value for value in baseline]), policy).outcome == "passed"
    assert one(latency(baseline, [0.5 * value for value in baseline]), policy).drop == pytest.approx(-0.5)


def test_the_median_does_not_see_a_slow_tail() -> None:
    baseline, candidate = [1.0] * 100, [1.0] * 90 + [9.0] * 10
    assert one(latency(baseline, candidate, "p50")).outcome == "passed"
    assert one(latency(baseline, candidate, "p95")).outcome == "failed"


def test_a_fixed_rise_in_seconds() -> None:
    policy = GatePolicy(tolerance={"latency": {"value": 0.5, "relative": False}})
    assert one(latency([1.0] * 30, [1.4] * 30), policy).outcome == "passed"
    assert one(latency([1.0] * 30, [1.6] * 30), policy).outcome == "failed"


def test_a_rise_from_nothing_has_no_ratio() -> None:
    assert one(latency([0.0] * 30, [0.0] * 30)).outcome == "passed"
    metric = one(latency([0.0] * 30, [0.1] * 30))
    assert (metric.outcome, metric.drop) == ("not_comparable", None)


def test_what_could_not_be_timed_counts_as_slowest() -> None:
    """Four of a hundred timed out: the median stands, the 95th percentile might be anything in the tail."""
    baseline = [1.0] * 98 + [2.0] * 2
    candidate: list[float | None] = [None] * 4 + [1.0] * 94 + [2.0] * 2
    assert one(latency(baseline, candidate, "p50")).outcome == "passed"
    assert one(latency(baseline, candidate, "p95")).outcome == "inconclusive"


# rule: threshold


def test_the_bare_rule_never_looks_again() -> None:
    policy = GatePolicy(rule="threshold")
    metric = one(evidence([1.0] * 100, fallen(3, 100)), policy)
    assert (metric.outcome, metric.method, metric.p_value) == ("failed", "threshold", None)
    assert one(evidence([1.0] * 100, fallen(2, 100)), policy).outcome == "passed"
    assert one(evidence([1.0] * 3, fallen(1, 3)), policy).outcome == "failed"


def test_the_bare_rule_does_not_drop_unscored_samples_either() -> None:
    metric = one(evidence([1.0] * 60, [None, None, *[1.0] * 58]), GatePolicy(rule="threshold"))
    assert (metric.outcome, metric.drop, metric.beyond) == ("inconclusive", 0.0, False)


# Samples that could not be scored


def test_unscored_samples_count_at_their_worst() -> None:
    metric = one(evidence([1.0] * 60, [None, None, *[1.0] * 58]))
    assert (metric.outcome, metric.drop, metric.beyond) == ("inconclusive", 0.0, False)
    assert metric.drop_worst == pytest.approx(2 / 60)
    assert metric.n_unscored_pairs == 2
    assert "2 samples of faithfulness could not be scored" in metric.reason
    low = one(evidence([0.0] * 60, [None, None, *[0.0] * 58], direction="lower"))
    assert (low.outcome, low.drop_worst) == ("inconclusive", pytest.approx(2 / 60))


def test_coverage_under_the_minimum_is_an_error() -> None:
    candidate = [None] * 6 + [1.0] * 94
    metric = one(evidence([0.0] * 100, candidate))
    assert (metric.outcome, metric.error) == ("error", "outside")
    assert "94.0 %" in metric.reason
    assert one(evidence([0.0] * 100, [None] * 5 + [1.0] * 95)).outcome == "passed"
    assert one(evidence([0.0] * 100, candidate), GatePolicy(min_coverage=0.9)).outcome == "passed"


def test_nothing_scored_is_an_error_even_without_a_minimum() -> None:
    metric = one(evidence([1.0] * 10, [None] * 10), GatePolicy(min_coverage=0.0))
    assert (metric.outcome, metric.error, metric.mean) == ("error", "outside", None)


@pytest.mark.parametrize("rule", ["staged", "threshold"])
def test_pairs_of_which_none_could_be_scored_never_pass(rule: str) -> None:
    unpaired = replace(evidence([1.0] * 30, [None] * 30), candidate_values=np.ones(5), n_selected=35)
    policy = GatePolicy(min_coverage=0.0, rule=rule)
    decision = step({"faithfulness": unpaired}, policy)
    assert isinstance(decision, Decision)
    assert decision.outcome == {"staged": "inconclusive", "threshold": "not_comparable"}[rule]
    assert code(decision, min_coverage=0.0, rule=rule) == ExitCode.INCONCLUSIVE


def test_applicable_to_nothing_is_the_users_error() -> None:
    metric = one(evidence([], [], n_selected=10, n_not_applicable=10))
    assert (metric.outcome, metric.error) == ("error", "input")
    metric = one(evidence([], [], n_selected=0))
    assert (metric.outcome, metric.error) == ("error", "input")
    assert step({}, GatePolicy()) == decide({})
    assert decide({}).outcome == "error"
    assert code(decide({})) == ExitCode.USER_INPUT


def test_not_applicable_samples_do_not_lower_coverage() -> None:
    found = evidence([1.0] * 10, [1.0] * 10, n_selected=100, n_not_applicable=90)
    assert one(found).outcome == "passed"


def test_a_judge_that_is_lost_in_a_look_never_clears_a_suspicion() -> None:
    """Every fresh judgment failed: the samples that did not differ say "no drop", and must not be believed."""
    big = evidence([1.0] * 100, fallen(10, 100))
    decision, _, _ = repeat_looks({"f": big}, GatePolicy(), lost=big.ids)
    assert decision.outcome == "error"
    assert code(decision) == ExitCode.OUTSIDE_WORLD
    small = evidence([1.0] * 100, fallen(4, 100))
    decision, _, _ = repeat_looks({"f": small}, GatePolicy(), lost=small.ids)
    assert (decision.outcome, decision.metrics["f"].beyond) == ("inconclusive", True)
    assert code(decision) == ExitCode.INCONCLUSIVE


def test_a_baseline_sample_without_score_is_not_a_pair() -> None:
    metric = one(evidence([None, *[1.0] * 39], [0.0, *[1.0] * 39]))
    assert (metric.outcome, metric.n_pairs, metric.drop) == ("passed", 39, 0.0)


# What cannot be compared


def test_too_few_pairs_are_not_comparable() -> None:
    assert one(evidence([1.0] * 95, [1.0] * 95, n_baseline_ids=100)).outcome == "passed"
    metric = one(evidence([1.0] * 94, [1.0] * 94, n_baseline_ids=100))
    assert metric.outcome == "not_comparable"
    assert "94" in metric.reason
    unpaired = MetricEvidence(metric="f", n_selected=5, n_baseline_ids=100, candidate_values=np.ones(5))
    assert one(unpaired).outcome == "not_comparable"


def test_a_baseline_that_lost_its_scores_is_not_comparable() -> None:
    baseline: list[float | None] = [None] * 10 + [1.0] * 90
    assert one(evidence(baseline, [1.0] * 100)).outcome == "not_comparable"


def test_what_differs_is_said_and_the_floor_still_holds() -> None:
    found = evidence([1.0] * 40, [0.5] * 40, not_comparable="the baseline's answers are not stored")
    metric = one(found)
    assert metric.outcome == "not_comparable"
    assert "answers are not stored" in metric.reason
    metric = one(found, GatePolicy(slo_minima={"faithfulness": 0.9}))
    assert metric.outcome == "failed"


def test_no_baseline_yet_leaves_the_floor() -> None:
    first = MetricEvidence(metric="f", n_selected=3, candidate_values=np.array([1.0, 0.5, 0.9]))
    metric = one(first)
    assert (metric.outcome, metric.no_baseline, metric.m) == ("warned", True, 0)
    assert "no baseline yet" in metric.reason
    assert one(first, GatePolicy(slo_minima={"f": 0.8})).outcome == "warned"
    assert one(first, GatePolicy(slo_minima={"f": 0.81})).outcome == "failed"


def test_a_look_that_cannot_be_made_is_never_a_silent_pass() -> None:
    for n, beyond in ((1, False), (5, True)):
        found = evidence([1.0] * 60, fallen(n, 60), look_blocked="the budget is spent")
        metric = one(found)
        assert (metric.outcome, metric.beyond) == ("inconclusive", beyond)
        assert "the budget is spent" in metric.reason
    assert one(evidence([1.0] * 60, [1.0] * 60, look_blocked="the budget is spent")).outcome == "passed"


def test_no_look_is_spent_on_a_run_that_is_an_error() -> None:
    suspicious = evidence([1.0] * 60, fallen(5, 60))
    broken = evidence([1.0] * 60, [None] * 60, metric="broken")
    decision = step({"faithfulness": suspicious, "broken": broken}, GatePolicy())
    assert isinstance(decision, Decision)
    assert (decision.outcome, decision.metrics["faithfulness"].outcome) == ("error", "inconclusive")


# SLO


def test_the_floor_has_a_noise_band_with_two_baseline_runs() -> None:
    runs = [[0.8, 1.0]] * 100  # sigma = 0.1414, band = 0.0233
    for value, outcome, beyond in (
        (0.93, "passed", False),
        (0.91, "inconclusive", False),
        (0.89, "inconclusive", True),
        (0.87, "failed", True),
    ):
        found = evidence(runs, [value] * 100)
        metric, *_ = repeat_looks(
            {"faithfulness": found}, GatePolicy(slo_minima={"faithfulness": 0.9}, regression_tolerance=0.5)
        )
        decision = metric.metrics["faithfulness"]
        assert decision.slo is not None
        assert (decision.slo.outcome, decision.beyond) == (outcome, beyond), value


def test_the_floor_is_the_bare_comparison_with_one_run_and_says_so() -> None:
    policy = GatePolicy(slo_minima={"faithfulness": 0.9})
    decision = step({"faithfulness": evidence([0.9] * 40, [0.9] * 40)}, policy)
    assert isinstance(decision, Decision)
    assert decision.outcome == "passed"
    assert any("noise band" in note for note in decision.notes)
    assert one(evidence([0.895] * 40, [0.895] * 40), policy).outcome == "failed"


def test_unscored_samples_cannot_lift_a_mean_over_its_floor() -> None:
    policy = GatePolicy(slo_minima={"faithfulness": 0.98})
    found = evidence([0.0, *[1.0] * 39], [None, *[1.0] * 39])
    metric = one(found, policy)
    assert (metric.outcome, metric.beyond) == ("inconclusive", False)
    assert metric.slo is not None
    assert metric.slo.mean == 1.0


def test_a_floor_under_no_metric_is_an_error() -> None:
    decision = step({"f": evidence([1.0] * 40, [1.0] * 40)}, GatePolicy(slo_minima={"renamed": 0.9}))
    assert isinstance(decision, Decision)
    assert decision.outcome == "error"
    assert code(decision) == ExitCode.USER_INPUT
    assert "renamed" in decision.reasons[0]


def test_a_floor_under_latency_is_an_error() -> None:
    metric = one(latency([1.0] * 30, [1.0] * 30), GatePolicy(slo_minima={"latency": 2.0}))
    assert (metric.outcome, metric.error) == ("error", "input")


# What is printed


def test_minimal_detectable_drop_and_what_would_improve_it() -> None:
    decision, _, _ = repeat_looks({"f": evidence([1.0] * 60, fallen(6, 60, 0.5))}, GatePolicy())
    metric = decision.metrics["f"]
    assert metric.mdd is not None
    assert metric.samples_to_halve_mdd is not None
    assert metric.mdd_of_three_runs is not None
    assert metric.mdd > metric.mdd_of_three_runs > 0.02
    assert metric.samples_to_halve_mdd > 4 * 60


def test_a_small_real_drop_warns() -> None:
    decision, _, _ = repeat_looks({"f": evidence([[1.0, 1.0]] * 50, [0.985] * 50)}, GatePolicy())
    metric = decision.metrics["f"]
    assert (metric.outcome, metric.small_real_drop, metric.proven) == ("warned", True, True)
    assert "small but real" in metric.reason
    assert code(decision) == ExitCode.OK


def test_counts_stand_beside_the_numbers() -> None:
    found = evidence([1.0] * 39 + [0.5], [*[1.0] * 39, None], n_selected=50, n_not_applicable=10)
    metric = one(found)
    assert (metric.n_scored, metric.n_failed, metric.n_not_applicable, metric.n_pairs, metric.m) == (39, 1, 10, 39, 1)
    assert (metric.mean, metric.baseline_mean, metric.look) == (1.0, 1.0, 1)


# The run's outcome and exit code


def metric_of(outcome: Any, **more: Any) -> MetricDecision:
    return MetricDecision(metric=outcome, outcome=outcome, reason=f"it is {outcome}", **more)


ORDER = ["error", "failed", "not_comparable", "inconclusive", "warned", "passed"]


@pytest.mark.parametrize("at", range(6))
def test_the_worst_outcome_wins_and_is_said_first(at: int) -> None:
    decision = decide({outcome: metric_of(outcome) for outcome in reversed(ORDER[at:])})
    assert decision.outcome == ORDER[at]
    assert decision.reasons == tuple(f"it is {outcome}" for outcome in ORDER[at:] if outcome != "passed")


@pytest.mark.parametrize(
    ("metric", "policy", "on_pull_request", "elsewhere"),
    [
        (metric_of("failed"), {}, 1, 1),
        (metric_of("inconclusive", beyond=True), {}, 3, 3),
        (metric_of("inconclusive", beyond=True), {"on_inconclusive": "warn"}, 0, 0),
        (metric_of("inconclusive"), {}, 0, 0),
        (metric_of("not_comparable"), {}, 3, 0),
        (metric_of("not_comparable"), {"on_not_comparable": "warn"}, 0, 0),
        (metric_of("warned", no_baseline=True), {}, 0, 0),
        (metric_of("warned", no_baseline=True), {"on_no_baseline": "fail"}, 3, 3),
        (metric_of("warned", small_real_drop=True), {"on_no_baseline": "fail"}, 0, 0),
        (metric_of("error", error="outside"), {}, 4, 4),
        (metric_of("error", error="input"), {}, 2, 2),
        (metric_of("passed"), {}, 0, 0),
    ],
)
def test_exit_codes(metric: MetricDecision, policy: dict[str, Any], on_pull_request: int, elsewhere: int) -> None:
    decision = decide({"f": metric, "clean": metric_of("passed")})
    assert code(decision, pull_request=True, **policy) == on_pull_request
    assert code(decision, pull_request=False, **policy) == elsewhere


def test_exit_code_of_several_metrics() -> None:
    hidden = {"a": metric_of("not_comparable"), "b": metric_of("inconclusive", beyond=True)}
    assert code(decide(hidden), pull_request=False) == 3
    assert code(decide({**hidden, "c": metric_of("failed")})) == 1
    assert code(decide({**hidden, "c": metric_of("failed"), "d": metric_of("error", error="input")})) == 2
    assert code(decide({"d": metric_of("error", error="input"), "e": metric_of("error", error="outside")})) == 4


def test_the_pinned_run_counts_as_well() -> None:
    last, pinned = decide({"f": metric_of("passed")}), decide({"f": metric_of("failed")})
    both = merge_decisions(last, pinned)
    assert (both.outcome, both.reasons) == ("failed", ("against the pinned run: it is failed",))
    assert both.metrics["f"].outcome == "passed"
    assert code(both) == 1
    assert merge_decisions(pinned, last).outcome == "failed"
    assert code(merge_decisions(pinned, last)) == 1


# Settings and evidence


@pytest.mark.parametrize(
    "wrong",
    [
        {"looks": 0},
        {"looks": 4},
        {"looks": True},
        {"alpha": 0.0},
        {"alpha": "0.05"},
        {"regression_tolerance": -0.1},
        {"regression_tolerance": float("nan")},
        {"tolerance": {"f": True}},
        {"tolerance": {"f": {"value": 0.1, "unit": "s"}}},
        {"min_coverage": 1.5},
        {"on_inconclusive": "ignore"},
        {"max_look": 3},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GatePolicy(**wrong)


def test_evidence_collected_from_a_stream() -> None:
    builder = EvidenceBuilder("độ trung thực", runs=2)
    builder.add("câu-1", "scored", 0.5, [1.0, None], cluster="tài liệu")
    builder.add("问题-2", "failed", None, [1.0, 0.5], cluster="文件")
    builder.add("added", "scored", 0.25)
    builder.add("none", "not_applicable", None)
    found = builder.build(n_baseline_ids=2, look_blocked="answers are not stored")
    assert found.ids == ("câu-1", "问题-2")
    np.testing.assert_array_equal(found.candidate, [0.5, np.nan])
    np.testing.assert_array_equal(found.baseline, [[1.0, np.nan], [1.0, 0.5]])
    assert found.clusters == ("tài liệu", "文件")
    assert found.candidate_values.tolist() == [0.5, 0.25]
    assert (found.n_selected, found.n_failed, found.n_not_applicable, found.n_baseline_ids) == (4, 1, 1, 2)
    with pytest.raises(ValueError, match="1 baseline scores for 2 runs"):
        builder.add("câu-1", "scored", 0.5, [1.0])


def test_a_first_run_collected_from_a_stream() -> None:
    builder = EvidenceBuilder("f", runs=0)
    builder.add("a", "scored", 1.0)
    assert one(builder.build(n_baseline_ids=0)).no_baseline


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one row for each of the 1 ids"):
        MetricEvidence(metric="f", ids=("a",))
    with pytest.raises(ValueError, match="clusters"):
        evidence([1.0], [1.0], clusters=("a", "b"))
    with pytest.raises(ValueError, match="look"):
        evidence([1.0], [1.0], look=0)


def test_a_metric_that_applies_to_nothing_is_a_warning_beside_one_that_does() -> None:
    idle = MetricEvidence(metric="context_recall", n_selected=30, n_not_applicable=30)
    busy = MetricEvidence(metric="faithfulness", n_selected=30, candidate_values=np.ones(30))
    decision = step({"context_recall": idle, "faithfulness": busy}, GatePolicy())
    assert isinstance(decision, Decision)
    assert decision.metrics["context_recall"].outcome == "warned"
    assert "not applicable to any" in decision.reasons[0]
    assert decision.exit_code(GatePolicy(), pull_request=False) == ExitCode.OK


@pytest.mark.parametrize("known", [{"n_baseline_ids": 30}, {}])
def test_a_metric_with_a_floor_or_a_baseline_must_apply(known: dict[str, int]) -> None:
    idle = MetricEvidence(metric="context_recall", n_selected=30, n_not_applicable=30, **known)
    busy = MetricEvidence(metric="faithfulness", n_selected=30, candidate_values=np.ones(30))
    policy = GatePolicy(slo_minima={} if known else {"context_recall": 0.5})
    decision = step({"context_recall": idle, "faithfulness": busy}, policy)
    assert isinstance(decision, Decision)
    assert decision.outcome == "error"
    assert decision.exit_code(policy, pull_request=False) == ExitCode.USER_INPUT


def test_a_first_run_says_so_once() -> None:
    evidence = {
        name: MetricEvidence(metric=name, n_selected=30, candidate_values=np.ones(30)) for name in ("a", "b", "c")
    }
    decision = step(evidence, GatePolicy())
    assert isinstance(decision, Decision)
    assert decision.reasons == ("no baseline yet for a, b, c: SLO minima only",)

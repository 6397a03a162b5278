"""The statistics against scipy, against published examples and against the shared vectors."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from ragguard.core import statistics as s
from tests.unit.core.gate_cases import vector

EXACT = {"rel": 1e-9, "abs": 1e-12}


def test_mean_is_exactly_summed_and_unknown_for_nothing() -> None:
    assert s.mean(np.array([1e16, 1.0, -1e16, 1.0])) == 0.5
    assert s.mean(np.empty(0)) is None


def test_row_means_leave_missing_scores_out() -> None:
    means = s.row_means(np.array([[0.0, 1.0], [0.25, np.nan], [np.nan, np.nan]]))
    assert means[:2].tolist() == [0.5, 0.25]
    assert np.isnan(means[2])


def test_paired_se_is_that_of_the_one_sample_t_test() -> None:
    differences = np.random.default_rng(1).normal(0.02, 0.1, 60)
    error = s.paired_se(differences)
    assert error is not None
    expected = stats.ttest_1samp(differences, 0, alternative="greater")
    assert error == pytest.approx((stats.sem(differences), 59), **EXACT)
    assert s.drop_p_value(float(differences.mean()), error) == pytest.approx(expected.pvalue, **EXACT)


def test_one_difference_has_no_standard_error() -> None:
    assert s.paired_se(np.array([0.1])) is None
    assert s.paired_se(np.empty(0)) is None


def test_equal_differences_have_no_noise_in_spite_of_rounding() -> None:
    assert s.paired_se(np.full(7, 0.1) + 0.2) == (0.0, 6)


def test_cluster_se_by_hand() -> None:
    # Mean 0.25; cluster sums of deviations: a = 0.25 + 0.25, b = -0.25 - 0.25. CR1 = sqrt(2/1 * (0.25 + 0.25)) / 4.
    error = s.cluster_se(np.array([0.5, 0.5, 0.0, 0.0]), ["a", "a", "b", "b"])
    assert error == pytest.approx((math.sqrt(2 * 0.5) / 4, 1), **EXACT)


def test_clusters_of_one_are_the_paired_case() -> None:
    differences = np.random.default_rng(2).normal(size=30)
    assert s.cluster_se(differences, range(30)) == pytest.approx(s.paired_se(differences), **EXACT)


def test_one_cluster_has_no_standard_error() -> None:
    assert s.cluster_se(np.array([0.1, 0.2]), ["a", "a"]) is None


def test_pooled_variance_weighs_samples_by_their_runs() -> None:
    scores = np.array([[0.0, 1.0, 0.5], [0.5, 1.0, np.nan], [0.3, np.nan, np.nan]])
    # (m - 1) s2: 0.5 of df 2, 0.125 of df 1, nothing of df 0.
    assert s.pooled_variance(scores) == pytest.approx((0.625 / 3, 3), **EXACT)


def test_pooled_variance_is_unknown_without_repeats_and_zero_for_equal_runs() -> None:
    assert s.pooled_variance(np.array([[0.1], [0.2]])) is None
    assert s.pooled_variance(np.array([[0.1, np.nan], [np.nan, 0.2]])) is None
    assert s.pooled_variance(np.full((20, 3), 0.1)) == (0.0, 40)


def test_runs_se() -> None:
    assert s.runs_se(0.09, 60, 3, 100) == pytest.approx((math.sqrt(0.09 * (4 / 3) / 100), 60), **EXACT)


@pytest.mark.parametrize(("drop", "expected"), [(0.01, 0.0), (0.0, 1.0), (-0.01, 1.0)])
def test_without_noise_p_is_the_bare_comparison(drop: float, expected: float) -> None:
    assert s.drop_p_value(drop, s.StandardError(0.0, 59)) == expected
    assert s.one_sided_bounds(drop, s.StandardError(0.0, 59)) == (drop, drop)


def test_bounds_are_one_sided_t_bounds() -> None:
    bounds = s.one_sided_bounds(0.03, s.StandardError(0.01, 14))
    assert bounds == pytest.approx((0.03 - 0.01 * stats.t.ppf(0.95, 14), 0.03 + 0.01 * stats.t.ppf(0.95, 14)), **EXACT)


def test_holm_by_hand() -> None:
    assert s.holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}, **EXACT
    )


def test_holm_stays_in_range_and_order() -> None:
    adjusted = s.holm({"a": 1.0, "b": 0.9, "c": 0.02})
    assert list(adjusted) == ["a", "b", "c"]
    assert adjusted == pytest.approx({"a": 1.0, "b": 1.0, "c": 0.06}, **EXACT)
    assert s.holm({}) == {}


def test_benjamini_hochberg_agrees_with_scipy() -> None:
    p_values = np.random.default_rng(3).uniform(size=50) ** 3
    rejected = s.benjamini_hochberg(p_values, 0.1)
    assert rejected.tolist() == (stats.false_discovery_control(p_values) <= 0.1).tolist()
    assert 0 < rejected.sum() < 50


def test_benjamini_hochberg_rejects_nothing_of_nothing_and_of_noise() -> None:
    assert s.benjamini_hochberg(np.empty(0), 0.1).size == 0
    assert not s.benjamini_hochberg(np.array([0.5, 0.9]), 0.1).any()


def test_conformal_p_values_and_false_discovery_of_the_vector() -> None:
    case = vector("per_sample_conformal_bh")
    null = np.array([drop for drop, times in case["input"]["null_rle"] for _ in range(times)])
    drops = np.array([drop for drop, times in case["input"]["d_rle"] for _ in range(times)])
    p_values = s.conformal_p_values(drops, null)
    for drop, expected in case["expected"]["p_unique"].items():
        assert p_values[drops == float(drop)] == pytest.approx(expected, **EXACT)
    rejected = s.benjamini_hochberg(p_values, case["input"]["q"])
    assert np.flatnonzero(rejected).tolist() == case["expected"]["rejected"]


def test_conformal_p_counts_ties_in_spite_of_rounding() -> None:
    assert s.conformal_p_values(np.array([0.3]), np.array([0.1 + 0.2, 0.0])) == pytest.approx([2 / 3])
    assert s.conformal_p_values(np.array([0.1 + 0.2]), np.array([0.3, 0.0])) == pytest.approx([2 / 3])


def test_leave_one_out_null() -> None:
    null = s.leave_one_out_null(np.array([[1.0, 0.5, 0.0], [0.2, 0.4, np.nan], [0.7, np.nan, np.nan]]))
    assert sorted(null.tolist()) == pytest.approx(sorted([-0.75, 0.0, 0.75, 0.2, -0.2]), **EXACT)


@pytest.mark.parametrize("name", ["mdd", "mdd_se_0.004", "mdd_se_0.012"])
def test_minimal_detectable_drop_of_the_vectors(name: str) -> None:
    case = vector(name)
    given = case["input"]
    found = s.minimal_detectable_drop(given["se"], given["tol"], given["alpha"], given["looks"], given["metrics"])
    assert found == pytest.approx(case["expected"]["mdd"], **EXACT)


def test_minimal_detectable_drop_without_noise_is_the_tolerance() -> None:
    assert s.minimal_detectable_drop(0.0, 0.02, 0.05, 3, 3) == 0.02
    assert s.samples_to_halve(60, 0.0, 0.02, 0.05, 3, 3) is None


def test_a_single_look_has_the_whole_alpha() -> None:
    expected = (stats.norm.ppf(1 - 0.05 / 2) + stats.norm.ppf(0.8)) * 0.05
    assert s.minimal_detectable_drop(0.05, 0.02, 0.05, 1, 2) == pytest.approx(expected, **EXACT)
    assert s.minimal_detectable_drop(0.05, 0.02, 0.05, 2, 2) == pytest.approx(expected, **EXACT)


def test_so_many_samples_halve_the_minimal_detectable_drop() -> None:
    se = 0.05
    n = s.samples_to_halve(60, se, 0.02, 0.05, 3, 3)
    assert n is not None
    halved = s.minimal_detectable_drop(se * math.sqrt(60 / n), 0.02, 0.05, 3, 3)
    one_less = s.minimal_detectable_drop(se * math.sqrt(60 / (n - 1)), 0.02, 0.05, 3, 3)
    assert halved <= s.minimal_detectable_drop(se, 0.02, 0.05, 3, 3) / 2 < one_less


def test_no_number_of_samples_halves_what_the_tolerance_already_is() -> None:
    assert s.samples_to_halve(60, 0.004, 0.02, 0.05, 3, 3) is None


@pytest.mark.parametrize("name", ["slo_fail", "slo_pass"])
def test_slo_band_of_the_vectors(name: str) -> None:
    case, expected = vector(name)["input"], vector(name)["expected"]
    n = case["ones"] + case.get("halves", 0) + case.get("quarters", 0) + case.get("three_quarters", 0)
    band = s.slo_band(expected["mean"], case["sigma_w"], n)
    assert band == pytest.approx((expected["lo95"], expected["hi95"]), **EXACT)
    p_value = s.slo_breach_p_value(expected["mean"], case["floor"], case["sigma_w"], n)
    assert p_value == pytest.approx(expected["p_breach"], **EXACT)


@pytest.mark.parametrize(("value", "expected"), [(0.8, 0.0), (0.9, 1.0), (0.9 - 1e-12, 1.0)])
def test_slo_without_noise_is_the_bare_comparison(value: float, expected: float) -> None:
    assert s.slo_breach_p_value(value, 0.9, 0.0, 10) == expected


def test_scipy_is_loaded_on_first_use_only() -> None:
    code = "import sys, ragguard.core.gate, ragguard.core.regressions; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_p_values_are_uniform_under_the_null() -> None:
    """Among 4,000 clean comparisons, the share with p <= alpha is alpha within three standard errors."""
    rng = np.random.default_rng(4)
    p_values = []
    for _ in range(4000):
        differences = rng.normal(0, 0.1, 40)
        error = s.paired_se(differences)
        assert error is not None
        p_values.append(s.drop_p_value(math.fsum(differences) / 40, error))
    for alpha in (0.01, 0.025, 0.05, 0.25):
        found = float(np.mean(np.array(p_values) <= alpha))
        assert abs(found - alpha) <= 3 * math.sqrt(alpha * (1 - alpha) / 4000)


def test_run_to_run_p_values_are_uniform_under_the_null() -> None:
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(4000):
        stored, now = rng.normal(0, 0.1, (40, 3)), rng.normal(0, 0.1, (40, 4))
        found = s.pooled_variance(stored)
        assert found is not None
        drop = float(now[:, :3].mean() - now[:, 3].mean())
        p_values.append(s.drop_p_value(drop, s.runs_se(*found, 3, 40)))
    for alpha in (0.01, 0.025, 0.05, 0.25):
        share = float(np.mean(np.array(p_values) <= alpha))
        assert abs(share - alpha) <= 3 * math.sqrt(alpha * (1 - alpha) / 4000)

"""Which samples regressed."""

from __future__ import annotations

import numpy as np
import pytest

from ragguard.core.regressions import regressed_samples
from tests.unit.core.gate_cases import evidence


def noisy_runs(n: int, m: int, seed: int = 11) -> np.ndarray:
    return 0.8 + np.random.default_rng(seed).normal(0, 0.05, (n, m))


def test_samples_beyond_the_baselines_own_noise() -> None:
    baseline = noisy_runs(100, 5)
    candidate = noisy_runs(100, 1, seed=12)[:, 0]
    candidate[[3, 50, 97]] = [0.1, 0.2, 0.3]
    found = regressed_samples(evidence(baseline.tolist(), candidate.tolist()))
    assert [sample.id for sample in found.samples] == ["s003", "s050", "s097"]
    assert (found.method, found.n_null) == ("false_discovery", 500)
    assert all(sample.confirmed for sample in found.samples)
    assert found.n_fell > 30
    first = found.samples[0]
    assert (first.before, first.after) == pytest.approx((baseline[3].mean(), 0.1))
    assert first.drop == pytest.approx(first.before - first.after)
    assert first.p_value == pytest.approx(1 / 501)


def test_noise_alone_lists_next_to_nothing() -> None:
    listed = 0
    for seed in range(50):
        both = noisy_runs(60, 4, seed=100 + seed)
        listed += len(regressed_samples(evidence(both[:, :3].tolist(), both[:, 3].tolist())).samples)
    assert listed <= 15  # Of some 1,500 that fell.


def test_where_low_is_good_a_rise_is_listed() -> None:
    baseline, candidate = noisy_runs(60, 3), noisy_runs(60, 1, seed=5)[:, 0]
    candidate[4:8], candidate[8:12] = 3.0, -3.0
    found = regressed_samples(evidence(baseline.tolist(), candidate.tolist(), direction="lower"))
    assert sorted(sample.id for sample in found.samples) == ["s004", "s005", "s006", "s007"]
    assert found.samples[0].after == 3.0
    assert "cannot tell fewer than 4 regressed samples" in found.note


def test_fresh_judgments_decide_after_a_look() -> None:
    baseline, candidate = noisy_runs(60, 3), noisy_runs(60, 1, seed=5)[:, 0]
    candidate[4:10] = 0.0
    ids = [f"s{row:03}" for row in range(60)]
    fresh = dict.fromkeys(ids, (0.8, 0.8)) | {f"s00{row}": (0.1, 0.3) for row in range(4, 8)}
    found = evidence(baseline.tolist(), candidate.tolist()).looked_again(
        fresh, dict.fromkeys(ids, ((0.8,), (0.8,), (0.8,)))
    )
    listed = regressed_samples(found).samples
    assert [sample.id for sample in listed] == ["s004", "s005", "s006", "s007"]
    assert (listed[0].before, listed[0].after) == pytest.approx((0.8, 0.2))


def test_one_baseline_run_and_no_look_is_unconfirmed() -> None:
    found = regressed_samples(evidence([1.0] * 30, [*[0.1, 0.5, 0.3], *[1.0] * 27]), most=2)
    assert [(sample.id, sample.confirmed, sample.p_value) for sample in found.samples] == [
        ("s000", False, None),
        ("s002", False, None),
    ]
    assert (found.method, found.n_fell, found.n_null) == ("largest_falls", 3, 0)
    assert found.note.startswith("unconfirmed")


def test_one_baseline_run_lists_the_falls_that_held() -> None:
    found = evidence([1.0] * 20, [0.5, 0.2, *[1.0] * 17, 0.9]).looked_again(
        {"s000": (1.0, 1.0), "s001": (0.25, 0.75), "s019": (0.9, None)},
        {"s000": ((1.0, 1.0),), "s001": ((1.0, 1.0),), "s019": ((1.0, 1.0),)},
    )
    listed = regressed_samples(found)
    assert [(sample.id, sample.after, sample.confirmed) for sample in listed.samples] == [
        ("s001", 0.5, True),
        ("s019", 0.9, True),
    ]
    assert "unconfirmed" not in listed.note


def test_what_rose_at_first_is_not_a_fall_that_held() -> None:
    found = evidence([0.5] * 20, [0.8, *[0.5] * 19]).looked_again({"s000": (0.2, 0.2)}, {"s000": ((0.5, 0.5),)})
    assert regressed_samples(found).samples == ()


def test_unscored_samples_and_percentiles_are_not_listed() -> None:
    assert regressed_samples(evidence([1.0] * 20, [None, *[1.0] * 19])).samples == ()
    latency = evidence([1.0] * 20, [9.0] * 20, aggregate="p95", direction="lower")
    assert regressed_samples(latency).samples == ()


def test_without_a_baseline_nothing_regressed() -> None:
    assert regressed_samples(evidence([], [])).samples == ()

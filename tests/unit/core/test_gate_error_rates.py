"""The simulation is honest enough to be believed: reproducible, and right where the answer is known."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def rates() -> ModuleType:
    path = Path(__file__).parents[3] / "benchmarks" / "gate_error_rates.py"
    spec = importlib.util.spec_from_file_location("gate_error_rates", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_seed_gives_one_result(rates: ModuleType) -> None:
    cell = rates.Cell(60, 2, 0.03, rates.MID)
    assert rates.simulate(cell, 10, [1, 2]) == rates.simulate(cell, 10, [1, 2])
    assert rates.simulate(cell, 10, [1, 2]) != rates.simulate(cell, 10, [1, 3])


@pytest.mark.parametrize("runs", [1, 3])
def test_a_collapse_is_always_found_and_a_rise_never(rates: ModuleType, runs: int) -> None:
    assert rates.simulate(rates.Cell(180, runs, 0.2, rates.MID), 10, [1]).failed == 10
    assert rates.simulate(rates.Cell(180, runs, 0.0, rates.MID), 10, [1]).failed == 0


def test_the_drop_is_exactly_the_one_that_was_asked_for(rates: ModuleType) -> None:
    rng = np.random.default_rng(1)
    quality = rng.uniform(0.5, 1.0, 180)
    lowered = rates.lower(rng, quality, 0.03, 0.25)
    assert quality.mean() - lowered.mean() == pytest.approx(0.03)
    assert (lowered >= 0.75 * quality - 1e-12).all()
    np.testing.assert_array_equal(rates.lower(rng, quality, 0.0, 0.25), quality)


def test_drift_moves_both_sides_of_a_look_alike(rates: ModuleType) -> None:
    """With a harshness of 5 points in every second session, look 1 is far off and a look is not."""
    cell = rates.Cell(4000, 1, 0.0, rates.Noise("none", 0.1))
    scorer = rates.Verdicts(np.random.default_rng(2), cell, (2, 8), 0.7, 0.0)
    apart = scorer.judge([0, 1], None, [0.0, 0.05]).mean(axis=1)
    together = scorer.judge([0, 1], None, [0.05, 0.05]).mean(axis=1)
    assert apart[0] - apart[1] == pytest.approx(0.05, abs=0.015)
    assert together[0] - together[1] == pytest.approx(0.0, abs=0.015)

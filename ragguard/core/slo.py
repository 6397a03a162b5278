"""A metric's mean against its floor, with the run-to-run noise of the baseline as the band."""

from __future__ import annotations

import math

from ragguard.core.decisions import SloOutcome, SloVerdict
from ragguard.core.statistics import SLACK, FloatArray, mean, slo_band, slo_breach_p_value


def judge_slo(values: FloatArray, n_failed: int, variance: float | None, floor: float) -> SloVerdict | None:
    """Judges a mean against its floor.

    Fails where even the upper bound is under the floor, passes where the lower bound is not. A pass that would not
    survive the worst score for every sample that could not be scored is inconclusive.

    Args:
        values: The candidate's scored values, shape (n,), in [0, 1].
        n_failed: Samples that could not be scored.
        variance: Run-to-run variance of a sample's score; None where unknown, and then the bare comparison holds.
        floor: The least mean, in [0, 1].

    Returns:
        The verdict; None where nothing was scored.
    """
    value = mean(values)
    if value is None:
        return None
    below = value < floor - SLACK
    if variance is None:
        outcome = _outcome(value, value, floor)
        return SloVerdict(floor, value, _worst_case(outcome, values, n_failed, floor), below)
    sigma = math.sqrt(variance)
    low, high = slo_band(value, sigma, values.size)
    outcome = _worst_case(_outcome(low, high, floor), values, n_failed, floor)
    return SloVerdict(
        floor, value, outcome, below, sigma, low, high, slo_breach_p_value(value, floor, sigma, values.size)
    )


def _outcome(low: float, high: float, floor: float) -> SloOutcome:
    if high < floor - SLACK:
        return "failed"
    return "passed" if low >= floor - SLACK else "inconclusive"


def _worst_case(outcome: SloOutcome, values: FloatArray, n_failed: int, floor: float) -> SloOutcome:
    worst = math.fsum(values.tolist()) / (values.size + n_failed)
    return "inconclusive" if outcome == "passed" and worst < floor - SLACK else outcome

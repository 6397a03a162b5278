"""The statistics of the gate: standard errors, multiplicity, bounds. Pure functions; scipy is loaded on first use.

Inside this module an array marks a missing score with NaN; no function returns one.
A *drop* is positive when the candidate is worse.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Key = TypeVar("Key", bound=Hashable)

SLACK = 1e-9
"""Scores and drops closer than this are equal: a drop of exactly the tolerance passes."""

ZERO_SE = 1e-12
"""A standard error below this is rounding, not noise."""

LEVEL = 0.95
POWER = 0.80


class StandardError(NamedTuple):
    """A standard error and its degrees of freedom."""

    se: float
    df: int


class Bounds(NamedTuple):
    """Two one-sided bounds; together they are the 90 % interval."""

    low: float
    high: float


def mean(values: FloatArray) -> float | None:
    """Returns the exactly summed mean of an array without missing values, or None for an empty one."""
    return math.fsum(values.tolist()) / values.size if values.size else None


def row_means(scores: FloatArray) -> FloatArray:
    """Means over the last axis, missing scores left out; NaN where all of a row are missing.

    Counted from each row's least score, so that equal scores have exactly that mean and a difference of exactly zero.
    """
    missing = np.isnan(scores)
    if scores.shape[-1] and not missing.any():
        lowest = scores.min(axis=-1)
        return np.asarray(lowest + (scores - lowest[..., np.newaxis]).sum(axis=-1) / scores.shape[-1], dtype=np.float64)
    present = ~missing
    counts = present.sum(axis=-1)
    least = np.where(present, scores, np.inf).min(axis=-1, initial=np.inf)
    excess = np.where(present, scores - least[..., np.newaxis], 0.0).sum(axis=-1)
    return np.where(counts > 0, least + excess / np.maximum(counts, 1), np.nan)


def paired_se(differences: FloatArray) -> StandardError | None:
    """Standard error of a mean of paired differences, sd / sqrt(n) with df = n - 1; None for fewer than two."""
    n = differences.size
    if n < 2:
        return None
    deviations = differences - math.fsum(differences.tolist()) / n
    return StandardError(_clean(math.sqrt(_sum_of_squares(deviations) / (n - 1) / n)), n - 1)


def cluster_se(differences: FloatArray, clusters: Sequence[Hashable]) -> StandardError | None:
    """Cluster-robust (CR1) standard error of a mean; df = G - 1; None for fewer than two clusters.

    Source: Cameron & Miller (2015), A Practitioner's Guide to Cluster-Robust Inference; for a mean the correction is
    G / (G - 1).

    Args:
        differences: Shape (n,).
        clusters: The cluster of each difference, length n.
    """
    codes = {name: code for code, name in enumerate(dict.fromkeys(clusters))}
    n, groups = differences.size, len(codes)
    if groups < 2:
        return None
    deviations = differences - math.fsum(differences.tolist()) / n
    members = np.array([codes[name] for name in clusters], dtype=np.intp)
    sums = np.bincount(members, weights=deviations, minlength=groups).astype(np.float64)
    return StandardError(_clean(math.sqrt(groups / (groups - 1) * _sum_of_squares(sums)) / n), groups - 1)


def pooled_variance(scores: FloatArray) -> tuple[float, int] | None:
    """Run-to-run variance of a sample's score, pooled over samples: sum (m_i - 1) s2_i / sum (m_i - 1).

    Args:
        scores: Shape (samples, runs); NaN where missing.

    Returns:
        Variance and degrees of freedom; None where no sample has two scores.
    """
    counts = (~np.isnan(scores)).sum(axis=1)
    df = int((counts[counts >= 2] - 1).sum())
    if df == 0:
        return None
    deviations = scores - row_means(scores)[:, np.newaxis]
    squares = np.square(deviations[~np.isnan(deviations)])
    variance = math.fsum(squares.tolist()) / df
    return (0.0 if math.sqrt(variance) < ZERO_SE else variance), df


def runs_se(variance: float, df: int, answer_sets: int, n: int) -> StandardError:
    """Standard error of candidate minus the mean of several baseline answer sets: sqrt(V (1/a + 1) / n)."""
    return StandardError(_clean(math.sqrt(variance * (1 / answer_sets + 1) / n)), df)


def drop_p_value(drop: float, error: StandardError) -> float:
    """One-sided p of "no drop": P(t_df > drop / se); with no noise 0 for a drop and 1 for none."""
    if error.se == 0:
        return 0.0 if drop > SLACK else 1.0
    from scipy.special import stdtr

    return float(stdtr(error.df, -drop / error.se))


def one_sided_bounds(drop: float, error: StandardError, level: float = LEVEL) -> Bounds:
    """Lower and upper one-sided t bounds of a drop, each at `level`."""
    if error.se == 0:
        return Bounds(drop, drop)
    from scipy.special import stdtrit

    band = float(stdtrit(error.df, level)) * error.se
    return Bounds(drop - band, drop + band)


def holm(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """Holm's step-down adjustment of a family of p-values (Holm 1979); keys stay in their order."""
    adjusted: dict[Key, float] = {}
    running = 0.0
    for rank, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[key]))
        adjusted[key] = running
    return {key: adjusted[key] for key in p_values}


def benjamini_hochberg(p_values: FloatArray, q: float) -> npt.NDArray[np.bool_]:
    """Which hypotheses the step-up procedure of Benjamini & Hochberg (1995) rejects at false-discovery rate `q`."""
    n = p_values.size
    if n == 0:
        return np.zeros(0, dtype=bool)
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= q * np.arange(1, n + 1) / n)
    if below.size == 0:
        return np.zeros(n, dtype=bool)
    rejected: npt.NDArray[np.bool_] = p_values <= ordered[below[-1]]
    return rejected


def conformal_p_values(drops: FloatArray, null: FloatArray) -> FloatArray:
    """p_i = (1 + #{null >= d_i}) / (1 + #null), for drops against a pool of differences without a change."""
    ordered = np.sort(null)
    at_least = null.size - np.searchsorted(ordered, drops - SLACK, side="left")
    return np.asarray((1.0 + at_least) / (1.0 + null.size), dtype=np.float64)


def leave_one_out_null(scores: FloatArray) -> FloatArray:
    """Differences among the baseline runs themselves: mean of a sample's other runs minus each of its runs.

    Args:
        scores: Shape (samples, runs); NaN where missing. Samples with a single score give nothing.
    """
    present = ~np.isnan(scores)
    counts = present.sum(axis=1, keepdims=True)
    totals = np.where(present, scores, 0.0).sum(axis=1, keepdims=True)
    others: FloatArray = np.divide(totals - scores, counts - 1, out=np.full(scores.shape, np.nan), where=counts >= 2)
    differences = others - scores
    return differences[~np.isnan(differences)]


def minimal_detectable_drop(se: float, tolerance: float, alpha: float, looks: int, metrics: int) -> float:
    """The drop that is found with a power of 80 %: it must exceed the tolerance and be significant.

    max(tol + z_power se, (z[1 - alpha / (max(looks - 1, 1) metrics)] + z_power) se), in the unit of the tolerance.
    """
    power, critical = _power_and_critical(alpha, looks, metrics)
    return max(tolerance + power * se, (critical + power) * se)


def samples_to_halve(n: int, se: float, tolerance: float, alpha: float, looks: int, metrics: int) -> int | None:
    """How many samples would halve the minimal detectable drop; None where only a smaller tolerance could."""
    wanted = _se_to_halve(se, tolerance, alpha, looks, metrics)
    return None if wanted is None else math.ceil(n * (se / wanted) ** 2)


def slo_band(value: float, sigma: float, n: int, level: float = LEVEL) -> Bounds:
    """One-sided bounds of a mean under run-to-run noise: value -+ z[level] sigma / sqrt(n)."""
    from scipy.special import ndtri

    band = float(ndtri(level)) * sigma / math.sqrt(n)
    return Bounds(value - band, value + band)


def slo_breach_p_value(value: float, floor: float, sigma: float, n: int) -> float:
    """P(a mean as low as this | true mean at the floor); without noise 0 for a breach and 1 for none."""
    se = sigma / math.sqrt(n)
    if se < ZERO_SE:
        return 0.0 if value < floor - SLACK else 1.0
    from scipy.special import ndtr

    return float(ndtr((value - floor) / se))


def _se_to_halve(se: float, tolerance: float, alpha: float, looks: int, metrics: int) -> float | None:
    target = minimal_detectable_drop(se, tolerance, alpha, looks, metrics) / 2
    if se == 0 or target <= tolerance:
        return None
    power, critical = _power_and_critical(alpha, looks, metrics)
    return min((target - tolerance) / power, target / (critical + power))


def _power_and_critical(alpha: float, looks: int, metrics: int) -> tuple[float, float]:
    from scipy.special import ndtri

    return float(ndtri(POWER)), float(ndtri(1 - alpha / (max(looks - 1, 1) * max(metrics, 1))))


def _sum_of_squares(values: FloatArray) -> float:
    return math.fsum(np.square(values).tolist())


def _clean(se: float) -> float:
    return 0.0 if se < ZERO_SE else se

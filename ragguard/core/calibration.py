"""How far a judge agrees with people: the usual figures of two raters, with intervals from a seeded bootstrap.

The question a gate has is whether a judge finds the bad answers: precision, recall and F1 are of finding those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ragguard.core.samples import Record

LEVEL = 0.95
"""Of the intervals, two-sided."""

_FEWEST_CLUSTERS = 2
_MOST_UNDEFINED = 0.05
_CELLS_AT_ONCE = 2_000_000

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Labelled:
    """One answer that people and a judge have spoken of.

    Attributes:
        good: What people say.
        score: The judge's score, higher is better.
        passed: What the judge says.
        cluster: What the answer shares with others, such as its conversation: resampled together.
    """

    good: bool
    score: float
    passed: bool
    cluster: str


class Figure(Record):
    """One figure, and the bounds of its interval; None where it is not defined, or not often enough when resampled."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Figures(Record):
    """Agreement of a judge with people.

    Attributes:
        n: Answers.
        good: Answers that people call good.
        bad: Answers that people call bad.
        caught: Bad answers that the judge calls bad.
        missed: Bad answers that the judge calls good.
        false_alarms: Good answers that the judge calls bad.
        accuracy: Share of answers on which both agree.
        kappa: Cohen's kappa: agreement beyond what both raters' shares give by chance.
        auc: Chance that a good answer scores above a bad one, a tie counting half; the threshold plays no part.
        precision: caught / (caught + false alarms).
        recall: caught / bad.
        f1: Harmonic mean of precision and recall.
        good_precision: Share of good answers among those the judge calls good.
        good_recall: Share of good answers that the judge calls good.
        good_f1: Harmonic mean of the two.
    """

    n: int
    good: int
    bad: int
    caught: int
    missed: int
    false_alarms: int
    accuracy: Figure = Figure()
    kappa: Figure = Figure()
    auc: Figure = Figure()
    precision: Figure = Figure()
    recall: Figure = Figure()
    f1: Figure = Figure()
    good_precision: Figure = Figure()
    good_recall: Figure = Figure()
    good_f1: Figure = Figure()


class People(Record):
    """How far people agree with each other: what can be asked of a judge at most.

    Attributes:
        pairs: Pairs of votes on the same answer.
        agreement: Share of the pairs whose votes are the same; None without pairs.
    """

    pairs: int = 0
    agreement: float | None = None


def figures(answers: Sequence[Labelled], *, resamples: int = 1000, seed: int = 0) -> Figures:
    """Compares a judge with people.

    Args:
        answers: All answers that have both.
        resamples: Bootstrap resamples of whole clusters, >= 1.
        seed: Of the resampling: the same seed, the same intervals.

    Returns:
        The figures with percentile intervals at `LEVEL`.
    """
    good = np.array([each.good for each in answers], dtype=bool)
    passed = np.array([each.passed for each in answers], dtype=bool)
    counts = {
        "n": len(answers),
        "good": int(good.sum()),
        "bad": int((~good).sum()),
        "caught": int((~good & ~passed).sum()),
        "missed": int((~good & passed).sum()),
        "false_alarms": int((good & ~passed).sum()),
    }
    if not answers:
        return Figures(**counts)
    rates = _Rates(good, passed, np.array([each.score for each in answers], dtype=np.float64))
    measured = rates.of(np.ones((1, len(answers))))
    again = _resampled(rates, [each.cluster for each in answers], resamples, seed)
    found = {name: _figure(measured[name][0], again.get(name)) for name in measured}
    return Figures(**counts, **found)


def people_agreement(votes: Iterable[Sequence[bool]]) -> People:
    """Compares people's votes on the same answers, pair by pair."""
    pairs = same = 0
    for each in votes:
        for one, other in combinations(each, 2):
            pairs += 1
            same += one == other
    return People(pairs=pairs, agreement=same / pairs if pairs else None)


class _Rates:
    """All figures of weighted answers; NaN marks, inside this module only, what is not defined."""

    def __init__(self, good: Flags, passed: Flags, scores: Floats) -> None:
        order = np.argsort(scores, kind="stable")
        self._good, self._passed, self._order = good, passed, order
        ordered = scores[order]
        self._starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))

    def of(self, weights: Floats) -> dict[str, Floats]:
        """One row of weights, one value: shape (rows, answers) to (rows,) for each figure."""
        caught = weights @ (~self._good & ~self._passed)
        missed = weights @ (~self._good & self._passed)
        alarms = weights @ (self._good & ~self._passed)
        right = weights @ (self._good & self._passed)
        total = caught + missed + alarms + right
        agreed = _ratio(caught + right, total)
        chance = _ratio((caught + missed) * (caught + alarms) + (right + alarms) * (right + missed), total * total)
        return {
            "accuracy": agreed,
            "kappa": _ratio(agreed - chance, 1 - chance),
            "auc": self._auc(weights),
            "precision": _ratio(caught, caught + alarms),
            "recall": _ratio(caught, caught + missed),
            "f1": _ratio(2 * caught, 2 * caught + alarms + missed),
            "good_precision": _ratio(right, right + missed),
            "good_recall": _ratio(right, right + alarms),
            "good_f1": _ratio(2 * right, 2 * right + alarms + missed),
        }

    def _auc(self, weights: Floats) -> Floats:
        """By ranks: the good of each score against the bad below it, and half of those beside it."""
        ordered = weights[:, self._order]
        good = np.add.reduceat(ordered * self._good[self._order], self._starts, axis=1)
        bad = np.add.reduceat(ordered * ~self._good[self._order], self._starts, axis=1)
        below = np.cumsum(bad, axis=1) - bad
        return _ratio((good * (below + bad / 2)).sum(axis=1), good.sum(axis=1) * bad.sum(axis=1))


def _ratio(above: Floats, below: Floats) -> Floats:
    result: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=np.abs(below) > 1e-12)
    return result


def _resampled(rates: _Rates, clusters: Sequence[str], resamples: int, seed: int) -> dict[str, Floats]:
    """The figures of resamples in which whole clusters are drawn with replacement; empty for a single cluster."""
    codes = {name: code for code, name in enumerate(dict.fromkeys(clusters))}
    if len(codes) < _FEWEST_CLUSTERS:
        return {}
    members = np.array([codes[name] for name in clusters], dtype=np.intp)
    generator = np.random.default_rng(seed)
    shares = np.full(len(codes), 1 / len(codes))
    parts: list[dict[str, Floats]] = []
    at_once = max(1, _CELLS_AT_ONCE // max(len(members), len(codes)))
    for start in range(0, resamples, at_once):
        drawn = generator.multinomial(len(codes), shares, size=min(at_once, resamples - start))
        parts.append(rates.of(drawn[:, members].astype(np.float64)))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _figure(value: float, again: Floats | None) -> Figure:
    if np.isnan(value):
        return Figure()
    known = again[~np.isnan(again)] if again is not None else np.zeros(0)
    if again is None or known.size < (1 - _MOST_UNDEFINED) * again.size:
        return Figure(value=float(value))
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(value=float(value), low=float(low), high=float(high))

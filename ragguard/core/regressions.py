"""Which samples regressed: not the plain list of samples that fell, most of which is noise.

With two or more baseline runs, the differences among those runs say what noise alone does to one sample; each sample's
drop is held against that pool, and Benjamini-Hochberg keeps the share of false ones on the list in check. With one run
there is no such pool: the largest falls that held when judged again are listed, or, where nothing was judged again,
the largest falls, unconfirmed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragguard.core.evidence import MetricEvidence
from ragguard.core.measurement import Pairs, Sides
from ragguard.core.statistics import SLACK, benjamini_hochberg, conformal_p_values, leave_one_out_null

FALSE_DISCOVERY_RATE = 0.10
LARGEST_FALLS = 20


@dataclass(frozen=True, slots=True)
class RegressedSample:
    """One sample that got worse.

    Attributes:
        before: The baseline's mean score, judged afresh where a look did so.
        after: The candidate's.
        drop: How much worse, positive.
        p_value: Conformal p against the baseline's own noise; None with one baseline run.
        confirmed: Whether the false-discovery control or a further look stands behind it.
    """

    id: str
    metric: str
    before: float
    after: float
    drop: float
    p_value: float | None
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Regressions:
    """A metric's regressed samples, the largest drop first.

    Attributes:
        n_fell: How many samples fell at all, noise included.
        n_null: Size of the null pool; 0 for none.
        note: What the list is worth, in plain words.
    """

    metric: str
    samples: tuple[RegressedSample, ...]
    method: Literal["false_discovery", "largest_falls"]
    n_fell: int
    n_null: int
    note: str


def regressed_samples(
    evidence: MetricEvidence, *, q: float = FALSE_DISCOVERY_RATE, most: int = LARGEST_FALLS
) -> Regressions:
    """Finds the samples that regressed, at the last look that the evidence has.

    Args:
        evidence: Of a metric that is a mean; a percentile has no regressed samples.
        q: False-discovery rate, with two or more baseline runs.
        most: Length of the list of largest falls, with one run.
    """
    pairs = Pairs(evidence)
    sides = pairs.sides(evidence.look)
    drops = np.where(np.isnan(sides.drops), 0.0, sides.drops)
    null = leave_one_out_null(pairs.stored) if pairs.m >= 2 else np.empty(0)
    fell = drops > SLACK
    if evidence.aggregate != "mean":
        return Regressions(evidence.metric, (), "largest_falls", 0, 0, f"{evidence.aggregate} has no single sample")
    if null.size:
        # The pool holds drops of the score; where low is good, a drop is a rise.
        pool = null if evidence.direction == "higher" else -null
        p_values = conformal_p_values(drops, pool)
        chosen = np.flatnonzero(benjamini_hochberg(p_values, q) & fell)
        note = _note(q, drops.size, null.size)
        samples = _listed(evidence, pairs, sides, chosen, drops, p_values, confirmed=True)
        return Regressions(evidence.metric, samples, "false_discovery", int(fell.sum()), int(null.size), note)
    return _largest_falls(evidence, pairs, sides, drops, most)


def _note(q: float, n: int, n_null: int) -> str:
    note = f"about {q:.0%} of these may be noise, judged by {n_null:,} differences among the baseline runs"
    least = math.ceil(n / (1 + n_null) / q - SLACK)
    return note if least <= 1 else f"{note}; so few runs cannot tell fewer than {least} regressed samples from noise"


def _largest_falls(
    evidence: MetricEvidence, pairs: Pairs, sides: Sides, drops: npt.NDArray[np.float64], most: int
) -> Regressions:
    confirmed = evidence.look > 1
    fell = drops > SLACK
    if confirmed:
        fell &= pairs.sides(1).drops > SLACK
    chosen = np.flatnonzero(fell)
    samples = _listed(evidence, pairs, sides, chosen, drops, None, confirmed=confirmed)[:most]
    note = (
        "the largest falls that held when judged again; with one baseline run there is no measure of noise"
        if confirmed
        else "unconfirmed: the largest falls, judged once against one baseline run; most such falls are noise"
    )
    return Regressions(evidence.metric, samples, "largest_falls", int((drops > SLACK).sum()), 0, note)


def _listed(
    evidence: MetricEvidence,
    pairs: Pairs,
    sides: Sides,
    chosen: npt.NDArray[np.intp],
    drops: npt.NDArray[np.float64],
    p_values: npt.NDArray[np.float64] | None,
    *,
    confirmed: bool,
) -> tuple[RegressedSample, ...]:
    found = [
        RegressedSample(
            id=evidence.ids[pairs.rows[at]],
            metric=evidence.metric,
            before=float(sides.baseline[at]),
            after=float(sides.candidate[at]),
            drop=float(drops[at]),
            p_value=None if p_values is None else float(p_values[at]),
            confirmed=confirmed,
        )
        for at in chosen
    ]
    return tuple(sorted(found, key=lambda sample: (-sample.drop, sample.id)))

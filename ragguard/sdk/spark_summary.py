"""A summary of scores that lie in a data frame: each partition adds up exactly, only sums come to the driver.

The exact sum of many numbers is a short list of numbers that do not overlap. Such lists can be put together in any
order, and `math.fsum` of them is `math.fsum` of the numbers themselves, to the last digit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ragguard.core.metrics.base import Metric
from ragguard.core.summary import GroupTally, MetricStatistics, Summary, group_key, triad_mean

_QUANTILES = {"p50": 0.50, "p95": 0.95}
_PARTIAL = "partial string"


@dataclass
class Sums:
    """One metric's sums over some samples.

    Attributes:
        parts: Numbers that do not overlap, whose sum is the exact sum of the values.
    """

    count: int = 0
    parts: list[float] = field(default_factory=list)
    least: float | None = None
    most: float | None = None
    good: int = 0
    n_failed: int = 0
    n_not_applicable: int = 0

    def add(self, value: float | None, status: str, *, passed: bool) -> None:
        """Takes in one sample's score."""
        if status == "failed":
            self.n_failed += 1
        elif value is None:
            self.n_not_applicable += 1
        else:
            self.count += 1
            self.good += passed
            self.least = value if self.least is None else min(self.least, value)
            self.most = value if self.most is None else max(self.most, value)
            grow(self.parts, value)

    def merge(self, other: Sums) -> None:
        """Takes in another partition's sums."""
        self.count += other.count
        self.good += other.good
        self.n_failed += other.n_failed
        self.n_not_applicable += other.n_not_applicable
        self.parts += other.parts
        self.least = min((value for value in (self.least, other.least) if value is not None), default=None)
        self.most = max((value for value in (self.most, other.most) if value is not None), default=None)


def grow(parts: list[float], value: float) -> None:
    """Adds a number to an exact sum (Shewchuk 1997, Grow-Expansion)."""
    kept = 0
    for part in parts:
        large, small = (value, part) if abs(value) >= abs(part) else (part, value)
        total = large + small
        rest = small - (total - large)
        if rest:
            parts[kept] = rest
            kept += 1
        value = total
    parts[kept:] = [value]


def column_names(metric: str) -> tuple[str, str, str]:
    """The columns of a metric: its score, its status, whether it passed."""
    return metric, f"{metric}_status", f"{metric}_passed"


def summarize_frame(scores: Any, metrics: Sequence[Metric]) -> Summary:
    """Summarizes a data frame of scores, as `summarize` does results.

    Args:
        scores: With the `column_names` of every metric.
        metrics: What was scored.
    """
    groups: dict[str, list[str]] = {}
    for metric in metrics:
        groups.setdefault(group_key(metric), []).append(metric.id)
    everything = [metric.id for metric in metrics]
    columns = [f"`{name}`" for metric in everything for name in column_names(metric)]
    narrow = scores.select(*columns)
    plan = {**groups, "": everything}
    total, sums, tallies = _merged(narrow.mapInPandas(_first_pass(plan), _PARTIAL).collect(), plan)
    means = {name: math.fsum(one.parts) / one.count for name, one in sums.items() if one.count}
    squares: dict[str, list[float]] = {name: [] for name in means}
    for row in narrow.mapInPandas(_second_pass(means), _PARTIAL).collect():
        for name, parts in json.loads(row["partial"]).items():
            squares[name] += parts
    told = {
        metric.id: _statistics(scores, metric, sums[metric.id], means.get(metric.id), squares.get(metric.id, []))
        for metric in metrics
    }
    weights = {metric.id: metric.weight for metric in metrics}
    return Summary(
        total=total,
        metrics=told,
        groups={key: tallies[key].summary(told, weights) for key in groups},
        overall=tallies[""].summary(told, weights),
        triad_mean=triad_mean({name: one.average for name, one in told.items()}),
    )


Pass = Callable[[Iterable[Any]], Iterator[Any]]


def _first_pass(groups: Mapping[str, Sequence[str]]) -> Pass:
    """Counts and sums of one partition, as one JSON row."""

    def run(frames: Iterable[Any]) -> Iterator[Any]:
        import pandas as pd

        total = 0
        sums = {metric: Sums() for metric in groups[""]}
        counts = {key: [0, 0, 0] for key in groups}
        for frame in frames:
            for row in frame.itertuples(index=False, name=None):
                total += 1
                seen = _scores(row, groups[""])
                for metric, (value, status, passed) in seen.items():
                    sums[metric].add(value, status, passed=bool(passed))
                for key, names in groups.items():
                    _count(counts[key], [seen[name] for name in names])
        partial = {"total": total, "sums": {name: asdict(one) for name, one in sums.items()}, "counts": counts}
        yield pd.DataFrame({"partial": [json.dumps(partial)]})

    return run


Seen = tuple[float | None, str, bool | None]


def _scores(row: Sequence[Any], metrics: Sequence[str]) -> dict[str, Seen]:
    """A row's scores; pandas writes an absent number as NaN."""
    found: dict[str, Seen] = {}
    for place, metric in enumerate(metrics):
        value, status, passed = row[3 * place : 3 * place + 3]
        scored = status == "scored"
        found[metric] = (float(value) if scored else None, status, bool(passed) if scored else None)
    return found


def _count(counts: list[int], scores: Sequence[Seen]) -> None:
    """Good, bad, unknown, as `GroupTally` counts them."""
    own = [score for score in scores if score[1] in {"scored", "failed"}]
    if any(passed is False for _, _, passed in own):
        counts[1] += 1
    elif any(status == "failed" for _, status, _ in own):
        counts[2] += 1
    elif own:
        counts[0] += 1


def _second_pass(means: Mapping[str, float]) -> Pass:
    """Exact sums of squared distances from the means of one partition."""

    def run(frames: Iterable[Any]) -> Iterator[Any]:
        import pandas as pd

        parts: dict[str, list[float]] = {metric: [] for metric in means}
        for frame in frames:
            for metric, mean in means.items():
                for value in frame[metric].dropna():
                    grow(parts[metric], (float(value) - mean) ** 2)
        yield pd.DataFrame({"partial": [json.dumps(parts)]})

    return run


def _merged(
    rows: Iterable[Any], groups: Mapping[str, Sequence[str]]
) -> tuple[int, dict[str, Sums], dict[str, GroupTally]]:
    total = 0
    sums = {metric: Sums() for metric in groups[""]}
    tallies = {key: GroupTally(tuple(names)) for key, names in groups.items()}
    for row in rows:
        partial = json.loads(row["partial"])
        total += partial["total"]
        for metric, one in partial["sums"].items():
            sums[metric].merge(Sums(**one))
        for key, (good, bad, unknown) in partial["counts"].items():
            tallies[key].good += good
            tallies[key].bad += bad
            tallies[key].unknown += unknown
    return total, sums, tallies


def _statistics(
    scores: Any, metric: Metric, sums: Sums, mean: float | None, squares: Sequence[float]
) -> MetricStatistics:
    known = MetricStatistics(
        unit=metric.unit,
        aggregate=metric.aggregate,
        n_failed=sums.n_failed,
        n_not_applicable=sums.n_not_applicable,
    )
    if mean is None:
        return known
    quantile = _QUANTILES.get(metric.aggregate)
    value = mean if quantile is None else scores.selectExpr(f"percentile(`{metric.id}`, {quantile})").first()[0]
    return known.model_copy(
        update={
            "value": value,
            "average": mean,
            "count": sums.count,
            "min": sums.least,
            "max": sums.most,
            "std_dev": math.sqrt(math.fsum(squares) / sums.count),
            "good": sums.good,
            "bad": sums.count - sums.good,
        }
    )

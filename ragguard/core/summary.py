"""A run's scores in numbers: per metric, per group of fields, and over all. No number is ever NaN; unknown is None.

A group holds the metrics that need the same fields; its key is those fields joined by commas, such as
`user_input,response`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from pydantic import JsonValue

from ragguard.core.metrics.base import Metric
from ragguard.core.samples import Record
from ragguard.core.scores import SampleResult, Score

TRIAD = ("faithfulness", "context_relevance", "answer_relevance")
FIELD_NAMES = {"question": "user_input", "answer": "response", "contexts": "retrieved_contexts"}
"""How a group's key names the fields; others keep their name."""
_QUANTILES = {"p50": 0.50, "p95": 0.95}


class MetricStatistics(Record):
    """One metric over all scored samples; the numbers are None where none was scored.

    Attributes:
        value: What stands for the run: the average, or the percentile that the metric names.
        count: Scored samples.
        std_dev: Population standard deviation.
        good: Samples that reach the metric's threshold.
    """

    unit: Literal["fraction", "s", "usd"] = "fraction"
    aggregate: Literal["mean", "p50", "p95"] = "mean"
    value: float | None = None
    average: float | None = None
    count: int = 0
    min: float | None = None
    max: float | None = None
    std_dev: float | None = None
    good: int = 0
    bad: int = 0
    n_failed: int = 0
    n_not_applicable: int = 0


class GroupSummary(Record):
    """The metrics that need the same fields.

    Attributes:
        metrics: Their ids.
        overall_average: Weighted mean of their averages, of fractions only.
        good: Samples of which every metric of the group that applies is scored and reaches its threshold.
        bad: Samples of which one is scored below its threshold.
        unknown: Samples that are neither, because a score failed.
        good_ratio: good / (good + bad).
    """

    metrics: tuple[str, ...]
    overall_average: float | None = None
    good: int = 0
    bad: int = 0
    unknown: int = 0
    good_ratio: float | None = None
    bad_ratio: float | None = None


class Summary(Record):
    """All metrics, their groups, and everything together.

    Attributes:
        total: Samples.
        overall: All metrics as one group.
        triad_mean: Mean of the averages of faithfulness, context relevance and answer relevance; None unless all three
            are known.
    """

    total: int
    metrics: dict[str, MetricStatistics]
    groups: dict[str, GroupSummary]
    overall: GroupSummary
    triad_mean: float | None = None

    def as_json(self) -> dict[str, JsonValue]:
        """The summary as summary.json has it, with statistics under each group's key."""
        return {
            "total": self.total,
            "num_good": self.overall.good,
            "num_bad": self.overall.bad,
            "num_unknown": self.overall.unknown,
            "score": None if self.overall.good_ratio is None else round(100 * self.overall.good_ratio, 2),
            "type_ratio": {
                key: {"good": group.good_ratio, "bad": group.bad_ratio} for key, group in self.groups.items()
            },
            "metrics_score": {key: self._group_json(group) for key, group in self.groups.items()},
            "overall_average": self.overall.overall_average,
            "triad_mean": self.triad_mean,
        }

    def _group_json(self, group: GroupSummary) -> JsonValue:
        return {
            "stats": {metric: _statistics_json(self.metrics[metric]) for metric in group.metrics},
            "summary": {metric: self.metrics[metric].average for metric in group.metrics},
            "overall_average": group.overall_average,
        }


def _statistics_json(statistics: MetricStatistics) -> JsonValue:
    return {
        "score_average": statistics.average,
        "score_count": statistics.count,
        "score_min": statistics.min,
        "score_max": statistics.max,
        "score_std_dev": statistics.std_dev,
        "failed_count": statistics.n_failed,
        "not_applicable_count": statistics.n_not_applicable,
    }


def group_key(metric: Metric, names: Mapping[str, str] | None = None) -> str:
    """The fields that a metric needs, joined by commas.

    Args:
        metric: Any metric.
        names: What the fields are called; `FIELD_NAMES` where not given.
    """
    called = FIELD_NAMES if names is None else names
    return ",".join(called.get(need, need) for need in metric.needed)


def summarize(
    results: Iterable[SampleResult], metrics: Sequence[Metric], names: Mapping[str, str] | None = None
) -> Summary:
    """Summarizes results in one pass; of a sample only its values are kept.

    Args:
        results: One for each sample.
        metrics: The metrics to tell about; scores of others are left out.
        names: See `group_key`.
    """
    tallies = {metric.id: _Tally(metric) for metric in metrics}
    by_key: dict[str, list[str]] = {}
    for metric in metrics:
        by_key.setdefault(group_key(metric, names), []).append(metric.id)
    groups = {key: GroupTally(tuple(ids)) for key, ids in by_key.items()}
    everything = GroupTally(tuple(tallies))
    total = 0
    for result in results:
        total += 1
        scores = {score.metric: score for score in result.scores if score.metric in tallies}
        for score in scores.values():
            tallies[score.metric].add(score)
        for group in (*groups.values(), everything):
            group.add(scores)
    told = {name: tally.statistics() for name, tally in tallies.items()}
    weights = {metric.id: metric.weight for metric in metrics}
    return Summary(
        total=total,
        metrics=told,
        groups={key: group.summary(told, weights) for key, group in groups.items()},
        overall=everything.summary(told, weights),
        triad_mean=triad_mean({name: one.average for name, one in told.items()}),
    )


def triad_mean(averages: Mapping[str, float | None]) -> float | None:
    """Mean of the triad's three averages; None where one of them is unknown."""
    known = [average for name in TRIAD if (average := averages.get(name)) is not None]
    return math.fsum(known) / len(TRIAD) if len(known) == len(TRIAD) else None


@dataclass
class _Tally:
    """One metric's values as they come."""

    metric: Metric
    values: array[float] = field(default_factory=lambda: array("d"))
    good: int = 0
    n_failed: int = 0
    n_not_applicable: int = 0

    def add(self, score: Score) -> None:
        if score.status == "failed":
            self.n_failed += 1
        elif score.value is None:
            self.n_not_applicable += 1
        else:
            self.values.append(score.value)
            self.good += bool(score.passed)

    def statistics(self) -> MetricStatistics:
        known = MetricStatistics(
            unit=self.metric.unit,
            aggregate=self.metric.aggregate,
            n_failed=self.n_failed,
            n_not_applicable=self.n_not_applicable,
        )
        count = len(self.values)
        if not count:
            return known
        average = math.fsum(self.values) / count
        variance = math.fsum((value - average) ** 2 for value in self.values) / count
        quantile = _QUANTILES.get(self.metric.aggregate)
        return known.model_copy(
            update={
                "value": average if quantile is None else float(np.quantile(self.values, quantile)),
                "average": average,
                "count": count,
                "min": min(self.values),
                "max": max(self.values),
                "std_dev": math.sqrt(variance),
                "good": self.good,
                "bad": count - self.good,
            }
        )


@dataclass
class GroupTally:
    """Good and bad samples of a group as they come."""

    metrics: tuple[str, ...]
    good: int = 0
    bad: int = 0
    unknown: int = 0

    def add(self, scores: Mapping[str, Score]) -> None:
        """Counts one sample by its scores."""
        own = [scores[name] for name in self.metrics if name in scores and scores[name].status != "not_applicable"]
        if any(score.passed is False for score in own):
            self.bad += 1
        elif any(score.status == "failed" for score in own):
            self.unknown += 1
        elif own:
            self.good += 1

    def summary(self, told: Mapping[str, MetricStatistics], weights: Mapping[str, float]) -> GroupSummary:
        """The group in numbers, from the statistics and weights of its metrics."""
        averages = [
            (weights[name], average)
            for name in self.metrics
            if told[name].unit == "fraction" and (average := told[name].average) is not None
        ]
        weight = math.fsum(weight for weight, _ in averages)
        decided = self.good + self.bad
        return GroupSummary(
            metrics=self.metrics,
            overall_average=math.fsum(weight * average for weight, average in averages) / weight if averages else None,
            good=self.good,
            bad=self.bad,
            unknown=self.unknown,
            good_ratio=self.good / decided if decided else None,
            bad_ratio=self.bad / decided if decided else None,
        )

"""What `evaluate` gives: results by sample, a summary, means by metric, and a run that can be kept and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ragguard.adapters.run_folder import write_run
from ragguard.app.cross_checks import did_you_mean
from ragguard.core.metrics.base import Metric
from ragguard.core.runs import RunHead, Usage
from ragguard.core.scores import SampleResult
from ragguard.core.summary import Summary, summarize
from ragguard.errors import UserInputError
from ragguard.sdk.html import evaluation_html
from ragguard.sdk.results import NotScoredError, SampleScores
from ragguard.sdk.run_head import RunFacts, head_of

_SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Evaluated samples.

    A metric's mean is an attribute (`.faithfulness`), or an item where its id is no name (`["ndcg@10"]`). It is refused
    with `NotScoredError` where nothing was scored, or less than `min_coverage` of the samples that the metric applies
    to: a mean of the rest would pass for one of all. `summary` holds every number, with None for what is unknown.

    Attributes:
        records: The results as runs hold them, in the order of the samples.
        metrics: The metrics, in order.
        facts: What a saved run says of where this came from.
        notices: What a reader must know before the numbers.
        usage: What was paid for; unknown is None.
        min_coverage: Least share of scored samples, of those that a metric applies to.
    """

    records: tuple[SampleResult, ...] = field(repr=False)
    metrics: tuple[Metric, ...] = field(repr=False)
    facts: RunFacts = field(repr=False)
    notices: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage, repr=False)
    min_coverage: float = 0.95

    @cached_property
    def results(self) -> tuple[SampleScores, ...]:
        """Each sample's results, in the order of the samples."""
        return tuple(SampleScores.of(record) for record in self.records)

    @property
    def result(self) -> SampleScores:
        """The only sample's results.

        Raises:
            UserInputError: There are several.
        """
        if len(self.results) != 1:
            raise UserInputError(f"{len(self.results)} samples were evaluated", mend="`.results` holds them all")
        return self.results[0]

    @cached_property
    def summary(self) -> Summary:
        """All metrics in numbers: average, count, least, most, standard deviation, groups, good and bad samples."""
        return summarize(self.records, self.metrics)

    @property
    def triad_mean(self) -> float:
        """Mean of faithfulness, context relevance and answer relevance.

        Raises:
            NotScoredError: One of them is unknown.
        """
        known = self.summary.triad_mean
        names = ("faithfulness", "context_relevance", "answer_relevance")
        asked = {metric.id for metric in self.metrics}
        if known is None or not asked.issuperset(names):
            raise NotScoredError(f"there is no triad mean: it needs {', '.join(names)}, all scored")
        for name in names:
            self[name]
        return known

    @property
    def failed(self) -> tuple[SampleScores, ...]:
        """The samples that did not pass: a score is under its threshold, or could not be had."""
        return tuple(
            result
            for result in self.results
            if result.passed is False or any(score.status == "failed" for score in result)
        )

    @property
    def passed(self) -> bool:
        """Whether every sample reached every metric's threshold, and every metric was scored at all."""
        scored = all(self.summary.metrics[metric.id].count for metric in self.metrics)
        return scored and not self.failed

    @cached_property
    def head(self) -> RunHead:
        """The evaluation as a run's head, without a baseline."""
        return head_of(self.facts, self.records, self.metrics, self.notices, self.usage, self.min_coverage)

    def save(self, folder: str | Path) -> RunHead:
        """Writes run.json and samples.jsonl, for `compare` and for `ragguard compare`, `report` and `explain`.

        Raises:
            ObjectError: The folder cannot be written.
        """
        return write_run(folder, self.head, self.records)

    def to_dict(self) -> dict[str, Any]:
        """Summary and results as JSON values."""
        return {
            "notices": list(self.notices),
            "summary": self.summary.as_json(),
            "usage": self.usage.model_dump(mode="json"),
            "results": [result.to_dict() for result in self.results],
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat row for each sample and metric, ready for a data frame."""
        return [
            {
                "id": result.id,
                "question": result.question,
                "answer": result.answer,
                "metric": score.metric,
                "status": score.status,
                "score": score.score,
                "passed": score.passed,
                "label": score.label,
                "reason": score.reason,
            }
            for result in self.results
            for score in result
        ]

    def __getitem__(self, metric: str) -> float:
        if metric not in self.summary.metrics:
            raise KeyError(f"{metric!r} is not among the metrics{did_you_mean(metric, self.summary.metrics)}")
        told = self.summary.metrics[metric]
        due = told.count + told.n_failed
        if told.value is None:
            raise NotScoredError(f"{metric} was scored for none of {len(self.records)} samples: {self._why(metric)}")
        if told.count < self.min_coverage * due - _SLACK:
            raise NotScoredError(
                f"{metric} was scored for {told.count} of {due} samples only: {self._why(metric)}",
                mend="mend that, or lower min_coverage; `.summary` has the mean of the rest",
            )
        return told.value

    def __getattr__(self, name: str) -> float:
        if name.startswith("_") or "records" not in self.__dict__:
            raise AttributeError(name)
        if name not in self.summary.metrics:
            raise AttributeError(f"{name!r} is not among the metrics{did_you_mean(name, self.summary.metrics)}")
        return self[name]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[SampleScores]:
        return iter(self.results)

    def __bool__(self) -> bool:
        raise TypeError(
            "an evaluation is neither true nor false: say what must hold, `.faithfulness >= 0.9`, `.passed`"
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(metric.id for metric in self.metrics)})

    def __str__(self) -> str:
        lines = [f"note: {notice}" for notice in self.notices]
        for name, told in self.summary.metrics.items():
            value = "unknown" if told.value is None else f"{told.value:.4f}"
            rest = f", {told.n_failed} failed" if told.n_failed else ""
            rest += f", {told.n_not_applicable} not applicable" if told.n_not_applicable else ""
            lines.append(f"{name}: {value} ({told.count} scored{rest})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return evaluation_html(self.notices, self.summary, self.results)

    def _why(self, metric: str) -> str:
        """The most telling reason for a missing score."""
        missing = [result[metric] for result in self.results if result[metric].score is None]
        missing.sort(key=lambda score: score.status != "failed")
        return (missing[0].reason or missing[0].status) if missing else "there is no sample"

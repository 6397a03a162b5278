"""What one sample got: each metric's score with its label and reason, as people read and tabulate them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ragguard.app.cross_checks import did_you_mean
from ragguard.core.scores import SampleResult, Score
from ragguard.errors import OutsideWorldError


class NotScoredError(OutsideWorldError):
    """A number was asked for that could not be had: nothing, or too little, was scored."""


@dataclass(frozen=True)
class MetricResult:
    """One metric's result for one sample.

    Attributes:
        metric: The metric's id.
        score: A fraction in [0, 1] (seconds, US dollars for latency and cost); None unless scored.
        passed: Whether the score reaches the metric's threshold (0.5 unless set); None unless scored.
        label: `<metric>.pass`, `.fail`, `.not_applicable` or `.failed`.
        reason: Why, in one sentence.
        status: `scored`, `not_applicable` (the sample lacks a field), or `failed` (the judge or the app failed).
        flags: What a reader should know, such as `no_claims`.
        details: Claims, evidence, cosines: what the score was computed from.
    """

    metric: str
    score: float | None
    passed: bool | None
    label: str
    reason: str | None
    status: Literal["scored", "not_applicable", "failed"]
    flags: tuple[str, ...]
    details: Mapping[str, Any]

    @classmethod
    def of(cls, score: Score) -> MetricResult:
        """From the record."""
        return cls(
            metric=score.metric,
            score=score.value,
            passed=score.passed,
            label=score.label,
            reason=score.reason,
            status=score.status,
            flags=score.flags,
            details=score.details,
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return {
            "metric": self.metric,
            "status": self.status,
            "score": self.score,
            "passed": self.passed,
            "label": self.label,
            "reason": self.reason,
            "flags": list(self.flags),
            "details": dict(self.details),
        }


@dataclass(frozen=True)
class SampleScores:
    """One sample's results, by metric; iterating gives them in order.

    Attributes:
        id: The sample's id.
        question: Its question.
        answer: What was judged; None where there was no answer.
        tags: Its tags.
        scores: By metric id.
    """

    id: str
    question: str
    answer: str | None
    tags: tuple[str, ...]
    scores: Mapping[str, MetricResult]

    @classmethod
    def of(cls, result: SampleResult) -> SampleScores:
        """From the record, which holds its texts."""
        return cls(
            id=result.id,
            question=result.sample.question if result.sample is not None else "",
            answer=result.answer.text if result.answer is not None else None,
            tags=result.tags,
            scores={score.metric: MetricResult.of(score) for score in result.scores},
        )

    @property
    def passed(self) -> bool | None:
        """False where a score is under its threshold; None where that is unknown; True else."""
        if any(result.passed is False for result in self):
            return False
        known = [result for result in self if result.status != "not_applicable"]
        return None if not known or any(result.status == "failed" for result in known) else True

    def __iter__(self) -> Iterator[MetricResult]:
        return iter(self.scores.values())

    def __getitem__(self, metric: str) -> MetricResult:
        if metric not in self.scores:
            raise KeyError(f"{metric!r} is not among the metrics{did_you_mean(metric, self.scores)}")
        return self.scores[metric]

    def __getattr__(self, name: str) -> float:
        """A metric's score, such as `.faithfulness`.

        Raises:
            NotScoredError: The metric has no score for this sample.
        """
        # While a copy or pickle is put together the fields are not there yet.
        scores: Mapping[str, MetricResult] = self.__dict__.get("scores", {})
        if name.startswith("_") or name not in scores:
            raise AttributeError(f"{name!r} is not among the metrics{did_you_mean(name, scores)}")
        result = scores[name]
        if result.score is None:
            raise NotScoredError(f"sample {self.id} has no score of {name}: {result.reason}")
        return result.score

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.scores})

    def to_dict(self) -> dict[str, Any]:
        """The sample and its results as JSON values."""
        return {
            "id": self.id,
            "question": self.question,
            "answer": self.answer,
            "tags": list(self.tags),
            "passed": self.passed,
            "scores": [result.to_dict() for result in self],
        }

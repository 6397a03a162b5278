"""What every metric is: settings that are also its YAML arguments, the fields it needs, and one way to score.

A metric that lacks a field it needs is `not_applicable`, never 0 and never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from ragguard.core.digests import digest
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Sample, passages_of
from ragguard.core.scores import Judgment, Score
from ragguard.core.tasks import Task

_NOT_PART_OF_THE_VALUE = {"threshold", "scale", "weight"}


class Metric(BaseModel):
    """Base of all metrics; the user's own metrics derive from it too.

    Attributes:
        type: The metric's name in the config.
        threshold: A sample passes when its value is not below; a fraction.
        scale: The scale `threshold` is written on; `threshold: 7` with `scale: 10` means 0.7.
        weight: Weight in the overall average.
        version: Counted up when the same inputs would give another value.
        needs: Sample fields that must be there: question, answer, contexts, reference …
        uses_embedder: Whether `score` calls `tools.embed`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    type: str
    threshold: float = Field(default=0.5, ge=0)
    scale: float = Field(default=1.0, gt=0)
    weight: float = Field(default=1.0, gt=0)

    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ("question", "answer")
    uses_embedder: ClassVar[bool] = False
    unit: ClassVar[Literal["fraction", "s", "usd"]] = "fraction"
    direction: ClassVar[Literal["higher", "lower"]] = "higher"

    @model_validator(mode="after")
    def _threshold_fits_scale(self) -> Metric:
        if self.unit == "fraction" and self.threshold > self.scale:
            raise ValueError(
                f"threshold {self.threshold:g} is above its scale {self.scale:g}: "
                "write a fraction, or add `scale: 10` for a threshold on 0-10"
            )
        return self

    @property
    def id(self) -> str:
        """The metric's id in runs, reports and SLO names."""
        return self.type

    @property
    def needed(self) -> tuple[str, ...]:
        """The sample fields that must be there: `needs`, unless settings ask for others."""
        return self.needs

    @property
    def aggregate(self) -> Literal["mean", "p50", "p95"]:
        """How the samples' values become the run's value."""
        return "mean"

    @property
    def task_names(self) -> tuple[str, ...]:
        """Names of the judge tasks this metric may ask, for its fingerprint."""
        return ()

    @property
    def settings_digest(self) -> str:
        """Digest of the version and of the settings that decide a value."""
        return digest([type(self).version, self.model_dump(mode="json", exclude=_NOT_PART_OF_THE_VALUE)])

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """The judge tasks that `score` will ask, known beforehand; empty when it asks none."""
        return ()

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """Inputs that decide the value but stand in no judge task; by default everything.

        With the judgments' keys and the settings they decide the score key: equal keys, equal scores.
        """
        return {
            "sample": sample.model_dump(mode="json", exclude={"line", "tags", "answer"}),
            "answer": answer.model_dump(mode="json"),
        }

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Scores one answer.

        Raises:
            TaskFailedError: A judgment failed; the caller turns it into a failed score.
        """
        raise NotImplementedError

    def missing(self, sample: Sample, answer: Answer) -> list[str]:
        """Names the needed fields that are absent."""
        passages = passages_of(sample, answer)
        flagged = (*(sample.contexts or ()), *(answer.contexts or ()))
        present = {
            "question": True,
            "answer": True,
            "contexts": passages is not None,
            "reference": bool(sample.reference),
            "citations": answer.citations is not None,
            "answerable": sample.answerable is not None or sample.unanswerable_keys is not None,
            # Where nothing was retrieved nothing right was, whichever passages would have been.
            "gold_passages": sample.gold_passage_ids is not None
            or passages == ()
            or any(passage.is_ground_truth is not None for passage in flagged),
            "unanswerable_keys": sample.unanswerable_keys is not None,
            "gold_facts": sample.gold_facts is not None,
            "latency_s": answer.latency_s is not None,
            "cost_usd": answer.cost_usd is not None,
        }
        return [name for name in self.needed if not present.get(name, False)]

    def scored(
        self,
        value: float,
        *,
        reason: str | None = None,
        flags: Sequence[str] = (),
        details: dict[str, Any] | None = None,
        judgments: Iterable[Judgment] = (),
    ) -> Score:
        """Builds a scored `Score`; a value outside [0, 1] of a fraction, or not finite, is a bug and raises."""
        if not math.isfinite(value) or (self.unit == "fraction" and not -1e-9 <= value <= 1 + 1e-9):
            raise ValueError(f"metric {self.id} gave {value!r}, which is no fraction in [0, 1]")
        value = min(1.0, max(0.0, value)) if self.unit == "fraction" else value
        passed = self.passes(value)
        return Score(
            metric=self.id,
            status="scored",
            value=value,
            passed=passed,
            label=f"{self.id}.{'pass' if passed else 'fail'}",
            reason=reason,
            flags=tuple(flags),
            details=details or {},
            judgment_keys=tuple(judgment.key for judgment in judgments),
        )

    def passes(self, value: float) -> bool:
        """Whether a value reaches the threshold, with 1e-9 of slack."""
        return value >= self.threshold / self.scale - 1e-9

    def not_applicable(self, reason: str, *, judgments: Iterable[Judgment] = ()) -> Score:
        """Builds the score of a sample that lacks what the metric needs, which a judge may have found out."""
        return Score(
            metric=self.id,
            status="not_applicable",
            label=f"{self.id}.not_applicable",
            reason=reason,
            judgment_keys=tuple(judgment.key for judgment in judgments),
        )

    def failed(self, reason: str) -> Score:
        """Builds the score of a sample whose judge or target failed."""
        return Score(metric=self.id, status="failed", label=f"{self.id}.failed", reason=reason)


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean by `math.fsum`; raises ValueError for no values, so that nothing is never 0."""
    if not values:
        raise ValueError("the mean of nothing is unknown")
    return math.fsum(values) / len(values)

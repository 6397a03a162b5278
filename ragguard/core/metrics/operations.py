"""Latency and cost of the app under test: measured, not judged; lower is better, gated as a relative rise."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from ragguard.core.metrics.base import Metric
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import Score

Percentile = Literal["p50", "p95"]
PERCENTILES: tuple[Percentile, ...] = ("p50", "p95")


class OperationalMetric(Metric):
    """Base of latency and cost: one value for each answer, a percentile over the run; ids such as `latency@p95`."""

    at: Percentile = Field(default="p95", description="The percentile over all samples that becomes the run's value.")
    threshold: float = Field(default=0.0, ge=0, description="What an answer may take at most; 0 for no limit.")
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    needs: ClassVar[tuple[str, ...]] = ("answer",)

    @property
    def id(self) -> str:
        """The type and the percentile."""
        return f"{self.type}@{self.at}"

    @property
    def aggregate(self) -> Literal["mean", "p50", "p95"]:
        """The percentile."""
        return self.at

    def passes(self, value: float) -> bool:
        """Whether an answer stays within the limit, if there is one."""
        return not self.threshold or value <= self.threshold / self.scale + 1e-9

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """The measured value alone."""
        return self.measured(answer)

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Takes over what was measured."""
        value = self.measured(answer)
        return self.not_applicable(f"no {self.type} was measured") if value is None else self.scored(value)

    def measured(self, answer: Answer) -> float | None:
        """The answer's own measurement."""
        raise NotImplementedError


class Latency(OperationalMetric):
    """Seconds the app took to answer."""

    type: Literal["latency"] = "latency"
    unit: ClassVar[Literal["fraction", "s", "usd"]] = "s"
    needs: ClassVar[tuple[str, ...]] = ("latency_s",)

    def measured(self, answer: Answer) -> float | None:
        """Seconds."""
        return answer.latency_s


class Cost(OperationalMetric):
    """US dollars that the answer cost."""

    type: Literal["cost"] = "cost"
    unit: ClassVar[Literal["fraction", "s", "usd"]] = "usd"
    needs: ClassVar[tuple[str, ...]] = ("cost_usd",)

    def measured(self, answer: Answer) -> float | None:
        """US dollars."""
        return answer.cost_usd

"""The gate's settings: the section `gate:` of the config, and what `slo:` adds to it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ragguard.core.evidence import Aggregate
from ragguard.core.quantities import LARGEST

Number = Annotated[float, Field(ge=0, le=LARGEST, strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)]


class Tolerance(BaseModel):
    """How far one metric may fall.

    Attributes:
        value: The tolerated drop.
        relative: Whether `value` is a share of the baseline's value; by default it is for latency and cost alone, and
            a difference of fractions for everything else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: Number
    relative: bool | None = None


class GatePolicy(BaseModel):
    """How drops become outcomes.

    Attributes:
        rule: `staged` looks again before it fails a run; `threshold` compares two means and nothing more.
        looks: How often a suspicious metric is judged at most; 1 cannot guard against judge drift.
        alpha: Chance of a false alarm over all metrics and looks.
        tolerance: By metric; `regression_tolerance` where it has none.
        carry_over: Take judgments of unchanged answers over from the baseline.
        rescore_baseline: Judge the baseline's stored answers again when judge, prompt or metric changed.
        min_coverage: Least share of samples that must be scored, of those the metric applies to.
        min_pair_share: Least share of the baseline's ids that must be paired.
        on_inconclusive: Whether an unproven drop beyond the tolerance blocks.
        on_not_comparable: Whether a pull request that cannot be compared is blocked.
        on_no_baseline: Whether a first run blocks.
        reanswer: Ask a live target for new answers at each look.
        cluster_by: What makes samples dependent, for one baseline run: `conversation` (the same first turn), or
            `tag:<prefix>` (the same tag with that prefix, such as `tag:doc-` for questions on one document).
        regression_tolerance: From `slo:`, the tolerance of metrics that name none.
        slo_minima: From `slo:`, the floor of each metric's mean.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: Literal["staged", "threshold"] = "staged"
    looks: int = Field(default=3, ge=1, le=3, strict=True)
    alpha: float = Field(default=0.05, gt=0, lt=0.5, strict=True)
    tolerance: dict[str, Number | Tolerance] = Field(default_factory=dict)
    carry_over: bool = True
    rescore_baseline: Literal["auto", "never"] = "auto"
    min_coverage: Share = 0.95
    min_pair_share: Share = 0.95
    on_inconclusive: Literal["fail", "warn"] = "fail"
    on_not_comparable: Literal["fail", "warn"] = "fail"
    on_no_baseline: Literal["warn", "fail"] = "warn"
    reanswer: bool = False
    cluster_by: Annotated[str, Field(pattern=r"^(none|conversation|tag:.+)$")] = "none"
    regression_tolerance: Number = 0.02
    slo_minima: dict[str, Number] = Field(default_factory=dict)

    @property
    def look_alpha(self) -> float:
        """What each look that may fail a metric has of `alpha`."""
        return self.alpha / max(self.looks - 1, 1)

    def tolerance_of(self, metric: str, aggregate: Aggregate) -> tuple[float, bool]:
        """Returns a metric's tolerance and whether it is a share of the baseline's value."""
        relative_by_nature = aggregate != "mean"
        found = self.tolerance.get(metric, self.regression_tolerance)
        if not isinstance(found, Tolerance):
            return found, relative_by_nature
        return found.value, relative_by_nature if found.relative is None else found.relative

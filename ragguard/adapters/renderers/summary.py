"""summary.json: averages, counts, ranges and good-to-bad ratios by metric and by group of fields."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ragguard.adapters.renderers.json import record_text
from ragguard.core.summary import Summary


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StatisticsDocument(_Part):
    """One metric; the numbers are null where no sample was scored."""

    score_average: float | None
    score_count: int
    score_min: float | None
    score_max: float | None
    score_std_dev: float | None
    failed_count: int
    not_applicable_count: int


class GroupDocument(_Part):
    """The metrics that need the same fields."""

    stats: dict[str, StatisticsDocument]
    summary: dict[str, float | None]
    overall_average: float | None


class RatioDocument(_Part):
    """Shares of samples that reach every threshold, and that miss one."""

    good: float | None
    bad: float | None


class SummaryDocument(_Part):
    """summary.json; a group's key is its fields joined by commas."""

    total: int
    num_good: int
    num_bad: int
    num_unknown: int
    score: float | None
    type_ratio: dict[str, RatioDocument]
    metrics_score: dict[str, GroupDocument]
    overall_average: float | None
    triad_mean: float | None


def render_summary(summary: Summary) -> str:
    """summary.json as text."""
    return record_text(SummaryDocument.model_validate(summary.as_json()))

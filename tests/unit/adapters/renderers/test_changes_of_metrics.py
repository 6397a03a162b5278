"""How a metric's change is told: a difference of means in points, a percentile's as the share by which it rose."""

from __future__ import annotations

import pytest

from ragguard.adapters.renderers.words import metric_change_text
from ragguard.core.runs import MetricSummary
from ragguard.entrypoints.console import _change

SLOWER = {"aggregate": "p95", "unit": "s", "mean": 0.402, "baseline_mean": 0.2, "outcome": "failed"}


@pytest.mark.parametrize(
    ("fields", "report", "terminal"),
    [
        ({"outcome": "failed", "delta": -0.0125}, "−1.25 points", "-0.013"),
        ({"outcome": "passed", "delta": None}, "unknown", "-"),
        ({**SLOWER, "delta": -1.01}, "+101.0 %", "+101.0 %"),
        ({**SLOWER, "delta": 0.25}, "−25.0 %", "-25.0 %"),
    ],
)
def test_a_change_in_words(fields: dict[str, object], report: str, terminal: str) -> None:
    metric = MetricSummary.model_validate(fields)
    assert metric_change_text(metric) == report
    assert _change(metric) == terminal

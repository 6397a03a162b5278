"""Latency and cost: measured values, lower is better, one percentile each."""

from __future__ import annotations

import pytest

from ragguard.core.metrics import parse_metric
from tests.unit.core.metrics.cases import answer, metric, sample, score


@pytest.mark.parametrize(("kind", "field", "unit"), [("latency", "latency_s", "s"), ("cost", "cost_usd", "usd")])
def test_the_measured_value_is_the_score(kind: str, field: str, unit: str) -> None:
    found = score(f"{kind}@p50", sample(), answer(**{field: 2.5}), calls=0)
    assert (found.metric, found.value, found.passed) == (f"{kind}@p50", 2.5, True)
    assert score(kind + "@p95", sample(), answer()).status == "not_applicable"
    both = parse_metric(kind)
    assert [one.id for one in both] == [f"{kind}@p50", f"{kind}@p95"]
    assert [one.aggregate for one in both] == ["p50", "p95"]
    assert {(one.unit, one.direction) for one in both} == {(unit, "lower")}


@pytest.mark.parametrize(("value", "passed"), [(3.0, True), (3.1, False)])
def test_a_threshold_is_the_most_that_passes(value: float, passed: bool) -> None:
    found = score({"type": "latency@p95", "threshold": 3}, sample(), answer(latency_s=value))
    assert found.passed is passed


def test_another_percentile_is_another_metric() -> None:
    assert metric("latency@p50").settings_digest != metric("latency@p95").settings_digest

"""Numbers of records have a size that can be computed with and shown, wherever they come from."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from ragguard.adapters.renderers.history_page import history_page
from ragguard.core.decisions import Decision
from ragguard.core.gate import step
from ragguard.core.policy import GatePolicy
from ragguard.core.runs import MetricSummary, Usage
from ragguard.core.samples import Answer
from ragguard.core.scores import Score
from tests.fakes.reports import make_report
from tests.unit.core.gate_cases import evidence


@pytest.mark.parametrize("size", [1e13, 1e308, float("inf"), float("nan")])
def test_no_record_holds_what_nothing_measured_can_have(size: float) -> None:
    for make in (
        lambda: Answer(text="a", latency_s=size),
        lambda: Answer(text="a", cost_usd=size),
        lambda: Score(metric="m", status="scored", value=size),
        lambda: MetricSummary(outcome="passed", mean=size * 1e20),
        lambda: MetricSummary(outcome="passed", ci_low=-size * 1e20),
        lambda: Usage(cost_usd=size * 1e20),
        lambda: GatePolicy(regression_tolerance=size),
        lambda: GatePolicy(slo_minima={"faithfulness": size}),
    ):
        with pytest.raises(ValidationError):
            make()


def test_the_largest_numbers_are_drawn() -> None:
    report = make_report("failed")
    heads = [
        report.head.model_copy(
            update={
                "run_id": f"r{number}",
                "created_at": datetime(2026, 3, 1 + number, tzinfo=UTC),
                "metrics": {
                    "cost@p50": MetricSummary(outcome="passed", mean=mean, delta=mean, ci_low=-mean, ci_high=mean)
                },
            }
        )
        for number, mean in enumerate((1e30, -1e30, 1e-300))
    ]
    page = history_page("s", heads, frozenset())
    assert 'points="' in page
    assert "nan" not in page
    assert "inf" not in page.replace("infinit", "")


@pytest.mark.parametrize("baseline", [0.0, 1e-16, 1e-300])
def test_a_rise_from_next_to_nothing_has_no_ratio(baseline: float) -> None:
    found = evidence([baseline] * 30, [1e12] * 30, metric="latency@p95", direction="lower", aggregate="p95")
    decision = step({"latency@p95": found}, GatePolicy())
    assert isinstance(decision, Decision)
    assert decision.outcome == "not_comparable"
    assert decision.metrics["latency@p95"].drop is None


def test_sums_of_the_largest_are_numbers() -> None:
    found = evidence([1e12] * 30, [1e12] * 30, metric="cost@p50", direction="lower", aggregate="p50")
    decision = step({"cost@p50": found}, GatePolicy())
    assert isinstance(decision, Decision)
    assert decision.metrics["cost@p50"].mean == 1e12

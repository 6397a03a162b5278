"""A suite over time: what is shown, and what declines slowly."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ragguard.adapters.renderers.history_page import history_page
from ragguard.app.history import (
    History,
    declines,
    history_json,
    history_lines,
    noise_band,
    one_course,
    sparkline,
)
from ragguard.core.runs import MetricSummary, RunHead
from tests.unit.core.test_baseline import NOW, head


def run(number: int, mean: float | None, **metric: object) -> RunHead:
    summary = MetricSummary(outcome="passed", mean=mean, tolerance=0.02, **metric)  # type: ignore[arg-type]
    changes = {"created_at": NOW + timedelta(days=number), "metrics": {"faithfulness": summary}}
    return head(f"r{number}").model_copy(update=changes)


def test_small_drops_one_after_another_are_a_slow_decline() -> None:
    runs = [run(n, 0.95 - 0.01 * n) for n in range(6)]
    (found,) = declines(runs)
    assert (found.metric, found.since, found.before) == ("faithfulness", "r0", 0.95)
    assert found.now == pytest.approx(0.91)
    assert found.slope == pytest.approx(-0.01)


@pytest.mark.parametrize(
    "means", [[0.9] * 6, [0.9, 0.91, 0.9, 0.89, 0.9, 0.88], [0.9, 0.5], [0.95, 0.9, 0.95, 0.95, 0.94]]
)
def test_a_level_line_a_single_bad_run_and_too_few_runs_are_none(means: list[float]) -> None:
    assert list(declines([run(n, mean) for n, mean in enumerate(means)])) == []


def test_the_pinned_run_is_what_declines_are_held_against() -> None:
    runs = [run(n, 0.90) for n in range(5)]
    (found,) = declines(runs, run(99, 0.95))
    assert (found.since, found.before) == ("r99", 0.95)


def test_runs_of_other_questions_are_no_decline_and_begin_anew_once_promoted() -> None:
    runs = [run(n, 0.95 if n < 3 else 0.6) for n in range(4)] + [run(n, 0.6 - 0.02 * n) for n in range(4, 9)]
    runs[3] = runs[3].model_copy(update={"outcome": "not_comparable"})
    assert [one.run_id for one in one_course(runs[:4], ())] == ["r0", "r1", "r2"]
    assert list(declines(one_course(runs[:4], ()))) == []
    course = one_course(runs, {"r3"})
    assert [one.run_id for one in course] == ["r3", "r4", "r5", "r6", "r7", "r8"]
    assert [found.since for found in declines(course)] == ["r3"]


def test_an_unknown_mean_is_a_blank_and_never_a_zero() -> None:
    assert sparkline([0.1, None, 0.9]) == "▁ █"
    assert sparkline([None, None]) == "  "
    assert sparkline([0.5, 0.5]) == "██"
    history = History("s", (run(0, None), run(1, 0.9)), frozenset({"r1"}), None, ())
    lines = list(history_lines(history))
    assert any(line.startswith("  r0") and line.endswith("-") for line in lines)
    assert history_json(history)["runs"][0]["metrics"]["faithfulness"]["mean"] is None  # type: ignore[index]


def test_noise_looks_level_and_a_real_drop_does_not() -> None:
    assert sparkline([0.93, 0.925, 0.93]) == "███"
    assert sparkline([0.93, 0.80, 0.93]) == "█▁█"
    assert sparkline([120.0, 140.0], 0.0) == "▁█"


def test_lines_tell_both_marks_each_scale_and_what_the_marks_mean() -> None:
    slow = MetricSummary(outcome="passed", unit="s", direction="lower", aggregate="p95", mean=2.0)
    runs = [run(n, mean) for n, mean in enumerate((0.9, 0.7, None))]
    runs[0] = runs[0].model_copy(update={"metrics": {**runs[0].metrics, "latency@p95": slow}})
    lines = list(history_lines(History("s", tuple(runs), frozenset({"r0"}), "r0", ())))
    assert lines[1].startswith("*pr0 ")
    assert lines[2].startswith("  r1 ")
    assert "faithfulness: █▁   0.700 to 0.900" in lines
    assert "latency@p95: ▁    2.000 to 2.000" in lines
    text = "\n".join(lines)
    assert "p pinned: every run is compared with it as well" in text
    assert "share more than half of their answers" in text


def test_the_band_is_laid_around_the_mean() -> None:
    summary = MetricSummary(outcome="passed", mean=0.9, delta=-0.01, ci_low=-0.03, ci_high=0.01)
    assert noise_band(summary) == (pytest.approx(0.88), pytest.approx(0.92))
    assert noise_band(MetricSummary(outcome="passed", mean=0.9)) is None


def test_the_page_draws_each_metric_and_escapes_names() -> None:
    runs = [run(n, 0.9 + n / 100, slo_min=0.8, delta=0.0, ci_low=-0.01, ci_high=0.01) for n in range(3)]
    page = history_page("<script>alert(1)</script>", runs, {"r2"})
    assert "<script>" not in page
    assert page.count("<circle") == 3
    assert 'class="floor"' in page
    assert 'class="band"' in page
    assert "NaN" not in page
    assert "No run is stored yet" in history_page("s", [], set())

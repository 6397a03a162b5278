"""The summary: statistics per metric and group, good and bad, checked against the statistics module."""

from __future__ import annotations

import json
import statistics
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.core.metrics import parse_metric
from ragguard.core.metrics.base import Metric
from ragguard.core.scores import SampleResult, Score
from ragguard.core.summary import group_key, summarize, triad_mean

FAILED = "failed"
ABSENT = "absent"


def metrics(*entries: Any) -> list[Metric]:
    return [metric for entry in entries for metric in parse_metric(entry)]


def results(chosen: list[Metric], rows: list[dict[str, Any]]) -> list[SampleResult]:
    """One result for each row of values by metric id; FAILED and ABSENT stand for themselves."""
    by_id = {metric.id: metric for metric in chosen}
    return [
        SampleResult(
            id=f"s{index}",
            sample_digest="",
            passages_digest="",
            scores=tuple(score_of(by_id[name], value) for name, value in row.items()),
        )
        for index, row in enumerate(rows)
    ]


def score_of(metric: Metric, value: Any) -> Score:
    if value == FAILED:
        return metric.failed("judge down")
    return metric.not_applicable("no field") if value == ABSENT else metric.scored(value)


VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@settings(deadline=None)
@given(VALUES)
def test_statistics_equal_those_of_the_statistics_module(values: list[float]) -> None:
    chosen = metrics("faithfulness")
    found = summarize(results(chosen, [{"faithfulness": value} for value in values]), chosen).metrics["faithfulness"]
    assert found.count == len(values)
    assert found.average == pytest.approx(statistics.fmean(values))
    assert found.value == found.average
    assert (found.min, found.max) == (min(values), max(values))
    assert found.std_dev == pytest.approx(statistics.pstdev(values), abs=1e-12)
    assert (found.good, found.bad) == (sum(v >= 0.5 - 1e-9 for v in values), sum(v < 0.5 - 1e-9 for v in values))


def test_nothing_scored_is_unknown_and_never_0_or_nan() -> None:
    chosen = metrics("faithfulness", "context_relevance", "answer_relevance")
    rows = [{"faithfulness": FAILED, "context_relevance": ABSENT, "answer_relevance": 1.0}]
    for found in (summarize([], chosen), summarize(results(chosen, rows), chosen)):
        lost = found.metrics["faithfulness"]
        assert (lost.average, lost.min, lost.max, lost.std_dev, lost.value, lost.count) == (None,) * 5 + (0,)
        assert found.triad_mean is None
        json.dumps(found.as_json(), allow_nan=False)
    assert summarize([], chosen).overall.overall_average is None
    assert summarize([], chosen).overall.good_ratio is None
    counted = summarize(results(chosen, rows), chosen)
    assert counted.metrics["faithfulness"].n_failed == 1
    assert counted.metrics["context_relevance"].n_not_applicable == 1
    assert counted.overall.overall_average == 1.0


def test_groups_are_metrics_that_need_the_same_fields() -> None:
    chosen = metrics("faithfulness", "answer_relevance", "context_recall", "context_precision")
    found = summarize([], chosen)
    assert {key: group.metrics for key, group in found.groups.items()} == {
        "user_input,response,retrieved_contexts": ("faithfulness",),
        "user_input,response": ("answer_relevance",),
        "user_input,retrieved_contexts,reference": ("context_recall", "context_precision"),
    }
    assert group_key(chosen[1], {"question": "prompt", "answer": "content"}) == "prompt,content"
    (rubric,) = parse_metric({"type": "rubric", "name": "r", "criterion": "c", "shows": ["reference"]})
    assert group_key(rubric) == "user_input,response,reference"


def test_good_bad_and_unknown_samples() -> None:
    chosen = metrics("context_recall", {"type": "context_precision", "threshold": 7, "scale": 10})
    rows: list[dict[str, Any]] = [
        {"context_recall": 1.0, "context_precision": 0.7},  # good
        {"context_recall": 0.5, "context_precision": 0.69},  # bad
        {"context_recall": 0.4, "context_precision": FAILED},  # bad all the same
        {"context_recall": 1.0, "context_precision": FAILED},  # unknown
        {"context_recall": 1.0, "context_precision": ABSENT},  # good
        {"context_recall": ABSENT, "context_precision": ABSENT},  # neither
    ]
    (group,) = summarize(results(chosen, rows), chosen).groups.values()
    assert (group.good, group.bad, group.unknown) == (2, 2, 1)
    assert (group.good_ratio, group.bad_ratio) == (0.5, 0.5)


def test_the_overall_average_weighs_metrics_and_leaves_seconds_out() -> None:
    chosen = metrics({"type": "faithfulness", "weight": 3}, "context_relevance", "latency@p50")
    row = {"faithfulness": 1.0, "context_relevance": 0.0, "latency@p50": 9.0}
    assert summarize(results(chosen, [row]), chosen).overall.overall_average == 0.75


def test_latency_stands_as_its_percentile() -> None:
    chosen = metrics("latency")
    rows = [{"latency@p50": float(n), "latency@p95": float(n)} for n in range(1, 102)]
    found = summarize(results(chosen, rows), chosen).metrics
    assert (found["latency@p50"].value, found["latency@p95"].value) == (51.0, 96.0)
    assert (found["latency@p50"].unit, found["latency@p50"].average) == ("s", 51.0)


def test_triad_mean() -> None:
    assert triad_mean({"faithfulness": 0.9, "context_relevance": 0.6, "answer_relevance": 0.3}) == pytest.approx(0.6)
    assert triad_mean({"faithfulness": 0.9, "context_relevance": None, "answer_relevance": 0.3}) is None
    assert triad_mean({"faithfulness": 0.9}) is None


def test_results_are_read_once_and_scores_of_other_metrics_are_left_out() -> None:
    chosen = metrics("faithfulness")
    known = metrics("faithfulness", "mrr")
    stream = iter(results(known, [{"faithfulness": 1.0, "mrr": 0.0}]))
    found = summarize(stream, chosen)
    assert found.total == 1
    assert set(found.metrics) == {"faithfulness"}
    assert found.overall.good == 1


def test_as_json_has_everything_under_each_groups_key() -> None:
    chosen = metrics("faithfulness", "answer_relevance")
    rows = [{"faithfulness": 1.0, "answer_relevance": 0.4}, {"faithfulness": 0.5, "answer_relevance": 0.6}]
    found = summarize(results(chosen, rows), chosen).as_json()
    assert (found["total"], found["num_good"], found["num_bad"], found["score"]) == (2, 1, 1, 50.0)
    assert found["type_ratio"] == {
        "user_input,response,retrieved_contexts": {"good": 1.0, "bad": 0.0},
        "user_input,response": {"good": 0.5, "bad": 0.5},
    }
    scores = found["metrics_score"]
    assert isinstance(scores, dict)
    assert scores["user_input,response,retrieved_contexts"] == {
        "stats": {
            "faithfulness": {
                "score_average": 0.75,
                "score_count": 2,
                "score_min": 0.5,
                "score_max": 1.0,
                "score_std_dev": 0.25,
                "failed_count": 0,
                "not_applicable_count": 0,
            }
        },
        "summary": {"faithfulness": 0.75},
        "overall_average": 0.75,
    }

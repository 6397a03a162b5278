"""What every executor owes: one result for each item, in order, the same numbers, one sample's failure as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from ragguard.adapters.executors import ExecutorConfig, LocalExecutor, SparkExecutor
from ragguard.core.scores import SampleResult
from ragguard.core.work import Carried, WorkItem
from tests.fakes.lane_jobs import Evaluator, items, locally

Evaluate = Callable[[Sequence[WorkItem]], list[SampleResult]]
BUILT = {LocalExecutor: "local", SparkExecutor: "lanes"}


@pytest.fixture(params=["local", "lanes"])
def evaluate(request: pytest.FixtureRequest, tmp_path: Path) -> Evaluate:
    """The local executor, and what a cluster's driver and workers do, by threads."""
    if request.param == "local":
        return locally
    return lambda work: list(Evaluator(tmp_path).results(work))


def test_no_executor_is_left_out() -> None:
    assert set(get_args(get_args(ExecutorConfig)[0])) == set(BUILT)


def test_results_come_in_the_order_of_the_work_with_the_same_numbers(evaluate: Evaluate) -> None:
    work = items(50)
    assert evaluate(work) == locally(work)


def test_nothing_gives_nothing(evaluate: Evaluate) -> None:
    assert evaluate([]) == []


def test_looks_carried_scores_metrics_and_failures_are_sent_along(evaluate: Evaluate) -> None:
    work = items(6)
    known = {result.id: Carried.of(result) for result in locally(work)}
    work = [
        replace(work[0], carried=known["s000"]),
        replace(work[1], repeat=2, session="look", side="base-run"),
        replace(work[2], metrics=frozenset({"faithfulness"})),
        replace(work[3], metrics=frozenset()),
        replace(work[4], answer=None, target_failure="timed out after 3 s: \ud800"),
        work[5],
    ]
    results = evaluate(work)
    assert [judgment.source for judgment in results[0].judgments] == ["carried", "carried"]
    assert (results[1].side, results[1].repeat, results[1].session) == ("base-run", 2, "look")
    assert [score.metric for score in results[2].scores] == ["faithfulness"]
    assert results[3].scores == ()
    assert {score.status for score in results[4].scores} == {"failed"}
    assert "timed out after 3 s" in str(results[4].scores[0].reason)
    assert results[5] == locally(work)[5]

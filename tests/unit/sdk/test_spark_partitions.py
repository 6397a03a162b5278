"""What a worker does with the rows of a data frame's partition: scores, refusals, and tries that are started again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ragguard.errors import BudgetError, JudgeError
from ragguard.sdk.spark_partitions import ScorePartition, scores_schema
from tests.fakes.lane_jobs import METRICS, Kit, Till, bench, items, locally

N = 20


def row(k: int) -> str:
    item = items(1, start=k)[0]
    contexts = [passage.text for passage in item.sample.contexts or ()]
    values = {"id": item.sample.id, "question": item.sample.question, "contexts": contexts}
    return json.dumps({**values, "answer": item.answer.text if item.answer else None}, ensure_ascii=False)


def partition(folder: Path, till: Till, job: str = "job") -> ScorePartition:
    fingerprints = {metric.id: bench().fingerprint(metric).digest for metric in METRICS}
    part = Kit(till).part(0, 1)
    return ScorePartition((part,), fingerprints, {}, str(folder), job, "how", checkpoint=4, concurrency=3)


def scored(score: ScorePartition, rows: list[str]) -> list[dict[str, Any]]:
    async def story() -> list[dict[str, Any]]:
        names = score._columns()
        return [dict(zip(names, one, strict=True)) async for frame in score._scored(rows, 0) for one in frame]

    return asyncio.run(story())


def test_each_row_has_the_scores_of_the_local_executor_in_the_columns_of_the_schema(tmp_path: Path) -> None:
    score = partition(tmp_path, Till())
    found = scored(score, [row(k) for k in range(N)])
    expected = {result.id: [one.value for one in result.scores] for result in locally(items(N))}
    assert {one["id"]: [one["faithfulness"], one["context_relevance"]] for one in found} == expected
    assert {one["calls"] for one in found} == {2}
    assert [column.split()[0].strip("`") for column in scores_schema(METRICS).split(", ")] == score._columns()


def test_rows_that_cannot_be_read_are_refused_with_the_reason(tmp_path: Path) -> None:
    found = scored(partition(tmp_path, Till()), [row(0), '{"id": "x"}', row(1)])
    assert [one["id"] for one in found] == ["s000", "s001", None]
    assert "question" in found[-1]["refused"]


def test_a_try_that_is_started_again_pays_only_for_what_is_missing(tmp_path: Path) -> None:
    def down(call: int) -> None:
        if call == 21:
            raise JudgeError("down")

    till = Till(before_call=down)
    rows = [row(k) for k in range(N)]
    with pytest.raises(JudgeError):
        scored(partition(tmp_path, till), rows)
    again = scored(partition(tmp_path, till), rows)
    assert len(again) == N
    assert 2 * N <= len(till.calls) <= 2 * N + 2 * (4 + 3)
    other = scored(partition(tmp_path, till, "another call"), rows)
    assert sum(one["cached_calls"] for one in other) == 2 * N
    assert sum(one["calls"] for one in other) == 0


def test_a_budget_is_not_given_anew_to_a_task_that_spark_starts_again(tmp_path: Path) -> None:
    till = Till(budget=15)
    for _ in range(4):
        with pytest.raises(BudgetError):
            scored(partition(tmp_path, till), [row(k) for k in range(N)])
    assert len(till.calls) == 15

"""What `evaluate_spark` does on a worker: the rows of one partition become scores, kept as they come."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ragguard.adapters.executors.lanes import Source, check_fingerprints, evaluate_units
from ragguard.adapters.executors.units import Unit, UnitFolder, unit_of, work_line
from ragguard.adapters.objects import open_folder
from ragguard.adapters.runfiles import result_line
from ragguard.core.elsewhere import BenchPart, OpenBench, Paid
from ragguard.core.metrics.base import Metric
from ragguard.core.row_values import RowError
from ragguard.core.rows import RowReader, parse_row
from ragguard.core.scores import SampleResult
from ragguard.core.work import WorkItem
from ragguard.errors import RagguardError
from ragguard.sdk.spark_summary import column_names

_NO_ANSWER = "the row has no answer"


def scores_schema(metrics: Sequence[Metric]) -> str:
    """The columns of the scores."""
    columns = ["id string", "refused string"]
    for metric in metrics:
        score, status, passed = column_names(metric.id)
        columns += [f"`{score}` double", f"`{status}` string", f"`{passed}` boolean", f"`{metric.id}_reason` string"]
    return ", ".join([*columns, "calls long", "cached_calls long", "tokens long", "cost_usd double", "record string"])


@dataclass(frozen=True)
class ScorePartition:
    """Scores the rows of one partition; plain data that can be sent.

    Attributes:
        parts: By partition, the bench's settings with its part of the limits.
        progress: Where results are kept until all partitions are done.
        how: Digest of all that decides a result besides the row.
    """

    parts: tuple[BenchPart, ...]
    fingerprints: Mapping[str, str]
    fields: Mapping[str, str | None]
    progress: str
    job: str
    how: str
    checkpoint: int
    concurrency: int

    def __call__(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Turns frames of rows, each a JSON text, into frames of scores.

        Raises:
            JudgeError: The judge as a whole cannot be used.
            BudgetError: The partition's part of the budget is spent.
        """
        import pandas as pd
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        loop = asyncio.new_event_loop()
        try:
            rows = (text for frame in frames for text in frame["row"])
            table = self._scored(rows, number)
            while True:
                try:
                    found = loop.run_until_complete(anext(table))
                except StopAsyncIteration:
                    return
                yield pd.DataFrame(found, columns=self._columns())
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    @property
    def was_begun(self) -> bool:
        """Whether an earlier call with the same output has kept results."""
        return bool(open_folder(self.progress).keys())

    def remove_progress(self) -> None:
        """Removes what was kept, once the output is complete."""
        folder = open_folder(self.progress)
        keys = folder.keys()
        if keys:
            folder.remove(keys)
        if os.path.isdir(self.progress):  # noqa: PTH112 - may be a bucket's address
            for place, _, _ in os.walk(self.progress, topdown=False):
                Path(place).rmdir()

    def _columns(self) -> list[str]:
        names = ["id", "refused"]
        for metric in self.fingerprints:
            names += [*column_names(metric), f"{metric}_reason"]
        return [*names, "calls", "cached_calls", "tokens", "cost_usd", "record"]

    async def _scored(self, rows: Iterable[str], number: int) -> AsyncGenerator[list[list[Any]], None]:
        folder = UnitFolder(f"{self.progress.rstrip('/')}/{number:05d}", self.job)
        done = folder.done()
        opened = self.parts[number].open(folder.paid(map(folder.found, done)))
        try:
            check_fingerprints(opened.bench, self.fingerprints)
            async for found in self._evaluated(rows, folder, done, opened):
                yield found
        except RagguardError:
            folder.put_paid(opened.paid)  # Spark starts the task again, and the budget is still the same
            raise
        finally:
            await opened.aclose()

    async def _evaluated(
        self, rows: Iterable[str], folder: UnitFolder, done: frozenset[str], opened: OpenBench
    ) -> AsyncGenerator[list[list[Any]], None]:
        known: list[Unit] = []
        refused: list[list[Any]] = []

        def todo() -> Iterator[Source]:
            for items in self._blocks(rows, refused):
                unit = unit_of([work_line(item) for item in items], self.how)
                if unit.name in done:
                    known.append(unit)
                else:
                    yield unit, partial(_given, items)

        async for unit, results in evaluate_units(todo(), opened.bench, self.concurrency):
            folder.put_results(unit, results)
            yield [self._row(result) for result in results]
            while known:
                yield [self._row(result) for result in folder.results(known.pop())]
        while known:
            yield [self._row(result) for result in folder.results(known.pop())]
        yield refused

    def _blocks(self, rows: Iterable[str], refused: list[list[Any]]) -> Iterator[list[WorkItem]]:
        reader = RowReader(self.fields)
        block: list[WorkItem] = []
        for text in rows:
            try:
                sample = reader.sample(parse_row(text))
            except RowError as error:
                refused.append(self._refused("; ".join(map(str, error.problems))))
                continue
            answer = sample.answer
            block.append(WorkItem(sample, answer, None if answer is not None else _NO_ANSWER))
            if len(block) == self.checkpoint:
                yield block
                block = []
        if block:
            yield block

    def _refused(self, why: str) -> list[Any]:
        empty: list[Any] = [None] * (len(self._columns()) - 2)
        return [None, why, *empty]

    def _row(self, result: SampleResult) -> list[Any]:
        row: list[Any] = [result.id, None]
        for metric in self.fingerprints:
            score = result.score(metric)
            row += [score.value, score.status, score.passed, score.reason] if score is not None else [None] * 4
        called = [judgment for judgment in result.judgments if judgment.source == "called"]
        cached = sum(judgment.source == "cached" for judgment in result.judgments)
        paid = Paid.of(called)
        record = result_line(result).decode().rstrip("\n")
        return [*row, paid.calls, cached, paid.tokens, paid.usd, record]


def _given(items: Sequence[WorkItem], _unit: Unit) -> Iterator[WorkItem]:
    return iter(items)

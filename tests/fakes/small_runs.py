"""A small data set and everything to run it through the pipeline, offline, in a folder of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ragguard.app.context import RunContext
from ragguard.app.own_metrics import load_metric
from ragguard.app.pipeline import RunRequest, run_pipeline
from ragguard.app.read_config import parse_config
from ragguard.core.report import Report

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

CONFIG = """
suite: small
pipeline: {dataset: golden.jsonl}
judge: {model: offline}
embedder: {type: offline, backend: ngrams}
metrics: [faithfulness, context_relevance]
slo: {regression_tolerance: 0.02}
"""


def write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    """Writes JSON Lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def golden_rows(n: int = 30) -> list[dict[str, object]]:
    """n samples, a third each in English, Vietnamese and Chinese; sample k's fee is 100 + k."""
    kinds = [
        ("What is the fee of course {k}?", "The fee of course {k} is {fee} dollars."),
        ("Học phí khóa {k} là bao nhiêu?", "Học phí khóa {k} là {fee} nghìn đồng."),
        ("第{k}门课程的学费是多少？", "第{k}门课程的学费是{fee}元。"),
    ]
    rows: list[dict[str, object]] = []
    for k in range(n):
        question, passage = kinds[k % 3]
        text = passage.format(k=k, fee=100 + k)
        rows.append(
            {
                "id": f"s{k:03d}",
                "question": question.format(k=k),
                "contexts": [{"id": f"p{k}", "text": text}],
                "reference": text,
                "tags": [("en", "vi", "zh")[k % 3]],
            }
        )
    return rows


def answer_rows(n: int = 30, wrong: int = 0) -> list[dict[str, object]]:
    """The passages as answers; the first `wrong` of them with an invented fee."""
    rows: list[dict[str, object]] = []
    for k, row in enumerate(golden_rows(n)):
        contexts = row["contexts"]
        assert isinstance(contexts, list)
        text = str(contexts[0]["text"])
        rows.append({"id": row["id"], "answer": text.replace(str(100 + k), str(9000 + k)) if k < wrong else text})
    return rows


class SmallRuns:
    """Runs one after another in one folder, a day apart."""

    def __init__(self, folder: Path, n: int = 30) -> None:
        self.folder = folder
        self.n = n
        self.count = 0
        write_rows(folder / "golden.jsonl", golden_rows(n))

    def run(self, *, wrong: int = 0, config: str = CONFIG, event: str = "push", **changes: object) -> Report:
        """Runs the pipeline on answers of which so many are wrong."""
        write_rows(self.folder / "answers.jsonl", answer_rows(self.n, wrong))
        return self.run_as_it_is(config=config, event=event, **changes)

    def run_as_it_is(
        self,
        *,
        config: str = CONFIG,
        event: str = "push",
        overrides: Mapping[str, object] | None = None,
        **changes: object,
    ) -> Report:
        """Runs the pipeline on the files that lie in the folder."""
        return asyncio.run(run_pipeline(self.request(config=config, event=event, overrides=overrides, **changes)))

    def request(
        self,
        *,
        config: str = CONFIG,
        event: str = "push",
        overrides: Mapping[str, object] | None = None,
        **changes: object,
    ) -> RunRequest:
        """The next run on the files that lie in the folder."""
        if not (self.folder / "answers.jsonl").exists():
            write_rows(self.folder / "answers.jsonl", answer_rows(self.n))
        self.count += 1
        now = START + timedelta(days=self.count)
        context = RunContext(
            run_id=f"run-{self.count}",
            now=now,
            event=event,
            branch="main",
            base_branches=("main",),
            commit=f"{self.count:040x}",
            commit_time=now,
        )
        fields = {
            "pipeline.dataset": str(self.folder / "golden.jsonl"),
            "pipeline.answers": str(self.folder / "answers.jsonl"),
            "reporting.sink": str(self.folder / "store"),
            **(overrides or {}),
        }
        return RunRequest(
            config=parse_config(config, "ragguard.yaml", {}, fields, load_metric),
            context=context,
            folder=self.folder,
            output=self.folder / "out" / context.run_id,
            clock=lambda: now + timedelta(seconds=5),
            **changes,  # type: ignore[arg-type]
        )

    def output(self, run_id: str) -> Path:
        """The output folder of a run."""
        return self.folder / "out" / run_id

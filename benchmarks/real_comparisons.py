"""Compares real recorded answers through the whole pipeline with a noisy judge server, and counts false alarms.

The data are 93 questions with passages and three systems' answers, each judged for faithfulness by people; give their
folder with --data (golden.jsonl, answers-<system>.jsonl with `human_faithful`). Two parts:

1. Clean comparisons: the same answers again and again, carry-over and cache off, each verdict flipped with
   probability --flips. Nothing got worse: every failure is a false alarm. The bare rule is applied to the same first
   looks.
2. A judge that answers from the human labels: all lines of an answer that people called faithful are supported, none
   of the others; flipped like above. reference -> gpt-4o is a true regression, gpt-4o -> llama is none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ragguard.adapters.judges.prompts import visible
from ragguard.app.context import RunContext
from ragguard.app.pipeline import RunRequest, run_pipeline
from ragguard.app.read_config import parse_config
from ragguard.core.report import Report
from ragguard.core.sentences import split_sentences
from tests.parts.judge_server import JudgeServer, judge_server

CONFIG = """
suite: real
pipeline: {{dataset: {data}/golden.jsonl}}
judge: {{model: openai/test, api_base: "{url}", concurrency: 16}}
embedder: {{type: offline, backend: ngrams}}
metrics: [faithfulness, context_relevance, answer_relevance]
gate: {{carry_over: false, on_inconclusive: warn}}
"""
START = datetime(2026, 1, 1, tzinfo=UTC)
TOLERANCE = 0.02


@dataclass
class Bench:
    """One judge server and one store."""

    data: Path
    folder: Path
    server: JudgeServer
    runs: int = 0

    def run(self, answers: str, suite: str) -> Report:
        """Runs one system's answers against the suite's last accepted run."""
        self.runs += 1
        now = START + timedelta(hours=self.runs)
        run_id = f"run-{self.runs:04d}"
        fields = {
            "suite": suite,
            "pipeline.answers": str(self.data / f"answers-{answers}.jsonl"),
            "reporting.sink": str(self.folder / "store"),
        }
        config = parse_config(CONFIG.format(data=self.data, url=self.server.url), "bench", {}, fields)
        context = RunContext(run_id=run_id, now=now, event="push", branch="main", base_branches=("main",))
        request = RunRequest(
            config=config, context=context, folder=self.folder, output=self.folder / run_id, clock=lambda: now
        )
        return asyncio.run(run_pipeline(request))


def bare_rule_fails(report: Report) -> bool:
    """Whether two means alone would have failed the run; on the first looks, which were made for all samples."""
    return any(
        metric.baseline_mean is not None and metric.mean is not None and metric.baseline_mean - metric.mean > TOLERANCE
        for metric in report.head.metrics.values()
    )


def clean(bench: Bench, comparisons: int) -> None:
    """Part 1."""
    bench.run("reference", "clean")
    failed = bare = calls = 0
    inconclusive = 0
    for _ in range(comparisons):
        report = bench.run("reference", "clean")
        failed += report.head.outcome == "failed"
        inconclusive += report.head.outcome == "inconclusive"
        bare += bare_rule_fails(report)
        calls += report.head.usage.calls
    print(f"clean comparisons: {comparisons}, {calls / comparisons:.0f} judge calls each (279 without looks)")
    print(f"  staged rule: {failed} failed, {inconclusive} inconclusive;  bare rule: {bare} failed")


def labelled(bench: Bench, baseline: str, candidate: str) -> None:
    """Part 2, one comparison."""
    suite = f"{baseline}-{candidate}"
    bench.run(baseline, suite)
    report = bench.run(candidate, suite)
    metric = report.head.metrics["faithfulness"]
    bare = bare_rule_fails(report)
    delta = "unknown" if metric.delta is None else f"{metric.delta:+.3f}"
    print(
        f"{baseline} -> {candidate}: faithfulness {metric.baseline_mean:.3f} -> {metric.mean:.3f} "
        f"(change at the last look {delta}, p = {metric.p_value}): {metric.outcome}; "
        f"bare rule: {'failed' if bare else 'passed'}"
    )


def human_verdicts(data: Path, systems: Sequence[str]) -> dict[str, bool]:
    """For each line of each answer, whether people called the answer faithful."""
    supported: dict[str, bool] = {}
    for system in systems:
        for row in (data / f"answers-{system}.jsonl").read_text(encoding="utf-8").splitlines():
            answer = json.loads(row)
            for line in split_sentences(answer["answer"]):
                supported[visible(line)] = answer["human_faithful"]
    return supported


def main() -> None:
    """Runs both parts and prints what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--flips", type=float, default=0.025)
    options = parser.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "none")
    started = time.monotonic()
    systems = ("reference", "gpt-4o", "llama-3.1-405b-instruct")
    with tempfile.TemporaryDirectory() as name:
        with judge_server(flip_rate=options.flips) as server:
            clean(Bench(options.data, Path(name), server), options.comparisons)
        supported = human_verdicts(options.data, systems)

        def verdict(task: str, line: str, _passages: Sequence[Sequence[str]]) -> str | None:
            if task != "claims" or line not in supported:
                return None
            return "supported" if supported[line] else "absent"

        with judge_server(verdict, flip_rate=options.flips) as server:
            bench = Bench(options.data, Path(name) / "labelled", server)
            labelled(bench, "reference", "gpt-4o")
            labelled(bench, "gpt-4o", "llama-3.1-405b-instruct")
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()

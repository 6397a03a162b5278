"""A process that does several runs at once against a shared store: `python -m tests.parts.load_worker FOLDER NAME COUNT`."""

from __future__ import annotations

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from ragguard.app.context import RunContext
from ragguard.app.pipeline import RunRequest, run_pipeline
from ragguard.app.read_config import parse_config


def one_run(folder: Path, name: str, number: int) -> dict[str, object]:
    """A whole run in an event loop of its own; every second one has wrong answers."""
    run_id = f"{name}-{number}"
    paths = {
        "pipeline.dataset": str(folder / "golden.jsonl"),
        "pipeline.answers": str(folder / ("bad.jsonl" if number % 2 else "good.jsonl")),
        "reporting.sink": str(folder / "store"),
    }
    request = RunRequest(
        config=parse_config((folder / "ragguard.yaml").read_text("utf-8"), "ragguard.yaml", {}, paths),
        context=RunContext(run_id=run_id, now=datetime.now(UTC), branch="main", base_branches=("main",)),
        folder=folder,
        output=folder / "out" / run_id,
    )
    report = asyncio.run(run_pipeline(request))
    return {
        "run_id": run_id,
        "bad": bool(number % 2),
        "outcome": report.head.outcome,
        "exit_code": int(report.exit_code),
        "baseline": report.baseline_run_id,
    }


def main(folder: str, name: str, count: str) -> None:
    """Starts the runs at once, and writes a line of JSON for each when all have ended."""
    with ThreadPoolExecutor(int(count)) as pool:
        for ended in pool.map(lambda number: one_run(Path(folder), name, number), range(int(count))):
            print(json.dumps(ended), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

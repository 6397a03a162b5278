"""Runs the pipeline again and again in one process, against one store and one judge server, and looks for growth.

    python scripts/soak.py --minutes 10

After each run it takes the memory (RSS), open files, sockets and threads of its own process; after a warm-up, none of
them may grow. Exit code 1 says that one did. Needs Linux's /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OPENAI_API_KEY", "none-needed")

from ragguard.app.context import RunContext  # noqa: E402 - after the path is set
from ragguard.app.pipeline import RunRequest, run_pipeline  # noqa: E402
from ragguard.app.read_config import parse_config  # noqa: E402
from ragguard.entrypoints.local_context import new_run_id  # noqa: E402
from tests.fakes.small_runs import answer_rows, golden_rows, write_rows  # noqa: E402

N = 30
WARM_UP = 0.3
"""Share of the time that is not looked at: caches, pools and the allocator fill."""
MB, MB_AN_HOUR = 8.0, 30.0
"""Memory grows if the last third lies so much above the first and the slope is so steep; the table of interned names
takes some MB at once when it is enlarged."""
MORE = 2
"""By so many files, sockets or threads the last third may have more than the first."""
_CONFIG = """
suite: soak
pipeline: {{dataset: golden.jsonl}}
judge: {{model: openai/judge, api_base: '{url}', concurrency: 8}}
embedder: {{model: openai/vectors, api_base: '{url}', dim: 64}}
metrics: [faithfulness, answer_relevance, context_relevance]
cache: {{enabled: false}}
reporting: {{format: [json, markdown, html, junit, csv]}}
"""


@dataclass(frozen=True)
class Taken:
    """What the process held after a run."""

    seconds: float
    rss_mb: float
    files: float
    sockets: float
    threads: float

    @classmethod
    def now(cls, began: float) -> Taken:
        """Reads /proc."""
        gc.collect()
        links = []
        for entry in Path("/proc/self/fd").iterdir():
            try:
                links.append(str(entry.readlink()))
            except OSError:
                continue  # the listing's own
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        sockets = sum(link.startswith("socket:") for link in links)
        return cls(
            time.monotonic() - began,
            pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            len(links) - sockets,
            sockets,
            len(list(Path("/proc/self/task").iterdir())),
        )


@contextmanager
def served() -> Iterator[str]:
    """A judge and embedder in a process of its own."""
    command = [sys.executable, "-m", "tests.parts.judge_server", "--latency-s", "0.005", "--dim", "64"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait(timeout=10)


def request_of(folder: Path, url: str, number: int) -> RunRequest:
    """The next run: every third has wrong answers, so that looks happen."""
    now = datetime.now(UTC)
    write_rows(folder / "answers.jsonl", answer_rows(N, 8 if number % 3 == 2 else 0))
    paths = {
        "pipeline.dataset": str(folder / "golden.jsonl"),
        "pipeline.answers": str(folder / "answers.jsonl"),
        "reporting.sink": str(folder / "store"),
    }
    return RunRequest(
        config=parse_config(_CONFIG.format(url=url), "ragguard.yaml", {}, paths),
        context=RunContext(run_id=new_run_id(now), now=now, branch="main", base_branches=("main",)),
        folder=folder,
        output=folder / "out",
    )


def soak(minutes: float) -> tuple[list[Taken], Counter[str]]:
    """Runs for so long and takes down what was held."""
    taken: list[Taken] = []
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="soak-") as name, served() as url:
        folder = Path(name)
        write_rows(folder / "golden.jsonl", golden_rows(N))
        began = time.monotonic()
        while time.monotonic() - began < 60 * minutes:
            report = asyncio.run(run_pipeline(request_of(folder, url, len(taken))))
            outcomes[report.head.outcome] += 1
            taken.append(Taken.now(began))
            if len(taken) % 20 == 1:
                print(f"{len(taken):5} runs  {_line(taken[-1])}", flush=True)
    return taken, outcomes


def grown(taken: Sequence[Taken]) -> list[str]:
    """What grew beyond the bounds, in a line each; the slopes are printed."""
    settled = np.array([astuple(one) for one in taken if one.seconds >= WARM_UP * taken[-1].seconds])
    seconds = settled[:, 0]
    third = max(1, len(settled) // 3)
    found = []
    for index, field in enumerate(fields(Taken)[1:], 1):
        values = settled[:, index]
        an_hour = 3_600 * float(np.polyfit(seconds, values, 1)[0]) if len(settled) > 2 else 0.0
        first, last = float(np.median(values[:third])), float(np.median(values[-third:]))
        print(f"{field.name:>8}: {first:.1f} -> {last:.1f}, {an_hour:+.1f} an hour")
        too_much = last > first + MORE
        if field.name == "rss_mb":
            too_much = last > first + MB and an_hour > MB_AN_HOUR
        if too_much:
            found.append(f"{field.name} grows: {first:.1f} -> {last:.1f}, {an_hour:+.1f} an hour")
    return found


def _line(one: Taken) -> str:
    counts = f"{one.files:.0f} files  {one.sockets:.0f} sockets  {one.threads:.0f} threads"
    return f"{one.seconds:6.0f} s  {one.rss_mb:.1f} MB  {counts}"


def main() -> int:
    """Soaks, tells, and says whether anything grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    taken, outcomes = soak(parser.parse_args().minutes)
    print(f"{len(taken)} runs: {dict(outcomes)}")
    wrong = [] if set(outcomes) <= {"warned", "passed", "failed"} else [f"outcomes: {dict(outcomes)}"]
    found = [*grown(taken), *wrong]
    print("\n".join(found) or "nothing grows")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

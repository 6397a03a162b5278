"""How time and memory of `ragguard run` grow with the data set: one machine, and Spark with two workers on it.

    python benchmarks/scale.py                              # 1,000, 10,000 and 100,000 samples, offline judge
    python benchmarks/scale.py --sizes 1000,10000 --again   # and each run once more, against itself as the baseline
    python benchmarks/scale.py --sizes 1000 --server        # a judge behind HTTP on this machine, 3 calls a sample
    python benchmarks/scale.py --sizes 1000,10000 --spark   # beside it local-cluster[2,1,1024]

A sample has 5 passages of about 80 words, in English, Vietnamese or Chinese. Every run is a process of its own. CPU
time is the process's, with Spark's Python workers and without its Java; on a busy machine it says more than the wall's.
`ms/sample` is what the samples beyond the next smaller size took, so that start-up is not in it; `slope` is the
exponent of growth between two sizes, 1.00 is linear; memory is the process's peak (with Spark the driver's).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

PASSAGES = 5
WORDS = 80
FEES = (
    ("What is the fee of course {k}?", "The fee of course {k} is {fee} dollars. It starts in May.", " "),
    ("Học phí khóa {k} là bao nhiêu?", "Học phí khóa {k} là {fee} nghìn đồng. Khóa học bắt đầu vào tháng năm.", " "),
    ("第{k}门课程的学费是多少？", "第{k}门课程的学费是{fee}元。课程五月开始。", ""),
)
SYLLABLES = (
    ("ba", "lo", "ri", "ne", "tu", "ka", "mi", "so", "ve", "da"),
    ("học", "phí", "sinh", "viên", "được", "trường", "tháng", "người", "lớp", "thi"),
    ("学", "费", "课", "程", "生", "月", "开", "始", "老", "师"),
)


@dataclass(frozen=True)
class Measured:
    """One run of one size."""

    samples: int
    wall_s: float
    cpu_s: float
    peak_mb: float


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Samples with their answers; the same in every call."""
    rng = random.Random(7)
    for k in range(count):
        question, text, space = FEES[k % 3]
        right = text.format(k=k, fee=100 + k)
        passages = [right] + [_filler(rng, k % 3, space) for _ in range(PASSAGES - 1)]
        wrong = text.format(k=k, fee=9_000_000 + k) if k % 50 == 0 else right
        yield {
            "id": f"s{k:07d}",
            "question": question.format(k=k),
            "contexts": [{"id": f"{k}-{rank}", "text": passage} for rank, passage in enumerate(passages)],
            "answer": wrong,
        }


def _filler(rng: random.Random, language: int, space: str) -> str:
    words = [
        "".join(rng.choices(SYLLABLES[language], k=1 if language == 1 else rng.randint(1, 3))) for _ in range(WORDS)
    ]
    return f"{space.join(words)}{'。' if language == 2 else '.'}"


def config(folder: Path, count: int, judge: dict[str, Any], metrics: list[str], executor: dict[str, Any]) -> Path:
    """Writes data and config of one size."""
    data = folder / f"golden-{count}.jsonl"
    if not data.exists():
        with data.open("w", encoding="utf-8") as file:
            for row in rows(count):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    settings = {
        "suite": f"{count}-{executor['type']}",
        "pipeline": {"dataset": str(data)},
        "judge": judge,
        "embedder": {"type": "offline", "backend": "ngrams"},
        "metrics": metrics,
        "cache": {"enabled": False},
        "executor": executor,
        "reporting": {"sink": str(folder / "store"), "format": "json+markdown"},
    }
    path = folder / "ragguard.yaml"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


def measured(folder: Path, count: int, path: Path) -> Measured:
    """Runs `ragguard run` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = "from ragguard.entrypoints.cli import main; main()"
    options = ["run", "--quiet", "--config", str(path), "--output", str(folder / "out")]
    command = [sys.executable, "-c", program, *options]
    log = folder / "log.txt"
    started = time.perf_counter()
    with log.open("wb") as said:
        pid = os.posix_spawn(
            command[0],
            command,
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, said.fileno(), 1), (os.POSIX_SPAWN_DUP2, said.fileno(), 2)],
        )
        _, status, usage = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in {0, 1}:
        raise SystemExit(f"exit code {code}:\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}")
    return Measured(count, time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def told(name: str, found: list[Measured]) -> Iterator[str]:
    """The lines of one series."""
    before: Measured | None = None
    for one in found:
        line = f"{name:<24}{one.samples:>9,}{one.wall_s:>10.1f}{one.cpu_s:>10.1f}{one.peak_mb:>9.0f}"
        if before is not None:
            more = one.samples - before.samples
            line += f"{1000 * (one.cpu_s - before.cpu_s) / more:>12.2f}"
            line += f"{math.log(one.cpu_s / before.cpu_s) / math.log(one.samples / before.samples):>8.2f}"
            line += f"{1024 * (one.peak_mb - before.peak_mb) / more:>11.2f}"
        before = one
        yield line


def series(folder: Path, sizes: list[int], judge: dict[str, Any], executor: dict[str, Any], *, again: bool) -> None:
    """Measures and prints all sizes under one executor."""
    metrics = ["faithfulness", "context_relevance"]
    if judge["model"] != "offline":
        metrics.append("answer_relevance")
    names = [f"{executor['type']}, first run", *([f"{executor['type']}, with baseline"] if again else [])]
    found: dict[str, list[Measured]] = {name: [] for name in names}
    for size in sizes:
        path = config(folder, size, judge, metrics, executor)
        for name in names:
            found[name].append(measured(folder, size, path))
            print(list(told(name, found[name]))[-1], flush=True)


def main() -> None:
    """Measures what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--again", action="store_true", help="run each size once more, with the first as baseline")
    parser.add_argument("--server", action="store_true", help="a judge behind HTTP instead of the offline one")
    parser.add_argument("--spark", action="store_true", help="Spark, local-cluster[2,1,1024], besides")
    options = parser.parse_args()
    from tests.parts.judge_server import judge_server

    columns = (("samples", 9), ("wall s", 10), ("CPU s", 10), ("peak MB", 9), ("ms/sample", 12), ("slope", 8))
    print(" " * 24 + "".join(f"{name:>{width}}" for name, width in (*columns, ("KB/sample", 11))))
    folder = Path(tempfile.mkdtemp(prefix="ragguard-scale-"))
    executors: list[dict[str, Any]] = [{"type": "local"}]
    if options.spark:
        spark = {"type": "spark", "master": "local-cluster[2,1,1024]", "partitions": 2}
        executors.append({**spark, "scratch": str(folder / "scratch")})
    try:
        with judge_server(latency_s=0.05) if options.server else nullcontext() as server:
            judge: dict[str, Any] = {"model": "offline"}
            if server is not None:
                judge = {"model": "openai/judge", "api_base": server.url, "concurrency": 16}
            for executor in executors:
                series(folder, [int(size) for size in options.sizes.split(",")], judge, executor, again=options.again)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

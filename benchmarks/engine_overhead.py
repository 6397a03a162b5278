"""What the judging engine adds to the judge's own time, measured against a local judge server.

    python benchmarks/engine_overhead.py                    # 180 samples, 300 ms a call, 16 calls at once
    python benchmarks/engine_overhead.py --samples 60 --only triad,warm

Every measurement runs in a process of its own; the server is another one. `ratio` is the time from the first request
to the last reply over calls x latency / concurrency. Import time is not in it; `total` holds it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from ragguard.adapters.executors.local import LocalExecutor  # noqa: E402
from ragguard.adapters.judges.cached import CachedJudge  # noqa: E402
from ragguard.adapters.judges.litellm import LiteLLMJudge  # noqa: E402
from ragguard.adapters.judges.prompts import Prompt, Prompts  # noqa: E402
from ragguard.adapters.litellm_clients import litellm_module  # noqa: E402
from ragguard.core.evaluation import Bench  # noqa: E402
from ragguard.core.metrics.answer_relevance import AnswerRelevance  # noqa: E402
from ragguard.core.metrics.context_relevance import ContextRelevance  # noqa: E402
from ragguard.core.metrics.faithfulness import Faithfulness  # noqa: E402
from ragguard.core.ports import Judge, Vectors  # noqa: E402
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key  # noqa: E402
from ragguard.core.tasks import Task  # noqa: E402
from ragguard.errors import JudgeError  # noqa: E402
from tests.fakes.judge_samples import work  # noqa: E402
from tests.parts.judge_rules import answer, read_prompt  # noqa: E402

LATENCY_S = 0.3
CONCURRENCY = 16
CALLS_A_SAMPLE = 3


def bench_of(judge: Judge) -> Bench:
    """The triad with an embedder that costs nothing."""
    return Bench((Faithfulness(), ContextRelevance(), AnswerRelevance()), judge, NoEmbedder())


def tasks_of(samples: int) -> list[Task]:
    """All judge tasks of so many samples."""
    metrics = bench_of(LiteLLMJudge(model="openai/judge")).metrics
    items = [(item.sample, item.answer) for item in work(samples)]
    return [task for sample, answer in items if answer for metric in metrics for task in metric.tasks(sample, answer)]


class NoEmbedder:
    """One vector for all."""

    fingerprint = "none"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Rows of ones."""
        return np.ones((len(texts), 1))


class RulesJudge:
    """Answers by the test judge's rules with no server between, to fill a cache for `settings`."""

    def __init__(self, settings: LiteLLMJudge) -> None:
        self._settings = settings
        self.fingerprint = settings.fingerprint
        self.models = settings.models
        self.prompt_digest = settings.prompt_digest
        self.requests = settings.requests
        self.aclose = settings.aclose

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        """Answers at once."""
        reply = answer(read_prompt(Prompts().render(task).user), lambda _line, _verdicts, default: default)
        return Judgment(key=judgment_key(request), task=task.name, model=request.model, status="ok", output=reply)


async def scored(judge: Judge, samples: int) -> dict[str, Any]:
    """Scores the triad; returns times, CPU and scores."""
    started, cpu = time.perf_counter(), time.process_time()
    results = [result async for result in LocalExecutor().evaluate(work(samples), bench_of(judge))]
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    await judge.aclose()
    scores = [score for result in results for score in result.scores]
    return {
        "wall": wall,
        "cpu": cpu,
        "not_scored": sum(score.status != "scored" for score in scores),
        "scores": [score.value for score in scores],
        "litellm_imported": "litellm" in sys.modules,
    }


def triad(samples: int, url: str, _cache: Path | None = None) -> dict[str, Any]:
    """The engine, with no cache; imports and templates are not in its times."""
    judge = LiteLLMJudge(model="openai/judge", api_base=url, concurrency=CONCURRENCY)
    litellm_module()
    for task in tasks_of(1):
        Prompts().render(task)
    return asyncio.run(scored(judge, samples))


def cached(samples: int, url: str, cache: Path | None = None) -> dict[str, Any]:
    """The engine with a cache; LiteLLM is imported only where a call is needed."""
    tasks_of(1)
    judge = LiteLLMJudge(model="openai/judge", api_base=url, concurrency=CONCURRENCY)
    return asyncio.run(scored(CachedJudge(judge, path=cache or Path("cache.sqlite")), samples))


def fill(samples: int, url: str, cache: Path | None = None) -> dict[str, Any]:
    """Fills a cache without a server."""
    judge = RulesJudge(LiteLLMJudge(model="openai/judge", api_base=url, concurrency=CONCURRENCY))
    return asyncio.run(scored(CachedJudge(judge, path=cache or Path("cache.sqlite")), samples))


def bare(samples: int, url: str, _cache: Path | None = None) -> dict[str, Any]:
    """The floor: the same prompts by LiteLLM alone, with a plain semaphore."""
    litellm = litellm_module()
    prompts = [Prompts().render(task) for task in tasks_of(samples)]
    options = {"api_base": url, "api_key": "none", "max_retries": 0, "max_tokens": 4096}

    async def story() -> dict[str, Any]:
        gate = asyncio.Semaphore(CONCURRENCY)

        async def call(prompt: Prompt) -> None:
            messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
            async with gate:
                await litellm.acompletion("openai/judge", messages, **options)

        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(call(prompt) for prompt in prompts))
        return {"wall": time.perf_counter() - started, "cpu": time.process_time() - cpu, "not_scored": 0, "scores": []}

    return asyncio.run(story())


def dead(samples: int, _url: str, _cache: Path | None = None) -> dict[str, Any]:
    """A judge that is not there: how long until one clear sentence, import and all."""
    judge = LiteLLMJudge(model="openai/judge", api_base="http://127.0.0.1:9/v1")
    try:
        asyncio.run(scored(judge, samples))
    except JudgeError as error:
        return {"message": str(error)}
    return {"message": "no error"}


MEASURES = {"triad": triad, "bare": bare, "dead": dead, "cached": cached, "fill": fill}


@contextmanager
def server(*options: str) -> Iterator[str]:
    """Runs the judge server as a process."""
    command = [sys.executable, "-m", "tests.parts.judge_server", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def stats_of(url: str) -> dict[str, Any]:
    """What the server counted."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url.removesuffix("/v1") + "/stats") as reply:
        stats: dict[str, Any] = json.load(reply)
        return stats


def in_a_process(name: str, samples: int, url: str, cache: Path | None = None) -> dict[str, Any]:
    """Runs one measurement in a fresh interpreter; adds its whole time."""
    command = [sys.executable, __file__, "--child", name, "--samples", str(samples), "--url", url]
    if cache:
        command += ["--cache", str(cache)]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return {**json.loads(done.stdout), "total": time.perf_counter() - started}


def timed(name: str, samples: int, *options: str) -> dict[str, Any]:
    """One measurement against a server of 300 ms; prints its line."""
    with server("--latency-s", str(LATENCY_S), *options) as url:
        found = in_a_process(name, samples, url)
        stats = stats_of(url)
    calls = stats["calls"]
    span = stats["last_s"] - stats["first_s"]
    found["ratio"] = span / (samples * CALLS_A_SAMPLE * LATENCY_S / CONCURRENCY)
    cpu_ms = found["cpu"] / calls * 1e3
    print(f"{name} {' '.join(options) or '(no faults)'}: {calls} calls, not scored {found['not_scored']}")
    print(f"  first to last {span:.1f} s, ratio {found['ratio']:.2f}, CPU {cpu_ms:.1f} ms a call")
    return found


def warm(samples: int) -> None:
    """Scores what a cache already holds, and ten times as much to see how it grows."""
    with tempfile.TemporaryDirectory() as folder, server() as url:
        cpu = []
        for count in (samples, samples * 10):
            cache = Path(folder) / f"{count}.sqlite"
            in_a_process("fill", count, url, cache)
            found = in_a_process("cached", count, url, cache)
            cpu.append(found["cpu"])
            told = f"{found['wall']:.2f} s, whole process {found['total']:.2f} s, not scored {found['not_scored']}"
            print(f"warm cache, {count} samples: {told}, LiteLLM imported: {found['litellm_imported']}")
        print(f"  judge calls {stats_of(url)['calls']}, CPU x{cpu[1] / cpu[0]:.1f} for 10x samples")


def main() -> None:
    """Runs the measurements asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=180)
    parser.add_argument("--only", default="bare,triad,faults,dead,warm")
    parser.add_argument("--child", choices=sorted(MEASURES), help=argparse.SUPPRESS)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(MEASURES[arguments.child](arguments.samples, arguments.url, arguments.cache)))
        return
    wanted = arguments.only.split(",")
    print(
        f"{arguments.samples} samples, {LATENCY_S * 1e3:.0f} ms, {CONCURRENCY} at once, load {os.getloadavg()[0]:.1f}"
    )
    if "bare" in wanted:
        timed("bare", arguments.samples)
    good = timed("triad", arguments.samples) if {"triad", "faults"} & set(wanted) else {}
    if "faults" in wanted:
        faults = ("--broken-rate", "0.05", "--error-rate", "0.05", "--rpm", "1200", "--retry-after", "1")
        found = timed("triad", arguments.samples, *faults)
        wrong = sum(a != b for a, b in zip(good["scores"], found["scores"], strict=True))
        print(f"scores that differ from the run without faults: {wrong} of {len(good['scores'])}")
    if "dead" in wanted:
        gone = in_a_process("dead", arguments.samples, "")
        print(f"dead judge: {gone['total']:.1f} s, import included: {gone['message'].splitlines()[0]}")
    if "warm" in wanted:
        warm(arguments.samples)


if __name__ == "__main__":
    main()

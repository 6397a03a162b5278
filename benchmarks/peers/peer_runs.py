"""One run of one tool: a fresh judge server, a fresh process, and what both of them tell afterwards."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peer_environments import Ready

ROOT = Path(__file__).parents[2]
LATENCY_S = 0.3
EMBEDDING_LATENCY_S = 0.05
CONCURRENCY: Mapping[str, int] = {"deepeval": 20}
"""deepeval's own default; all others are given 16."""
_POLL_S = 0.02
_QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "ERROR_REPORTING": "0",
    "RAGAS_DO_NOT_TRACK": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENAI_API_KEY": "none",
    "PYTHONHASHSEED": "0",
    "NO_COLOR": "1",
    "LANG": "C.UTF-8",
}

# Ways in which plain JSON breaks whatever its keys are; faults of meaning would be ragguard's own shapes.
_BROKEN_KINDS = "prose,trailing comma,single quotes,cut untold,no last brace,empty,refusal,html"
FAULTS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "broken": {"broken_rate": 0.05, "kinds": _BROKEN_KINDS},
    "errors": {"error_rate": 0.05},
    "limited": {"rpm": 1200, "retry_after": "1"},
}
"""Behaviours of the server by name."""


@dataclass(frozen=True)
class Measured:
    """What a run cost and gave.

    Attributes:
        version: The tool's version.
        error: Why the whole run failed; None if it did not.
        wall_s: From the start of the process to its end, imports included.
        cpu_s: Of the process and its children.
        peak_mb: The largest resident size of one of its processes.
        calls: Judge calls that reached the server, repeated ones included.
        embedding_calls: Requests for embeddings.
        prompt_tokens: Of the judge calls that were answered; characters / 4.
        scores: By sample and metric.
    """

    version: str
    error: str | None
    wall_s: float
    cpu_s: float
    peak_mb: float
    calls: int
    embedding_calls: int
    prompt_tokens: int
    scores: Mapping[str, Mapping[str, float | None]]

    def unscored(self, samples: Sequence[Mapping[str, Any]], metrics: int) -> int:
        """Samples without all of so many scores."""
        given = (self.scores.get(sample["id"], {}) for sample in samples)
        return sum(sum(value is not None for value in row.values()) < metrics for row in given)

    def changed(self, other: "Measured") -> int:
        """Samples with a score that differs from the one in another run."""
        both = set(self.scores) & set(other.scores)
        return sum(_differs(self.scores[key], other.scores[key]) for key in both)


def _differs(row: Mapping[str, float | None], other: Mapping[str, float | None]) -> bool:
    pairs = ((row[metric], other[metric]) for metric in set(row) & set(other))
    return any(a is not None and b is not None and abs(a - b) > 1e-6 for a, b in pairs)


def measure(
    ready: Ready,
    samples: Sequence[Mapping[str, Any]],
    *,
    fault: str,
    with_reference: bool = False,
    strict: bool = False,
    limit_s: float = 900,
) -> Measured:
    """Runs a tool once; what goes wrong in it is part of the result."""
    with tempfile.TemporaryDirectory(prefix="ragguard-bench-") as folder, judge(FAULTS[fault]) as url:
        job = Path(folder) / "job.json"
        told = {
            "samples": list(samples),
            "url": url,
            "with_reference": with_reference,
            "concurrency": CONCURRENCY.get(ready.tool.name, 16),
            "strict": strict,
            "folder": folder,
        }
        job.write_text(json.dumps(told), encoding="utf-8")
        wall_s, usage, ended = _run([ready.python, str(ready.tool.script), str(job)], Path(folder), limit_s)
        out = job.with_suffix(".out.json")
        found: dict[str, Any] = {"version": "?", "scores": {}, "error": ended}
        if out.exists():
            found = json.loads(out.read_text(encoding="utf-8"))
        stats = _stats(url)
    unreadable = stats["tasks"].get("unreadable", 0)
    return Measured(
        version=found["version"],
        error="its prompts have changed, so that the judge server cannot read them" if unreadable else found["error"],
        wall_s=wall_s,
        cpu_s=usage.ru_utime + usage.ru_stime,
        peak_mb=usage.ru_maxrss / 1024,
        calls=stats["calls"],
        embedding_calls=stats["embedding_calls"],
        prompt_tokens=stats["prompt_tokens"],
        scores=found["scores"],
    )


def _run(command: Sequence[str], folder: Path, limit_s: float) -> tuple[float, Any, str]:
    """Wall time, resource usage and, if there is no result, why; the environment holds nothing of ours."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "TMPDIR": str(folder), **_QUIET}
    if ROOT.joinpath("ragguard").is_dir() and command[0] == sys.executable:
        environment["PYTHONPATH"] = str(ROOT)
    log = folder / "log.txt"
    with log.open("wb") as sink:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
        ended = ""
        try:
            while not (waited := os.wait4(process.pid, os.WNOHANG))[0]:
                if time.perf_counter() - started > limit_s and not ended:
                    os.killpg(process.pid, signal.SIGKILL)  # the session that was started above
                    ended = f"no end after {limit_s:.0f} s"
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        wall_s = time.perf_counter() - started
        _, status, usage = waited
        process.returncode = os.waitstatus_to_exitcode(status)
    last = (log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no output"])[-1]
    return wall_s, usage, ended or f"exit code {process.returncode}: {last[:300]}"


@contextmanager
def judge(faults: Mapping[str, Any]) -> Iterator[str]:
    """Runs the judge server as a process."""
    behaviour = {"latency_s": LATENCY_S, "embedding_latency_s": EMBEDDING_LATENCY_S, **faults}
    command = [sys.executable, str(Path(__file__).with_name("peer_server.py")), json.dumps(behaviour)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _stats(url: str) -> dict[str, Any]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url.removesuffix("/v1") + "/stats") as reply:
        stats: dict[str, Any] = json.load(reply)
        return stats

"""What the runner scripts share; only the standard library, since each runs in an environment of its own."""

import json
import math
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

Scores = dict[str, dict[str, float | None]]
"""By sample id and metric; None where there is no score."""


@dataclass(frozen=True)
class Job:
    """What a runner is to do.

    Attributes:
        samples: As `peer_samples` makes them.
        url: Address of judge and embedder, ending in /v1.
        with_reference: Whether context precision and recall are scored beside the triad.
        concurrency: Calls or samples at once, as the tool counts it.
        strict: The tool's own way with errors, where it stops at the first one unless told otherwise.
        folder: An empty folder for whatever the tool writes.
    """

    samples: list[dict[str, Any]]
    url: str
    with_reference: bool
    concurrency: int
    strict: bool
    folder: str


def number(value: object) -> float | None:
    """A score; None for what is none, such as NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def stay_local() -> None:
    """Refuses every host but this machine, so that no tool calls home."""
    found = socket.getaddrinfo

    def local_only(host: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in {"127.0.0.1", "localhost", None}:
            raise socket.gaierror(socket.EAI_NONAME, f"{name} is not this machine")
        return found(host, *rest, **more)

    socket.getaddrinfo = local_only


def main(package: str, run: Callable[[Job], Scores]) -> None:
    """Reads the job named on the command line, runs it and writes scores or error beside it."""
    stay_local()
    path = Path(sys.argv[1])
    told: dict[str, Any] = {"version": version(package), "scores": {}, "error": None}
    try:
        told["scores"] = run(Job(**json.loads(path.read_text(encoding="utf-8"))))
    except Exception as error:  # noqa: BLE001  whatever ends a tool's run is a result
        told["error"] = f"{type(error).__name__}: {error}"[:500]
    path.with_suffix(".out.json").write_text(json.dumps(told), encoding="utf-8")


def by_sample(job: Job, rows: list[Mapping[str, object]]) -> Scores:
    """Scores from one mapping for each sample, in their order."""
    pairs = zip(job.samples, rows, strict=True)
    return {sample["id"]: {metric: number(value) for metric, value in row.items()} for sample, row in pairs}

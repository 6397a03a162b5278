"""Other processes that write into a directory store; run as `python -m tests.parts.store_writers URI NAME COUNT DEATH`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from ragguard.adapters.cloud_objects import CloudFolder
from ragguard.adapters.local_files import LocalFolder
from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.core.scores import SampleResult
from tests.contracts.stores import START, SUITE, make_head, make_results

ROOT = Path(__file__).parents[2]


def start(uri: str, name: str, count: int = 1, death: str = "never") -> "subprocess.Popen[bytes]":
    """Start a writer of `count` runs.

    Args:
        uri: The store.
        name: Start of the run ids.
        count: How many runs.
        death: `never`; `results`: killed while the results come; `head`: killed when run.json would be written.
    """
    command = [sys.executable, "-m", "tests.parts.store_writers", uri, name, str(count), death]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _deadly() -> Iterator[SampleResult]:
    yield from make_results(2)
    _die()


def main(uri: str, name: str, count: str, death: str) -> None:
    """Write the runs, or die on the way."""
    if death == "head":
        LocalFolder.create = CloudFolder.create = _die  # type: ignore[method-assign, assignment]
    store = DirectoryStore(uri=uri)
    for number in range(int(count)):
        head = make_head(f"{name}{number}", commit_time=START + timedelta(minutes=number))
        store.save(head, _deadly() if death == "results" else make_results(3))
        store.event(head.run_id, "accepted", name, START, SUITE)


if __name__ == "__main__":
    main(*sys.argv[1:])

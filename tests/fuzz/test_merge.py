"""Shards that somebody changed: merged into the run that they are, or refused by name."""

from __future__ import annotations

import asyncio
import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st

from ragguard.app.merge import merge_shards
from tests.fakes.small_runs import SmallRuns
from tests.fuzz.harness import attempt, fuzzed, scratch, strict_json
from tests.fuzz.test_stored import change_bytes, change_json, change_results

SHARDS = ("out/run-1", "out/run-2")


@functools.cache
def base() -> Path:
    """A folder with the two shards of one run, made once."""
    folder = Path(tempfile.mkdtemp(prefix="ragguard-fuzz-shards-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    runs = SmallRuns(folder, n=6)
    for number in (1, 2):
        runs.run(shard=f"{number}/2")
    return folder


@fuzzed(
    20,
    data=st.data(),
    how=st.sampled_from(["head", "results", "results", "bytes"]),
    given=st.lists(st.sampled_from([*SHARDS, "out", "golden.jsonl"]), max_size=3) | st.just([*SHARDS]),
)
def test_changed_shards_are_merged_or_refused(data: st.DataObject, how: str, given: list[str]) -> None:
    with scratch() as above:
        folder = above / "work"
        shutil.copytree(base(), folder)
        shard = folder / data.draw(st.sampled_from(SHARDS))
        if how == "head":
            change_json(shard / "run.json", data)
        elif how == "results":
            change_results(shard, data)
        else:
            change_bytes(folder, data)
        runs = SmallRuns(folder, n=6)
        runs.count = 2
        request = runs.request(overrides={"pipeline.answers": str(folder / "answers.jsonl")})
        uris = [str(folder / name) for name in given]
        report = attempt(lambda: asyncio.run(merge_shards(request, uris)), {2, 4})
        if report is None:
            return
        if report.exit_code == 0 or report.head.outcome == "passed":
            assert any(metric.n_scored for metric in report.head.metrics.values())
        for path in request.output.glob("*.json"):
            strict_json(path.read_bytes())

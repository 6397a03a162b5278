"""24 runs at once against one store, one cache and one judge server.

They are six pipelines in threads of each of four processes, every one with an event loop, clients and an output folder
of its own: 24 processes would spend minutes of a small machine's time on importing LiteLLM, and less of it together.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.app.baselines import last_accepted
from ragguard.app.context import RunContext
from tests.fakes.small_runs import START, answer_rows, golden_rows, write_rows
from tests.parts.judge_server import judge_server
from tests.parts.load_worker import one_run

PROCESSES, EACH = 4, 6
N, WRONG = 30, 10
ROOT = Path(__file__).parents[2]
_CONFIG = """
suite: load
pipeline: {{dataset: golden.jsonl}}
judge: {{model: openai/judge, api_base: '{url}', concurrency: 4}}
embedder: {{type: offline, backend: ngrams}}
metrics: [faithfulness, context_relevance]
"""


def test_24_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    write_rows(tmp_path / "golden.jsonl", golden_rows(N))
    write_rows(tmp_path / "good.jsonl", answer_rows(N))
    write_rows(tmp_path / "bad.jsonl", answer_rows(N, WRONG))
    with judge_server(latency_s=0.02) as judge:
        (tmp_path / "ragguard.yaml").write_text(_CONFIG.format(url=judge.url), "utf-8")
        environment = {**os.environ, "OPENAI_API_KEY": "key", "PYTHONPATH": str(ROOT)}
        os.environ.setdefault("OPENAI_API_KEY", "key")
        assert one_run(tmp_path, "first", 0)["outcome"] == "warned"
        workers = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.parts.load_worker", str(tmp_path), f"process-{number}", str(EACH)],
                cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
            )
            for number in range(PROCESSES)
        ]  # fmt: skip
        said = [worker.communicate(timeout=300) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * PROCESSES, [err[-2_000:] for _, err in said]
    ended = [json.loads(line) for out, _ in said for line in out.splitlines()]
    assert len({one["run_id"] for one in ended}) == PROCESSES * EACH

    # A bad run never passes, a good one always does, whatever the others do meanwhile.
    assert {(one["bad"], one["outcome"], one["exit_code"]) for one in ended} == {
        (True, "failed", 1),
        (False, "passed", 0),
    }

    store = DirectoryStore(uri=str(tmp_path / "store"))
    heads = store.heads("load", limit=1_000)
    assert {head.run_id for head in heads} == {"first-0", *(one["run_id"] for one in ended)}
    outcomes = {one["run_id"]: one["outcome"] for one in ended}
    for head in heads:
        assert head.outcome == outcomes.get(head.run_id, "warned")
        assert len(list(store.samples(head.run_id))) >= N

    # Every run was compared with one that was accepted, and so will the next one be; the same answers count once.
    accepted = {head.run_id for head in heads if head.outcome in {"warned", "passed"}}
    assert {one["baseline"] for one in ended} <= accepted
    baseline = last_accepted(store, "load", RunContext("next", START, base_branches=("main",)), carry_over=True)
    assert len(baseline.runs) == 1
    assert baseline.runs[0].run_id in accepted
    with closing(sqlite3.connect(tmp_path / ".ragguard/cache.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)

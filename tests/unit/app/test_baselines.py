"""Which runs of a store are the baseline, where the plain way does not find them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.app.baselines import last_accepted
from ragguard.app.context import RunContext
from tests.contracts.stores import START, SUITE, make_head, make_results

NEXT = RunContext("next", START, base_branches=("main",))


def test_a_long_incident_does_not_make_a_failed_run_the_baseline(tmp_path: Path) -> None:
    store = DirectoryStore(uri=str(tmp_path))
    store.save(make_head("good", outcome="passed", event="push"), make_results())
    for night in range(1, 61):
        failed = make_head(
            f"night-{night}", outcome="failed", event="schedule", commit_time=START + timedelta(days=night)
        )
        store.save(failed, [])
    found = last_accepted(store, SUITE, NEXT, carry_over=False)
    assert [run.run_id for run in found.runs] == ["good"]


def test_a_store_of_failed_runs_alone_has_no_baseline(tmp_path: Path) -> None:
    store = DirectoryStore(uri=str(tmp_path))
    for night in range(51):
        store.save(make_head(f"night-{night}", outcome="failed", event="schedule"), [])
    assert last_accepted(store, SUITE, NEXT, carry_over=False).runs == ()

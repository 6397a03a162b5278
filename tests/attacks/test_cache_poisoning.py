"""Caches of verdicts and stores of runs that somebody else has written to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml
import zstandard

from ragguard.adapters.judges.cached import CachedJudge
from ragguard.adapters.runfiles import read_run
from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.core.scores import Judgment, judgment_key
from ragguard.core.tasks import questions_task
from ragguard.errors import StoreError
from tests.attacks.attack import Attacks
from tests.fakes.judging import ScriptedJudge
from tests.fakes.small_runs import SmallRuns

ATTACKS = Attacks("cache and store")
GOOD = {"noncommittal": False, "questions": ["学费是多少？"]}
TASK = questions_task("câu trả lời", 1)
TABLE = (
    "CREATE TABLE judgments (key TEXT PRIMARY KEY, task TEXT NOT NULL, value TEXT NOT NULL, made REAL NOT NULL, "
    "used REAL NOT NULL)"
)
WORKFLOWS = Path(__file__).parents[2] / "templates" / "workflows"


def asked_through(path: Path) -> tuple[Judgment, ScriptedJudge, CachedJudge]:
    """One judgment through a cache file."""
    inner = ScriptedJudge({"questions": GOOD})
    judge = CachedJudge(inner, path=path)

    async def story() -> Judgment:
        (request,) = judge.requests(TASK, 0, None)
        found = await judge.ask(TASK, request)
        await judge.aclose()
        return found

    return asyncio.run(story()), inner, judge


def entry(output: dict[str, Any], **changes: object) -> str:
    """A judgment on TASK as the cache keeps it."""
    (request,) = ScriptedJudge({}).requests(TASK, 0, None)
    made = Judgment(task="questions", key=judgment_key(request), model="model-0", status="ok", output=output)
    return json.dumps({**made.model_dump(mode="json"), **changes})


def made_elsewhere(path: Path, *statements: str) -> None:
    """A database that somebody else made."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.executescript(statement)


def with_value(path: Path, value: str) -> None:
    """A cache file of ours in which somebody else has written one value."""
    assert asked_through(path)[0].source == "called"
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("UPDATE judgments SET value = ?", (value,)).rowcount == 1
        db.commit()


ENDLESS = (
    "CREATE VIEW judgments AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT 'k' AS key, 't' AS task, x AS value, 0.0 AS made, 0.0 AS used FROM n WHERE x < 0"
)
CHECKED = TABLE.replace("value TEXT NOT NULL", "value TEXT CHECK (length(randomblob(1e8)) > 0)")
SCHEMAS = {
    "a view that never ends": (ENDLESS,),
    "a trigger": (TABLE, "CREATE TRIGGER t AFTER INSERT ON judgments BEGIN DELETE FROM judgments; END"),
    "a trigger that loads code": (
        TABLE,
        "CREATE TRIGGER t AFTER INSERT ON judgments BEGIN SELECT load_extension('/tmp/evil.so'); END",
    ),
    "an expensive check": (CHECKED,),
    "other columns": ("CREATE TABLE judgments (key TEXT, value BLOB)",),
    "a virtual table": ("CREATE VIRTUAL TABLE judgments USING fts5(key, task, value, made, used)",),
}


@ATTACKS.tried(
    "a cache file with triggers, views, virtual tables or other columns",
    "branch fork",
    "code or endless work when it is opened",
    "a file whose schema is not ours to the letter is left alone and said; nothing of it is run",
)
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_foreign_schema_is_not_used(tmp_path: Path, name: str) -> None:
    path = tmp_path / "cache.sqlite"
    made_elsewhere(path, *SCHEMAS[name])
    before = path.read_bytes()
    found, inner, judge = asked_through(path)
    assert (found.source, len(inner.asked)) == ("called", 1)
    assert "made by somebody else" in judge.notices[0]
    assert path.read_bytes() == before


VALUES = {
    "no JSON": "{",
    "another key": entry(GOOD, key="0" * 64),
    "another shape": entry({"relevant": [1]}),
    "a failed one": entry(GOOD, status="failed"),
    "nested": '{"a":' * 50_000,
    "NaN": entry(GOOD).replace('"attempts": 0', '"attempts": NaN'),
    "a pickle": "\x80\x04cos\nsystem\n",
}


@ATTACKS.tried(
    "entries that are no JSON, of another key or shape, nested, huge, a pickle",
    "branch fork",
    "a crash, code, or a verdict on another question",
    "values are JSON, checked as a judge's reply is; the key is a digest of all that was asked",
)
@pytest.mark.parametrize("name", VALUES)
def test_a_foreign_entry_is_asked_for_anew(tmp_path: Path, name: str) -> None:
    path = tmp_path / "cache.sqlite"
    with_value(path, VALUES[name])
    found, inner, _ = asked_through(path)
    assert (found.source, found.output, len(inner.asked)) == ("called", GOOD, 1)


def test_a_huge_entry_costs_the_cache_not_the_run(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with_value(path, "x" * 11_000_000)
    found, inner, judge = asked_through(path)
    assert (found.source, len(inner.asked)) == ("called", 1)
    assert judge.notices


@ATTACKS.tried(
    "an entry with the right key and a forged verdict",
    "branch fork",
    "the change's own run believes it",
    "nothing in the file itself: it is trusted as far as its writer. No change may commit one, GitHub gives a change's "
    "caches to that change alone, and no workflow of ours that makes a baseline restores one",
)
def test_a_forged_verdict_reaches_its_own_change_alone(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    forged = {"noncommittal": False, "questions": ["Forged?"]}
    with_value(path, entry(forged))
    found, inner, _ = asked_through(path)
    assert (found.source, found.output, inner.asked) == ("cached", forged, []), "and the report counts it as cached"
    restoring = {
        path.name
        for path in WORKFLOWS.glob("*.yml")
        if any("ragguard-verdicts" in str(step.get("with")) for step in steps(path))
    }
    assert restoring == {"ragguard-pr.yml"}
    workflow = yaml.safe_load((WORKFLOWS / "ragguard-pr.yml").read_text(encoding="utf-8"))
    assert set(workflow[True]) == {"pull_request", "merge_group"}, "events that never make a baseline"


def steps(path: Path) -> list[dict[str, Any]]:
    """The steps of a workflow's jobs."""
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@ATTACKS.tried(
    "samples in the store that are changed after their run was stored",
    "store",
    "a baseline with lower scores",
    "the head tells their digest and count; where they differ, the store is damaged and nothing is said",
)
def test_changed_samples_are_no_baseline(tmp_path: Path) -> None:
    runs = SmallRuns(tmp_path, n=6)
    runs.run()
    (packed,) = (tmp_path / "store").rglob("samples-*")
    text = zstandard.ZstdDecompressor().stream_reader(packed.read_bytes()).read()
    for changed in (text.replace(b'"value":1.0', b'"value":0.1'), text.rpartition(b"\n{")[0] + b"\n", b""):
        packed.write_bytes(zstandard.ZstdCompressor().compress(changed))
        with pytest.raises(StoreError):
            runs.run()
    packed.unlink()
    with pytest.raises(StoreError):
        runs.run()


@ATTACKS.tried(
    "a stored run whose head is cut off, of another kind or of a newer schema",
    "store",
    "the store looks empty, so that a worse run has no baseline and passes",
    "a store that cannot be read is an outage, never an empty one",
)
@pytest.mark.parametrize("head", [b"", b"{", b"[]", b'{"schema_version": 2, "run_id": "x"}', b"\x00" * 100])
def test_a_damaged_store_is_not_an_empty_one(tmp_path: Path, head: bytes) -> None:
    runs = SmallRuns(tmp_path, n=3)
    runs.run()
    (tmp_path / "store" / "runs" / "run-1" / "run.json").write_bytes(head)
    with pytest.raises(StoreError):
        runs.run(wrong=3)


@ATTACKS.tried(
    "a pull request's run that is put into the store by hand, as a shard, with another data set, or failed",
    "store branch",
    "it becomes the baseline by itself",
    "only whole runs of the suite's own data set that passed outside of pull requests are accepted by themselves",
)
@pytest.mark.parametrize("change", ["event", "outcome", "overridden"])
def test_such_a_run_is_no_baseline_by_itself(tmp_path: Path, change: str) -> None:
    runs = SmallRuns(tmp_path, n=3)
    runs.run()
    saved = read_run(runs.output("run-1"))
    update: dict[str, Any] = {"event": "pull_request"} if change == "event" else {"outcome": "failed"}
    if change == "overridden":
        update = {"dataset": saved.head.dataset.model_copy(update={"overridden": True})}
    DirectoryStore(uri=str(tmp_path / "other")).save(saved.head.model_copy(update=update), saved.results())
    report = runs.run(overrides={"reporting.sink": str(tmp_path / "other")})
    assert report.head.baseline_run_ids == ()

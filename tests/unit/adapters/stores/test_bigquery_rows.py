"""What of a run stands in which column, what a load job's id is made of, and which settings are accepted."""

import json
import pickle
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from ragguard.adapters.stores import bigquery_rows as rows
from ragguard.adapters.stores.bigquery import BigQueryStore
from ragguard.adapters.stores.bigquery_tables import EVENTS, RUNS, SAMPLES, SCORES, SHAPES, Column
from ragguard.core.runs import Event, SamplesFile
from ragguard.core.scores import Judgment, SampleResult, Score
from ragguard.errors import RunFileError, StoreError, UserInputError
from tests.contracts.stores import START, make_head, make_results

HOSTILE = "评判 \0 \ud800 \u2028 `;--\n"
SAFE = "评判 \ufffd \ufffd \u2028 `;--\n"


def all_rows(head: Any = None, results: Any = None, chunk_bytes: int = 1_000) -> dict[str, list[rows.Row]]:
    head, results = head or make_head(), make_results() if results is None else results
    with rows.spooled(head, results, chunk_bytes) as spool:
        return {
            "runs": [rows.run_row(head, spool)],
            "samples": list(rows.sample_rows(head, spool)),
            "scores": list(rows.score_rows(head, spool)),
        }


def load_id(*args: Any) -> object:
    return all_rows(*args)["runs"][0]["load_id"]


def hostile_result() -> SampleResult:
    return SampleResult(
        id="a\0b",
        sample_digest="s",
        passages_digest="p",
        scores=(
            Score(metric="m", status="failed", reason=HOSTILE, flags=(HOSTILE,), details={"big": 10**30, "one": 1.0}),
        ),
        judgments=(Judgment(key="k", task="t", model="m", status="failed", raw=HOSTILE),),
    )


def test_every_column_is_filled_and_no_other() -> None:
    made = all_rows()
    for shape, found in ((RUNS, made["runs"]), (SAMPLES, made["samples"]), (SCORES, made["scores"])):
        assert {frozenset(row) for row in found} == {frozenset(column.name for column in shape.columns)}
    (metrics,) = (column for column in RUNS.columns if column.name == "metrics")
    assert {frozenset(row) for row in made["runs"][0]["metrics"]} == {frozenset(one.name for one in metrics.fields)}  # type: ignore[union-attr,arg-type]
    event = rows.event_row(Event(run_id="r", suite="s", kind="pinned", by="b", at=START))
    assert event.keys() == {column.name for column in EVENTS.columns}


def test_columns_are_described_and_repeated_ones_are_lists() -> None:
    made = {RUNS: all_rows()["runs"], SAMPLES: all_rows()["samples"], SCORES: all_rows()["scores"], EVENTS: []}

    def check(column: Column) -> None:
        assert column.description
        for inner in column.fields:
            check(inner)

    for shape in SHAPES:
        assert {shape.day, *shape.clustering} <= {column.name for column in shape.columns}
        assert len(shape.clustering) <= 4
        for column in shape.columns:
            check(column)
            assert all(isinstance(row[column.name], list) == (column.mode == "REPEATED") for row in made[shape])


def test_a_score_is_a_row_of_its_own_and_says_which_run_it_belongs_to() -> None:
    made = all_rows()
    first, second = made["scores"][:2]

    assert len(made["scores"]) == 6
    assert (first["run_id"], first["suite"], first["branch"]) == ("r1", "toán-数学", "main")
    assert (first["sample_id"], first["metric"], first["value"], first["passed"]) == (
        "câu-0",
        "faithfulness",
        1.0,
        True,
    )
    assert (second["status"], second["value"], second["passed"]) == ("failed", None, None)
    assert {row["load_id"] for table in made.values() for row in table} == {made["runs"][0]["load_id"]}
    assert [row["position"] for row in made["samples"]] == [0, 1, 2]
    assert made["runs"][0]["n_results"] == 3


def test_times_are_utc_and_the_ordering_time_is_the_commits_else_the_runs() -> None:
    from datetime import timezone

    hanoi = timezone(timedelta(hours=7))
    at = START.astimezone(hanoi)
    (row,) = all_rows(make_head(commit_time=at))["runs"]
    assert row["ordering_time"] == row["commit_time"] == "2026-03-01T08:30:15.123457+00:00"
    (row,) = all_rows(make_head(commit_time=None, created_at=at))["runs"]
    assert row["commit_time"] is None
    assert row["ordering_time"] == row["created_at"] == "2026-03-01T08:30:15.123457+00:00"


def test_foreign_text_is_storable_and_records_come_back_exactly() -> None:
    result = hostile_result()
    made = all_rows(results=[result])
    (score,) = made["scores"]
    assert score["reason"] == SAFE
    assert score["flags"] == [SAFE]
    assert made["samples"][0]["sample_id"] == rows.cell("a\0b") == "a\ufffdb"

    line = rows.line(made["samples"][0])
    assert line.count(b"\n") == 1
    record = json.loads(line)["record"]
    got = rows.record_of(SampleResult, record, "here")
    assert got.id == "a\0b"
    assert got.scores[0].details == {"big": 10**30, "one": 1.0}
    assert isinstance(got.scores[0].details["one"], float)
    assert got.judgments[0].raw == HOSTILE.replace("\ud800", "\ufffd")
    head = make_head()
    assert rows.head_of(rows.record_text(head), "here") == head


def test_a_record_of_a_newer_version_is_told() -> None:
    text = json.dumps({**json.loads(rows.record_text(make_head())), "schema_version": 99})
    with pytest.raises(StoreError, match=r"run r1.*schema version 99"):
        rows.head_of(text, "run r1")
    with pytest.raises(StoreError, match=r"result 3") as caught:
        rows.record_of(SampleResult, '{"id": 1, "unheard_of": 2}', "result 3")
    assert any("unheard_of" in detail for detail in caught.value.details)


def test_events_come_back() -> None:
    event = Event(run_id="r", suite="toán", kind="pinned", by="Ngọc", at=START)
    row: dict[str, Any] = dict(rows.event_row(event))
    row["decided_at"] = datetime.fromisoformat(row["decided_at"])
    assert rows.event_of(row, "events") == event


@pytest.mark.parametrize(
    "other",
    [
        lambda: load_id(make_head(), make_results(3, value=0.5)),
        lambda: load_id(make_head(), make_results(2)),
        lambda: load_id(make_head(), make_results()[::-1]),
        lambda: load_id(make_head(run_id="r2"), make_results()),
        lambda: load_id(make_head(commit_time=START + timedelta(days=1)), make_results()),
        lambda: load_id(make_head(branch=None), make_results()),
        lambda: load_id(make_head(), make_results(), 999),
    ],
    ids=["values", "fewer", "order", "run", "day", "branch", "chunks"],
)
def test_what_decides_the_rows_decides_the_load_id(other: Callable[[], object]) -> None:
    assert other() != load_id() == load_id(make_head(coverage=0.5), iter(make_results()))


def test_a_spool_is_read_as_often_as_wanted() -> None:
    with rows.spooled(make_head(), iter(make_results()), 1) as spool:
        assert list(spool.results()) == list(spool.results()) == make_results()
        rows.require_count(make_head(), spool)
        rows.require_count(make_head(samples=SamplesFile(path="p", sha256="0" * 64, count=3)), spool)
        with pytest.raises(RunFileError, match="3 results were given, its head says 4"):
            rows.require_count(make_head(samples=SamplesFile(path="p", sha256="0" * 64, count=4)), spool)


def test_lines_are_cut_into_files_under_the_limit() -> None:
    lines = [b"a" * 4, b"b" * 4, b"c" * 3, b"d" * 20, b"e"]
    assert list(rows.chunks(lines, 8)) == [b"aaaabbbb", b"ccc", b"d" * 20, b"e"]
    assert list(rows.chunks([], 8)) == []
    assert list(rows.chunks(lines, 1)) == lines


def test_the_same_key_is_the_same_job_and_every_part_of_it_counts() -> None:
    def key(**changes: Any) -> str:
        return rows.job_id("p:d.t", datetime(2026, 1, 1, tzinfo=UTC), *rows.run_key(make_head(**changes)))

    same = key()
    assert same == key(created_at=START, coverage=0.1)
    changed: list[dict[str, Any]] = [
        {"repository": "a/b"},
        {"suite": "s"},
        {"commit": "c"},
        {"run_id": "r2"},
        {"attempt": 2},
    ]
    assert len({same, *(key(**change) for change in changed)}) == 6
    assert same.removeprefix("ragguard-").isalnum()


@pytest.mark.parametrize(
    ("written", "table"),
    [
        ("acme-rag.ci_runs.tutor", "acme-rag.ci_runs.tutor"),
        ("bigquery://acme-rag.ci_runs.tutor-2", "acme-rag.ci_runs.tutor-2"),
        ("example.com:acme-rag.d.t", "example.com:acme-rag.d.t"),
    ],
)
def test_tables_that_are_accepted(written: str, table: str) -> None:
    store = BigQueryStore(table=written)
    assert (store.table, store.uri) == (table, f"bigquery://{table}")


@pytest.mark.parametrize(
    "table",
    [
        "", "dataset.table", "acme-rag.d", "acme-rag..t", "a.d.t", "acme-rag.d.t.x", "acme-rag.d-e.t", "Acme-rag.d.t",
        "acme-rag.d.t`; DROP TABLE x", "acme-rag.d.t x", "acme-rag.d.t\n", "acme-rag.d.{t}", "acme-rag.d.toán",
        "acme-rag.d." + "t" * 1_001, "acme-rag/../x.d.t",
    ],
)  # fmt: skip
def test_tables_that_are_refused(table: str) -> None:
    with pytest.raises(ValidationError, match=r"project\.dataset\.table"):
        BigQueryStore(table=table)


@pytest.mark.parametrize(
    "wrong",
    [
        {"location": "EU; x"}, {"billing_project": "a b"}, {"billing_project": "acme-rag\n"}, {"location": "EU\n"},
        {"api_endpoint": "localhost:9050"}, {"maximum_bytes_billed": 0}, {"timeout": 0}, {"key": "x"},
    ],
)  # fmt: skip
def test_settings_that_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BigQueryStore(table="acme-rag.d.t", **wrong)


def test_settings_travel_and_cannot_be_changed() -> None:
    store = BigQueryStore(table="acme-rag.d.t")
    assert pickle.loads(pickle.dumps(store)) == store
    with pytest.raises(ValidationError):
        store.table = "other-project.d.t"  # type: ignore[misc]


def test_a_missing_package_is_told_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud.bigquery", None)
    store = BigQueryStore(table="acme-rag.d.t")
    for act in (lambda: store.heads("s"), lambda: store.save(make_head(), []), lambda: store.events("s")):
        with pytest.raises(UserInputError, match=r"pip install 'ragguard\[bigquery\]'"):
            act()

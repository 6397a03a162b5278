"""What only the BigQuery store promises, on an emulator: killed and concurrent writers, tables, columns, SQL users."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from ragguard.adapters.stores import bigquery as module
from ragguard.adapters.stores import bigquery_rows as rows
from ragguard.adapters.stores.bigquery import BigQueryStore
from ragguard.adapters.stores.bigquery_tables import RUNS, SAMPLES, SHAPES
from ragguard.core.scores import SampleResult
from ragguard.errors import StoreError
from tests.contracts.stores import START, make_head, make_results
from tests.parts.bigquery import BigQueryEmulator

if TYPE_CHECKING:  # a machine without the package skips these tests
    from google.cloud import bigquery

_numbers = itertools.count()


class KilledError(BaseException):
    """Stands for a kill: nobody cleans up after it."""


class Dying(BigQueryStore):
    """Dies before its load jobs into one table."""

    before: str

    def _load(self, table: Any, key: Any, found: Any) -> bool:
        if table.table_id == self.before:
            raise KilledError
        return super()._load(table, key, found)


@pytest.fixture(scope="module")
def shared(bigquery_emulator: BigQueryEmulator) -> str:
    """Tables that are there already; making them is most of a first save."""
    table = f"{bigquery_emulator.project}.shared.runs"
    with closing(BigQueryStore(table=table, api_endpoint=bigquery_emulator.endpoint)) as store:
        store.save(make_head("first", suite="first"), [])
    return table


@pytest.fixture
def open_store(bigquery_emulator: BigQueryEmulator) -> Iterator[Callable[..., BigQueryStore]]:
    opened: list[BigQueryStore] = []

    def open_one(table: str, kind: type[BigQueryStore] = BigQueryStore, **settings: Any) -> BigQueryStore:
        opened.append(kind(table=table, api_endpoint=bigquery_emulator.endpoint, timeout=20, **settings))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[..., BigQueryStore], shared: str) -> BigQueryStore:
    return open_store(shared)


@pytest.fixture
def name() -> str:
    """A suite and run of the test's own."""
    return f"toán-{next(_numbers)}"


@pytest.fixture
def client(bigquery_emulator: BigQueryEmulator) -> Iterator[bigquery.Client]:
    with closing(bigquery_emulator.client()) as client:
        yield client


def values(client: bigquery.Client, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in client.query_and_wait(query)]


def counts(client: bigquery.Client, table: str, run_id: str) -> list[int]:
    """Rows of a run in the three tables: runs, samples, scores."""
    query = f"SELECT COUNT(*) FROM `{table}{{}}` WHERE run_id = '{run_id}'"
    return [values(client, query.format(suffix))[0][0] for suffix in ("", "_samples", "_scores")]


def test_tables_are_made_at_the_first_save_partitioned_clustered_described(
    bigquery_emulator: BigQueryEmulator, open_store: Callable[..., BigQueryStore], client: bigquery.Client
) -> None:
    store = open_store(f"{bigquery_emulator.project}.made.runs")
    assert store.heads("s") == []
    assert "made" not in {one.dataset_id for one in client.list_datasets()}
    store.save(make_head(), [])

    for shape in SHAPES:
        table = client.get_table(store.table + shape.suffix)
        assert table.time_partitioning is not None
        assert (table.time_partitioning.type_, table.time_partitioning.field) == ("DAY", shape.day)
        assert table.clustering_fields == list(shape.clustering)
        assert table.description == shape.description
        assert [(one.name, one.mode, one.description) for one in table.schema] == [
            (one.name, one.mode, one.description) for one in shape.columns
        ]


def test_runs_can_be_read_with_sql(store: BigQueryStore, client: bigquery.Client, name: str) -> None:
    head = make_head(name, suite=name)
    store.save(head, make_results(2))

    query = f"""
        SELECT s.sample_id, s.metric, s.value, s.tags FROM `{store.table}_scores` s
        JOIN `{store.table}` r USING (run_id, load_id) WHERE r.suite = '{name}' ORDER BY 1, 2"""
    assert values(client, query)[:2] == [
        ("câu-0", "answer_relevance", None, ["hình học"]),
        ("câu-0", "faithfulness", 1.0, ["hình học"]),
    ]
    query = f"""
        SELECT m.mean, JSON_VALUE(head, '$.usage.calls') FROM `{store.table}`, UNNEST(metrics) m
        WHERE run_id = '{name}' AND m.metric = 'faithfulness'"""
    assert values(client, query) == [(head.metrics["faithfulness"].mean, "24")]
    query = f"SELECT JSON_VALUE(record, '$.answer.text') FROM `{store.table}_samples` WHERE run_id = '{name}'"
    assert values(client, query) == [("Vì\r\nthế\t😀",)] * 2


@pytest.mark.parametrize("before", ["runs_scores", "runs"])
def test_a_run_whose_writer_was_killed_is_never_seen_and_can_be_completed(
    open_store: Callable[..., BigQueryStore], shared: str, client: bigquery.Client, name: str, before: str
) -> None:
    store = open_store(shared)
    with pytest.raises(KilledError):
        open_store(shared, Dying, before=before).save(make_head(name, suite=name, commit_time=None), make_results(4))
    assert store.heads(name) == []
    assert store.head(name) is None
    left = counts(client, shared, name)
    assert left == [0, 4, 8 if before == "runs" else 0]

    later = make_head(name, suite=name, commit_time=None, created_at=START + timedelta(days=3))
    store.save(later, make_results(3, value=0.5))
    assert store.heads(name) == [later]
    assert list(store.samples(name)) == make_results(3, value=0.5)
    assert counts(client, shared, name) == [1, left[1] + 3, left[2] + 6]


def test_a_large_run_takes_several_jobs_that_are_not_repeated_and_is_read_in_windows(
    open_store: Callable[..., BigQueryStore],
    shared: str,
    client: bigquery.Client,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def jobs() -> int:
        return sum(job.job_type == "load" and job.destination.table_id == "runs_samples" for job in client.list_jobs())

    head, results, settings = make_head(name, suite=name), make_results(9), {"load_job_bytes": 6_000}
    before = jobs()
    with pytest.raises(KilledError):
        open_store(shared, Dying, before="runs", **settings).save(head, results)
    made = jobs() - before
    assert 2 < made < 9
    store = open_store(shared, **settings)
    store.save(head, results)
    assert jobs() - before == made
    assert counts(client, shared, name) == [1, 9, 18]

    monkeypatch.setattr(module, "_WINDOW", 4)
    monkeypatch.setattr(module, "_MAX_IDS", 2)
    assert list(store.samples(name)) == results
    assert list(store.samples(name, frozenset({"câu-8", "câu-0", "câu-4"}))) == results[::4]


def test_a_result_that_was_loaded_twice_is_read_once(store: BigQueryStore, client: bigquery.Client, name: str) -> None:
    store.save(make_head(name, suite=name), make_results(2))
    table = f"`{store.table}_samples`"
    client.query_and_wait(f"INSERT INTO {table} SELECT * FROM {table} WHERE run_id = '{name}'")

    assert counts(client, store.table, name)[1] == 4
    assert list(store.samples(name)) == make_results(2)


def test_rows_that_are_gone_are_an_outage_and_no_smaller_run(
    open_store: Callable[..., BigQueryStore], store: BigQueryStore, client: bigquery.Client, name: str
) -> None:
    head = make_head(name, suite=name)
    store.save(head, make_results())
    client.query_and_wait(f"DELETE FROM `{store.table}_samples` WHERE run_id = '{name}' AND sample_id = 'câu-1'")
    with pytest.raises(StoreError, match="2 of its results 0 to 2"):
        list(store.samples(name))

    client.query_and_wait(f"DELETE FROM `{store.table}` WHERE run_id = '{name}'")
    with pytest.raises(StoreError, match="deleted since"):
        open_store(store.table).save(head, make_results())


def save_in_a_process(settings: dict[str, Any], suite: str, runs: list[str], value: float, start: Any) -> None:
    with closing(BigQueryStore(**settings)) as store:
        assert store.heads(suite) == []
        start.wait(120)
        for run_id in runs:
            store.save(make_head(run_id, suite=suite), make_results(3, value=value))


def test_two_processes_writing_at_once_lose_nothing_and_double_nothing(
    store: BigQueryStore, client: bigquery.Client, name: str
) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    own = {f"{name}-a": 1.0, f"{name}-b": 0.5}
    writers = [
        context.Process(target=save_in_a_process, args=(store.model_dump(), name, [name, run_id], value, start))
        for run_id, value in own.items()
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(300)

    assert [writer.exitcode for writer in writers] == [0, 0]
    assert {head.run_id for head in store.heads(name)} == {name, *own}
    assert counts(client, store.table, name)[0] == 1
    for run_id, value in own.items():
        assert list(store.samples(run_id)) == make_results(3, value=value)
        assert counts(client, store.table, run_id) == [1, 3, 6]
    assert list(store.samples(name)) in [make_results(3, value=value) for value in own.values()]


def test_a_load_that_failed_is_done_under_another_id_once(
    store: BigQueryStore, client: bigquery.Client, name: str
) -> None:
    warehouse = store._warehouse
    with rows.spooled(make_head(name), make_results(1), 1) as spool:
        (good,) = map(rows.line, rows.sample_rows(make_head(name), spool))
    with pytest.raises(StoreError, match="cannot be written"), warehouse.told("written"):
        warehouse.load(warehouse.ensure(SAMPLES), (name,), b'{"run_id": "r1"}\n')

    assert warehouse.load(warehouse.ensure(SAMPLES), (name,), good)
    assert not warehouse.load(warehouse.ensure(SAMPLES), (name,), good)
    assert counts(client, store.table, name) == [0, 1, 0]


def test_a_store_travels_without_its_client(store: BigQueryStore) -> None:
    assert store.head("first") is not None
    for travelled in (pickle.loads(pickle.dumps(store)), copy.copy(store), copy.deepcopy(store), store.model_copy()):
        assert travelled == store
        assert "_warehouse" not in travelled.__dict__
    moved = store.model_copy(update={"table": f"{store.table}_elsewhere"})
    with closing(moved):
        assert moved.head("first") is None


def test_a_baseline_is_found_among_thousands_of_runs(store: BigQueryStore, name: str) -> None:
    none: list[SampleResult] = []
    heads = [
        make_head(f"{name}-{number}", suite=name, commit_time=START + timedelta(hours=number))
        for number in range(5_000)
    ]
    lines = []
    for head in heads:
        with rows.spooled(head, none, 1) as spool:
            lines.append(rows.line(rows.run_row(head, spool)))
    warehouse = store._warehouse
    warehouse.load(warehouse.ensure(RUNS), (name,), b"".join(lines))

    found = store.heads(name, branch="main", before=heads[3_000].commit_time, limit=50)
    assert found == heads[3_000:2_950:-1]
    assert store.head(f"{name}-17") == heads[17]

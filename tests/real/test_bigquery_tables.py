"""Tables of the BigQuery store that are there before it: older, newer, somebody else's, or being made by another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from ragguard.adapters.stores.bigquery import BigQueryStore
from ragguard.adapters.stores.bigquery_schema import ensure, with_additions
from ragguard.adapters.stores.bigquery_tables import RUNS, SAMPLES
from ragguard.errors import StoreError
from tests.contracts.stores import make_head, make_results
from tests.parts.bigquery import BigQueryEmulator

if TYPE_CHECKING:
    from google.cloud import bigquery

_numbers = itertools.count()


@pytest.fixture
def client(bigquery_emulator: BigQueryEmulator) -> Iterator[bigquery.Client]:
    with closing(bigquery_emulator.client()) as client:
        yield client


@pytest.fixture
def store(bigquery_emulator: BigQueryEmulator, client: bigquery.Client) -> Iterator[BigQueryStore]:
    """A store whose dataset is there, and empty."""
    dataset = f"tables{next(_numbers)}"
    client.create_dataset(dataset)
    table = f"{bigquery_emulator.project}.{dataset}.runs"
    with closing(BigQueryStore(table=table, api_endpoint=bigquery_emulator.endpoint, timeout=20)) as store:
        yield store


class Changing:
    """A client whose tables are made or changed by somebody else between its look at them and what it does next."""

    def __init__(self, client: bigquery.Client, *, absent: int = 0, column: str | None = None) -> None:
        self._client, self._absent, self._column = client, absent, column

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_table(self, name: str, **how: Any) -> bigquery.Table:
        from google.api_core.exceptions import NotFound
        from google.cloud import bigquery

        if self._absent:
            self._absent -= 1
            raise NotFound(f"Not found: Table {name}")  # type: ignore[no-untyped-call]
        table = self._client.get_table(name, **how)
        if self._column:
            changed = self._client.get_table(name, **how)
            changed.schema = [*changed.schema, bigquery.SchemaField(self._column, "STRING")]
            self._client.update_table(changed, ["schema"])
            self._column = None
        return table


def made(client: Any, store: BigQueryStore) -> bigquery.Table:
    from google.cloud.bigquery.retry import DEFAULT_RETRY

    return ensure(client, store.table, RUNS, location=None, retry=DEFAULT_RETRY.with_timeout(20), timeout=20)


def old_columns() -> list[bigquery.SchemaField]:
    from google.cloud.bigquery import SchemaField

    return [SchemaField(one.name, one.type, one.mode) for one in RUNS.columns if one.mode == "REQUIRED"]


def test_missing_columns_are_added_and_unknown_ones_kept(store: BigQueryStore, client: bigquery.Client) -> None:
    from google.cloud.bigquery import SchemaField, Table

    client.create_table(Table(store.table, schema=[*old_columns(), SchemaField("our_team", "STRING")]))
    store.save(make_head(), make_results(1))

    schema = {one.name: one for one in client.get_table(store.table).schema}
    assert set(schema) == {one.name for one in RUNS.columns} | {"our_team"}
    assert schema["coverage"].mode == "NULLABLE"
    assert schema["coverage"].description
    assert store.head("r1") == make_head()


def test_columns_within_a_column_are_added_too(store: BigQueryStore) -> None:
    from google.cloud.bigquery import SchemaField

    inner = [SchemaField("metric", "STRING"), SchemaField("theirs", "STRING")]
    wanted = with_additions("t", [*old_columns(), SchemaField("metrics", "RECORD", "REPEATED", fields=inner)], RUNS)

    (metrics,) = (one for one in wanted if one.name == "metrics")
    names = [one.name for one in metrics.fields]
    assert names[:2] == ["metric", "theirs"]
    assert {"mean", "outcome"} <= set(names)
    assert with_additions("t", wanted, RUNS) == wanted


def test_another_that_makes_the_table_first_is_no_error(store: BigQueryStore, client: bigquery.Client) -> None:
    first = made(client, store)
    second = made(Changing(client, absent=1), store)
    assert second.created == first.created
    assert second.schema == first.schema


def test_another_that_changes_the_columns_first_is_no_error(store: BigQueryStore, client: bigquery.Client) -> None:
    from google.cloud.bigquery import Table

    client.create_table(Table(store.table, schema=old_columns()))
    made(Changing(client, column="of_a_newer_version"), store)

    found = [one.name for one in client.get_table(store.table).schema]
    assert set(found) == {one.name for one in RUNS.columns} | {"of_a_newer_version"}
    assert len(found) == len(set(found))


def test_a_table_that_is_somebody_elses_is_left_alone(store: BigQueryStore, client: bigquery.Client) -> None:
    from google.cloud.bigquery import SchemaField, Table

    client.create_table(Table(f"{store.table}_samples", schema=[SchemaField("price", "FLOAT")]))
    with pytest.raises(StoreError, match=r"not one of ragguard's: it has no column .*run_id"):
        store.save(make_head(), make_results(1))
    assert [one.name for one in client.get_table(f"{store.table}_samples").schema] == ["price"]
    assert store.heads(make_head().suite) == []


def test_a_column_of_another_type_is_named(store: BigQueryStore, client: bigquery.Client) -> None:
    from google.cloud.bigquery import SchemaField, Table

    wrong = [SchemaField(one.name, "STRING", one.mode) for one in SAMPLES.columns]
    client.create_table(Table(f"{store.table}_samples", schema=wrong))
    with pytest.raises(StoreError, match="ordering_time is STRING REQUIRED, not TIMESTAMP"):
        store.save(make_head(), make_results(1))

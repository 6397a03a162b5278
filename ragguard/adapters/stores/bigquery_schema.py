"""Makes the tables of the BigQuery store, and adds the columns that newer versions brought.

Nothing is ever dropped or changed: columns that are unknown here belong to a newer version, or to the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragguard.adapters.stores.bigquery_tables import Column, Shape
from ragguard.errors import StoreError

if TYPE_CHECKING:
    from google.api_core.retry import Retry
    from google.cloud.bigquery import Client, SchemaField, Table

_ROUNDS = 8
"""How often a change of columns is tried while others change the same table."""
_SAME_TYPE = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN", "STRUCT": "RECORD"}


def ensure(client: Client, name: str, shape: Shape, *, location: str | None, retry: Retry, timeout: float) -> Table:
    """Makes sure that a table is there and has all columns; others may do the same at the same time.

    Args:
        client: The client.
        name: `project.dataset.table`, with the suffix.
        shape: What it should be.
        location: Where a missing dataset is created; None leaves it to the service.
        retry: How a request is repeated.
        timeout: Seconds for one request.

    Returns:
        The table as it is now, columns unknown here included.

    Raises:
        StoreError: There is a table of that name that is not ours, or others keep changing it.
        google.api_core.exceptions.GoogleAPICallError: The service refuses.
    """
    from google.api_core.exceptions import NotFound, PreconditionFailed

    calls: dict[str, Any] = {"retry": retry, "timeout": timeout}
    try:
        table = client.get_table(name, **calls)
    except NotFound:
        table = _create(client, name, shape, location, calls)
    for _ in range(_ROUNDS):
        wanted = with_additions(name, table.schema, shape)
        if wanted == list(table.schema):
            return table
        table.schema = wanted
        try:
            return client.update_table(table, ["schema"], **calls)
        except PreconditionFailed:  # somebody else changed it since it was read
            table = client.get_table(name, **calls)
    raise StoreError(f"the columns of {name} are changed by others all the time", mend="try again later")


def _create(client: Client, name: str, shape: Shape, location: str | None, calls: dict[str, Any]) -> Table:
    from google.api_core.exceptions import NotFound
    from google.cloud import bigquery

    table = bigquery.Table(name, schema=[_field(column) for column in shape.columns])
    table.description = shape.description
    table.time_partitioning = bigquery.TimePartitioning(type_=bigquery.TimePartitioningType.DAY, field=shape.day)
    table.clustering_fields = list(shape.clustering)
    try:
        return client.create_table(table, exists_ok=True, **calls)
    except NotFound:
        dataset = bigquery.Dataset(f"{table.project}.{table.dataset_id}")
        dataset.location = location
        client.create_dataset(dataset, exists_ok=True, **calls)
        return client.create_table(table, exists_ok=True, **calls)


def with_additions(name: str, fields: Sequence[SchemaField], shape: Shape) -> list[SchemaField]:
    """The fields that are there, and behind them those that are missing."""
    missing = shape.required - {field.name.lower() for field in fields}
    if fields and missing:
        raise StoreError(
            f"{name} is a table, but not one of ragguard's: it has no column {', '.join(sorted(missing))}",
            mend="name a table of its own in reporting.sink",
        )
    return _added(name, fields, shape.columns)


def _added(place: str, fields: Sequence[SchemaField], columns: Sequence[Column]) -> list[SchemaField]:
    by_name = {column.name: column for column in columns}
    kept = []
    for field in fields:
        column = by_name.pop(field.name.lower(), None)
        kept.append(field if column is None else _with_inner_additions(place, field, column))
    return kept + [_field(column, added=True) for column in by_name.values()]


def _with_inner_additions(place: str, field: SchemaField, column: Column) -> SchemaField:
    from google.cloud import bigquery

    _require_same(place, field, column)
    if not column.fields:
        return field
    inner = _added(f"{place}.{field.name}", field.fields, column.fields)
    return bigquery.SchemaField.from_api_repr({**field.to_api_repr(), "fields": [one.to_api_repr() for one in inner]})


def _field(column: Column, *, added: bool = False) -> SchemaField:
    """The column as the client knows it; what is added to a table cannot be REQUIRED."""
    from google.cloud import bigquery

    return bigquery.SchemaField(
        column.name,
        column.type,
        mode="NULLABLE" if added and column.mode == "REQUIRED" else column.mode,
        description=column.description,
        fields=[_field(inner, added=added) for inner in column.fields],
    )


def _require_same(place: str, field: SchemaField, column: Column) -> None:
    found = _SAME_TYPE.get(field.field_type, field.field_type), field.mode == "REPEATED"
    if found != (column.type, column.mode == "REPEATED"):
        raise StoreError(
            f"{place}: the column {field.name} is {field.field_type} {field.mode}, not {column.type} {column.mode}",
            mend="name another table in reporting.sink, or mend the column",
        )

"""Where runs are kept: the settings a config may hold, and their short forms."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ragguard.adapters.stores.bigquery import BigQueryStore
from ragguard.adapters.stores.directory import DirectoryStore

__all__ = ["BigQueryStore", "DirectoryStore", "StoreConfig"]


def from_address(value: object) -> object:
    """Turns a store's address into its settings.

    `bigquery://project.dataset.table` is a table; everything else is a folder: a path, `file://`, `s3://`, `gs://`,
    `az://`.
    """
    if not isinstance(value, str):
        return value
    if value.startswith("bigquery://"):
        return {"type": "bigquery", "table": value.removeprefix("bigquery://")}
    return {"type": "directory", "uri": value}


StoreConfig = Annotated[
    Annotated[BigQueryStore | DirectoryStore, Field(discriminator="type")],
    BeforeValidator(from_address, json_schema_input_type=str | dict[str, Any]),
]
"""What may stand under `reporting.sink`."""

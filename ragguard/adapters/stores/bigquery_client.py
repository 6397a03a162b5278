"""The BigQuery client behind the store: queries, and load jobs that are done once."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from ragguard.adapters.stores.bigquery_errors import Done, said, told
from ragguard.adapters.stores.bigquery_rows import job_id
from ragguard.adapters.stores.bigquery_schema import ensure
from ragguard.adapters.stores.bigquery_tables import Shape
from ragguard.errors import StoreError

if TYPE_CHECKING:
    from google.api_core.retry import Retry
    from google.cloud.bigquery import Client, LoadJob, Row, Table

Parameter = str | int | datetime | tuple[str, ...]

_TRIES = 50
"""How many load jobs of one key may have failed before; a failed job's id cannot be used again."""
_LABELS = {"tool": "ragguard"}
_ABSENT = re.compile(r"Not found: (Table|Dataset)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Warehouse:
    """One dataset's tables through one client, which is built on first use.

    Attributes:
        name: `project.dataset.table` of the runs; the other tables' names begin with it.
        billing_project: The project that jobs run in.
        location: Of the dataset; None leaves it to the service.
        timeout: Seconds for one request, and for repeating one that failed.
        job_timeout: Seconds until a job must be done.
        api_endpoint: An emulator's address; then no credentials are used.
    """

    name: str
    billing_project: str
    location: str | None
    maximum_bytes_billed: int
    timeout: float
    job_timeout: float
    api_endpoint: str | None
    _tables: dict[str, Table] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def client(self) -> Client:
        """The client, with the application default credentials."""
        from google.api_core.client_info import ClientInfo
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.bigquery import Client

        info = ClientInfo(user_agent="ragguard")  # type: ignore[no-untyped-call]
        if self.api_endpoint is None:
            return Client(project=self.billing_project, client_info=info)
        return Client(
            project=self.billing_project,
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
            client_options={"api_endpoint": self.api_endpoint},
            client_info=info,
        )

    def close(self) -> None:
        """Frees the connections, if there are any."""
        if "client" in self.__dict__:
            self.client.close()  # type: ignore[no-untyped-call]

    def table(self, shape: Shape) -> str:
        """A table's whole name, safe in SQL: the parts were checked and hold no backtick."""
        return f"{self.name}{shape.suffix}"

    def ensure(self, shape: Shape) -> Table:
        """Makes sure, once, that a table is there with all its columns."""
        if shape.suffix not in self._tables:
            self._tables[shape.suffix] = ensure(
                self.client,
                self.table(shape),
                shape,
                location=self.location,
                retry=self._retry,
                timeout=self.timeout,
            )
        return self._tables[shape.suffix]

    def query(self, shape: Shape, sql: str, **parameters: Parameter) -> Iterator[Row]:
        """Yields a query's rows; none where the table that it reads does not exist.

        Args:
            shape: The table that stands for `{table}` in the query.
            sql: GoogleSQL; every value in it is a parameter.
            **parameters: The values.

        Raises:
            StoreError: The table exists but cannot be read.
        """
        with self.told("read"):
            from google.api_core.exceptions import NotFound
            from google.cloud.bigquery import QueryJobConfig
            from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY

            config = QueryJobConfig(
                query_parameters=[_parameter(name, value) for name, value in parameters.items()],
                maximum_bytes_billed=self.maximum_bytes_billed,
                use_legacy_sql=False,
                labels=_LABELS,
            )
            try:
                rows = self.client.query_and_wait(
                    sql.format(table=f"`{self.table(shape)}`"),
                    job_config=config,
                    location=self.location,
                    retry=self._retry,
                    job_retry=DEFAULT_JOB_RETRY.with_timeout(self.timeout),
                    api_timeout=self.timeout,
                    wait_timeout=self.job_timeout,
                )
            except NotFound as error:
                self._require_absent(shape, error)
                return
            yield from rows

    def _require_absent(self, shape: Shape, error: Exception) -> None:
        """Tells a table that does not exist from one that the query only looked for in the wrong place."""
        from google.api_core.exceptions import NotFound

        try:
            found = self.client.get_table(self.table(shape), retry=self._retry, timeout=self.timeout)
        except NotFound as absent:
            if _ABSENT.search(absent.message or ""):
                return
            raise
        raise StoreError(
            f"{self.table(shape)} is in {found.location}, but BigQuery looked for it elsewhere: {said(error)}",
            mend=f"set location: {found.location} in reporting.sink",
        ) from error

    def load(self, table: Table, key: tuple[JsonValue, ...], data: bytes) -> bool:
        """Appends rows by a load job, all of them or none, and waits until it is done.

        Args:
            table: The table as `ensure` gave it.
            key: What is loaded; the same key is loaded once, by whomever.
            data: Newline-delimited JSON.

        Returns:
            Whether this call did it; False where the same was loaded before or is by another process.
        """
        from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY

        # The time of creation is in it, so that a table made anew takes the same runs again.
        base = job_id(table.full_table_id, table.created, *key)

        def once() -> bool:
            job, ours = self._begun(table, base, data)
            job.result(retry=self._retry, timeout=self.job_timeout)
            return ours

        return DEFAULT_JOB_RETRY.with_timeout(self.timeout)(once)()

    def _begun(self, table: Table, base: str, data: bytes) -> tuple[LoadJob, bool]:
        """The load job of a key that has not failed: a new one, or the one that somebody else began."""
        from google.api_core.exceptions import Conflict

        for number in range(_TRIES):
            name = f"{base}-{number}"
            job = self._known(name, table) if number else None
            if job is None:
                try:
                    return self._begin(table, name, data), True
                except Conflict:
                    job = self._known(name, table, sure=True)
            if job is not None and job.error_result is None:
                return job, False
        raise StoreError(
            f"{_TRIES} load jobs into {table.full_table_id} failed",
            mend=f"look at the jobs whose id begins with {base}",
        )

    def _begin(self, table: Table, name: str, data: bytes) -> LoadJob:
        from google.cloud.bigquery import CreateDisposition, LoadJobConfig, SourceFormat, WriteDisposition

        config = LoadJobConfig(
            schema=table.schema,
            source_format=SourceFormat.NEWLINE_DELIMITED_JSON,
            create_disposition=CreateDisposition.CREATE_NEVER,
            write_disposition=WriteDisposition.WRITE_APPEND,
            labels=_LABELS,
        )
        return self.client.load_table_from_file(
            io.BytesIO(data),
            table.reference,
            size=len(data),
            job_id=name,
            location=table.location,
            job_config=config,
            timeout=self.timeout,
        )

    def _known(self, name: str, table: Table, *, sure: bool = False) -> Any:
        """A job that exists; None where it does not. With `sure` it is known to exist, though perhaps not yet seen."""
        from google.api_core.exceptions import NotFound
        from google.api_core.retry import Retry, if_exception_type

        get = self.client.get_job
        if sure:
            get = Retry(predicate=if_exception_type(NotFound), timeout=self.timeout)(get)
        try:
            return get(name, location=table.location, retry=self._retry, timeout=self.timeout)
        except NotFound:
            if sure:
                raise
            return None

    @property
    def _retry(self) -> Retry:
        from google.cloud.bigquery.retry import DEFAULT_RETRY

        return DEFAULT_RETRY.with_timeout(self.timeout)

    def told(self, done: Done) -> AbstractContextManager[None]:
        """Turns what the client raises into a `StoreError`; `done` is what was tried."""
        return told(self.name, self.billing_project, done)


def _parameter(name: str, value: Parameter) -> Any:
    from google.cloud.bigquery import ArrayQueryParameter, ScalarQueryParameter

    if isinstance(value, tuple):
        return ArrayQueryParameter(name, "STRING", list(value))
    kind = "TIMESTAMP" if isinstance(value, datetime) else "INT64" if isinstance(value, int) else "STRING"
    return ScalarQueryParameter(name, kind, value)

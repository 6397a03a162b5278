"""Runs in BigQuery: one row for each complete run, their results and flat scores beside it, and the events.

A run is written by load jobs (atomic, free, readable at once), its own row last, so that a half-written run is never
seen. Each load job's id is a digest of what it loads, so that a repeated or concurrent save makes no second row. Rows
of results carry the digest of all results of their save, and a run's row names the one that counts: what an
interrupted save left behind is never read, and need not be deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from ragguard.adapters.stores import bigquery_rows as rows
from ragguard.adapters.stores.bigquery_client import Parameter, Warehouse
from ragguard.adapters.stores.bigquery_tables import EVENTS, RUNS, SAMPLES, SCORES
from ragguard.core.runs import Event, EventKind, RunHead
from ragguard.core.scores import SampleResult
from ragguard.errors import StoreError

_SCHEME = "bigquery://"
# Today's projects have ids of 6 characters and more; shorter ones are left to the service to refuse.
_PROJECT = r"(?:[a-z0-9.-]{1,60}:)?[a-z][a-z0-9-]{0,28}[a-z0-9]"
_TABLE = re.compile(rf"({_PROJECT})\.[A-Za-z0-9_]{{1,1024}}\.[A-Za-z0-9_-]{{1,1000}}")
_WINDOW = 20_000
"""Results that one query puts in order; a larger result could be more than one worker of the service can sort."""
_MAX_IDS = 5_000
_NEWEST_FIRST = "ORDER BY ordering_time DESC, created_at DESC, run_id DESC, load_id"


@dataclass(frozen=True)
class _Stored:
    """Where a complete run's results are."""

    load_id: str
    ordering_time: datetime
    n_results: int


class BigQueryStore(BaseModel):
    """Keeps runs in `table`, and beside it in `<table>_samples`, `<table>_scores` and `<table>_events`.

    Dataset and tables are made when something is first written. Credentials are the application default ones, workload
    identity (OIDC) included; there is no setting for a key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    type: Literal["bigquery"] = "bigquery"
    table: str = Field(description="`project.dataset.table`, or `bigquery://project.dataset.table`.")
    location: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9-]+$",
        description="Where a missing dataset is made and queries run, such as EU; the service's choice where absent.",
    )
    billing_project: str | None = Field(
        default=None, pattern=f"^{_PROJECT}$", description="Project that jobs run in; the table's where absent."
    )
    maximum_bytes_billed: int = Field(
        default=10 * 1024**3, ge=1, description="A query that would read more fails at no cost."
    )
    timeout: float = Field(
        default=60.0, gt=0, le=3600, description="Seconds for one request, and for repeating a failed one."
    )
    job_timeout: float = Field(default=300.0, gt=0, le=86_400, description="Seconds until a job must be done.")
    load_job_bytes: int = Field(
        default=64 * 1024**2, ge=1, le=1024**3, description="A run's rows are loaded by jobs of at most so many bytes."
    )
    api_endpoint: str | None = Field(default=None, description="Address of an emulator, used without credentials.")

    @field_validator("table")
    @classmethod
    def _is_table(cls, value: str) -> str:
        name = value.removeprefix(_SCHEME)
        if not _TABLE.fullmatch(name):
            raise ValueError(
                "must be project.dataset.table: a project's id, then letters, digits and _ (in the table's name also -)"
            )
        return name

    @field_validator("api_endpoint")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None and (urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname):
            raise ValueError("must be an http:// or https:// address")
        return value

    @property
    def uri(self) -> str:
        """The store's address, for reports."""
        return f"{_SCHEME}{self.table}"

    def heads(
        self, suite: str, *, branch: str | None = None, before: datetime | None = None, limit: int = 50
    ) -> list[RunHead]:
        """Returns complete runs of a suite, newest first; see `ragguard.core.ports.Store`."""
        if limit < 1:
            return []
        where, values = ["suite = @suite"], dict[str, Parameter](suite=rows.cell(suite))
        if branch is not None:
            where.append("branch = @branch")
            values["branch"] = rows.cell(branch)
        if before is not None:
            where.append("ordering_time <= @before")
            values["before"] = before
        return self._heads(f"{' AND '.join(where)} {_NEWEST_FIRST} LIMIT {int(limit)}", values)

    def head(self, run_id: str) -> RunHead | None:
        """Returns one run, or None if there is none of that id."""
        found = self._heads(f"run_id = @run_id {_NEWEST_FIRST} LIMIT 1", {"run_id": rows.cell(run_id)})
        return found[0] if found else None

    def _heads(self, rest: str, values: dict[str, Parameter]) -> list[RunHead]:
        sql = f"SELECT run_id, load_id, ordering_time, n_results, head FROM {{table}} WHERE {rest}"  # noqa: S608 - constants
        found: dict[str, RunHead] = {}
        for row in self._warehouse.query(RUNS, sql, **values):
            if row.run_id not in found:
                found[row.run_id] = rows.head_of(row.head, f"run {row.run_id} in {self.uri}")
                self._places[row.run_id] = _Stored(row.load_id, row.ordering_time, row.n_results)
        return list(found.values())

    def samples(self, run_id: str, ids: frozenset[str] | None = None) -> Iterator[SampleResult]:
        """Yields a run's results in their order, all or those of some ids.

        Raises:
            StoreError: There is no such run, some of its results are gone, or the store cannot be read.
        """
        stored = self._stored(run_id)
        if stored is None:
            raise StoreError(f"{self.uri}: holds no run {run_id}", mend="`ragguard history` lists the runs")
        if ids is not None and len(ids) <= _MAX_IDS:
            chosen = tuple(sorted({rows.cell(id_) for id_ in ids}))
            found = self._results(run_id, stored, "sample_id IN UNNEST(@ids)", ids=chosen) if chosen else iter(())
        else:
            found = self._windows(run_id, stored)
        yield from (result for result in found if ids is None or result.id in ids)

    def _windows(self, run_id: str, stored: _Stored) -> Iterator[SampleResult]:
        for start in range(0, stored.n_results, _WINDOW):
            end = min(start + _WINDOW, stored.n_results)
            count = 0
            window = "position >= @low AND position < @high"
            for result in self._results(run_id, stored, window, low=start, high=end):
                count += 1
                yield result
            if count != end - start:
                raise StoreError(
                    f"run {run_id} in {self.uri} is damaged: {count} of its results {start} to {end - 1} are there",
                    mend="rows were deleted or have expired: pin another run, or run this commit again",
                )

    def _results(self, run_id: str, stored: _Stored, where: str, **values: Parameter) -> Iterator[SampleResult]:
        sql = (
            "SELECT position, record FROM {table} WHERE ordering_time = @ordering_time "  # noqa: S608 - constants
            f"AND run_id = @run_id AND load_id = @load_id AND {where} ORDER BY position"
        )
        values |= {"run_id": rows.cell(run_id), "load_id": stored.load_id, "ordering_time": stored.ordering_time}
        last = None
        for row in self._warehouse.query(SAMPLES, sql, **values):
            if row.position != last:  # ids of load jobs are forgotten after months, and a load could be done again
                yield rows.record_of(SampleResult, row.record, f"result {row.position} of run {run_id} in {self.uri}")
            last = row.position

    def save(self, head: RunHead, results: Iterable[SampleResult]) -> None:
        """Stores a run whole or not at all; storing the same run id again changes nothing.

        Raises:
            RunFileError: The results are not as many as the head says.
            StoreError: It cannot be written; storing it again later is safe.
        """
        if self._stored(head.run_id) is not None:
            return
        key = rows.run_key(head)
        with rows.spooled(head, results, self.load_job_bytes) as spool, self._warehouse.told("written"):
            rows.require_count(head, spool)
            samples, scores, _, runs = [self._warehouse.ensure(shape) for shape in (SAMPLES, SCORES, EVENTS, RUNS)]
            self._load(samples, (*key, spool.load_id), rows.sample_rows(head, spool))
            self._load(scores, (*key, spool.load_id), rows.score_rows(head, spool))
            ours = self._load(runs, key, iter((rows.run_row(head, spool),)))
        if not ours and self._stored(head.run_id) is None:
            raise StoreError(
                f"run {head.run_id} was stored in {self.uri} before, and deleted since",
                mend="run it as a new attempt: what was deleted is not brought back",
            )

    def _load(self, table: Any, key: tuple[JsonValue, ...], found: Iterator[rows.Row]) -> bool:
        ours = False
        for number, chunk in enumerate(rows.chunks(map(rows.line, found), self.load_job_bytes)):
            ours = self._warehouse.load(table, (*key, number), chunk)
        return ours

    def event(self, run_id: str, kind: EventKind, by: str, at: datetime, suite: str) -> None:
        """Appends an event; the same event again changes nothing."""
        row = rows.event_row(Event(run_id=run_id, suite=suite, kind=kind, by=by, at=at))
        with self._warehouse.told("written"):
            self._load(self._warehouse.ensure(EVENTS), tuple(row.values()), iter((row,)))

    def events(self, suite: str) -> list[Event]:
        """Returns the events of a suite, oldest first."""
        sql = (
            "SELECT DISTINCT run_id, suite, kind, decided_by, decided_at FROM {table} WHERE suite = @suite "
            "ORDER BY decided_at, run_id, kind, decided_by"
        )
        found = self._warehouse.query(EVENTS, sql, suite=rows.cell(suite))
        return [rows.event_of(dict(row.items()), f"the events of {self.uri}") for row in found]

    def close(self) -> None:
        """Frees connections; the next call opens new ones."""
        warehouse = self.__dict__.pop("_warehouse", None)
        if warehouse is not None:
            warehouse.close()

    def _stored(self, run_id: str) -> _Stored | None:
        """Where a run's results are; a complete run never moves, so that it is asked once."""
        if run_id not in self._places:
            sql = (
                "SELECT load_id, ordering_time, n_results FROM {table} "  # noqa: S608 - constants
                f"WHERE run_id = @run_id {_NEWEST_FIRST} LIMIT 1"
            )
            for row in self._warehouse.query(RUNS, sql, run_id=rows.cell(run_id)):
                self._places[run_id] = _Stored(row.load_id, row.ordering_time, row.n_results)
        return self._places.get(run_id)

    @cached_property
    def _places(self) -> dict[str, _Stored]:
        return {}

    @cached_property
    def _warehouse(self) -> Warehouse:
        return Warehouse(
            name=self.table,
            billing_project=self.billing_project or self.table.rsplit(".", 2)[0],
            location=self.location,
            maximum_bytes_billed=self.maximum_bytes_billed,
            timeout=self.timeout,
            job_timeout=self.job_timeout,
            api_endpoint=self.api_endpoint,
        )

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        fields = type(self).model_fields
        return {**state, "__dict__": {name: value for name, value in state["__dict__"].items() if name in fields}}

    def __copy__(self) -> BigQueryStore:
        return type(self)(**{name: getattr(self, name) for name in type(self).model_fields})

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> BigQueryStore:
        return self.__copy__()

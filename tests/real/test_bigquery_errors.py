"""What the BigQuery store tells when the service refuses or is not there: an outage, never an empty store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ragguard.adapters.stores.bigquery import BigQueryStore
from ragguard.errors import ExitCode, StoreError
from tests.contracts.stores import START, make_head
from tests.parts.local_http import in_a_thread

pytest.importorskip("google.cloud.bigquery")

QUERY = "/queries"
TABLE = "/tables/"
Answer = tuple[int, str, str]
"""Status, reason, message; the body where the status is 200."""
ABSENT: Answer = (404, "notFound", "Not found: Table acme-rag:ci.runs")


@contextmanager
def served(
    replies: dict[str, Answer],
    seen: list[dict[str, Any]] | None = None,
    *,
    timeout: float = 1,
    then: dict[str, Answer] | None = None,
) -> Iterator[BigQueryStore]:
    """A store whose service gives one reply to each path that holds a key; `then` another one after the first."""
    left = dict(replies)

    async def reply(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        assert "authorization" not in headers
        if seen is not None and body.startswith(b"{"):
            seen.append(json.loads(body))
        status, reason, message = next(found for part, found in left.items() if part in path)
        left.update(then or {})
        if status == 200:
            return 200, (), json.loads(message)
        error = {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}
        return status, (), {"error": error}

    with in_a_thread(reply) as port:
        store = BigQueryStore(
            table="acme-rag.ci.runs", api_endpoint=f"http://127.0.0.1:{port}", timeout=1, job_timeout=2
        )
        yield store
        store.close()


READS: list[Callable[[BigQueryStore], Any]] = [
    lambda store: store.heads("s"),
    lambda store: store.head("r1"),
    lambda store: store.events("s"),
    lambda store: list(store.samples("r1")),
]


@pytest.mark.parametrize("read", READS)
def test_forbidden_reading_says_what_to_grant(read: Callable[[BigQueryStore], Any]) -> None:
    denied = (403, "accessDenied", "Access Denied: Table acme-rag:ci.runs")
    with served({QUERY: denied}) as store, pytest.raises(StoreError, match="Access Denied") as caught:
        read(store)
    assert caught.value.exit_code == ExitCode.OUTSIDE_WORLD
    mend = str(caught.value.mend)
    assert "roles/bigquery.dataViewer" in mend
    assert "on the dataset acme-rag.ci" in mend
    assert "roles/bigquery.jobUser on the project acme-rag" in mend


WRITES: list[Callable[[BigQueryStore], None]] = [
    lambda store: store.save(make_head(), []),
    lambda store: store.event("r1", "pinned", "me", START, "s"),
]


@pytest.mark.parametrize("write", WRITES)
def test_forbidden_writing_says_what_to_grant(write: Callable[[BigQueryStore], None]) -> None:
    replies = {
        QUERY: ABSENT,
        "/tables/runs?": ABSENT,
        TABLE: (403, "accessDenied", "Access Denied: Dataset acme-rag:ci"),
    }
    with served(replies) as store, pytest.raises(StoreError, match=r"cannot be written: .*Access Denied") as caught:
        write(store)
    assert "grant roles/bigquery.dataEditor on the dataset acme-rag.ci" in str(caught.value.mend)


@pytest.mark.parametrize("absent", ["Not found: Table acme-rag:ci.runs", "Not found: Dataset acme-rag:ci"])
def test_a_table_that_does_not_exist_is_an_empty_store(absent: str) -> None:
    with served({QUERY: (404, "notFound", absent), TABLE: (404, "notFound", absent)}) as store:
        assert store.heads("s") == []
        assert store.head("r1") is None
        assert store.events("s") == []


def test_a_table_in_another_place_is_no_empty_store() -> None:
    where = json.dumps(
        {"tableReference": {"projectId": "acme-rag", "datasetId": "ci", "tableId": "runs"}, "location": "europe-west4"}
    )
    lost = (404, "notFound", "Not found: Dataset acme-rag:ci was not found in location US")
    with served({QUERY: lost, TABLE: (200, "", where)}) as store, pytest.raises(StoreError) as caught:
        store.heads("s")
    assert "location: europe-west4" in str(caught.value.mend)


def test_a_project_that_does_not_exist_is_no_empty_store() -> None:
    lost = (404, "notFound", "Not found: Project acme-rag")
    with served({QUERY: lost, TABLE: lost}) as store, pytest.raises(StoreError, match="Not found: Project"):
        store.heads("s")


def test_a_limit_of_bytes_and_a_spent_quota_have_their_own_mends() -> None:
    limited = (400, "bytesBilledLimitExceeded", "Query exceeded limit for bytes billed: 1.")
    with served({QUERY: limited}) as store, pytest.raises(StoreError) as caught:
        store.heads("s")
    assert "maximum_bytes_billed" in str(caught.value.mend)
    spent = (403, "quotaExceeded", "Quota exceeded: Your project exceeded quota")
    with served({QUERY: spent}) as store, pytest.raises(StoreError, match="Quota exceeded") as caught:
        store.heads("s")
    assert "grant" not in str(caught.value.mend)


def test_a_hiccup_is_tried_again() -> None:
    replies = {QUERY: (503, "backendError", "down"), TABLE: ABSENT}
    seen: list[dict[str, Any]] = []
    with served(replies, seen, timeout=20, then={QUERY: ABSENT}) as store:
        assert store.heads("s") == []
    assert len(seen) == 2


def test_a_service_that_is_down_is_told() -> None:
    with served({QUERY: (503, "backendError", "is down")}) as store, pytest.raises(StoreError, match="is down"):
        store.heads("s")


def test_a_service_that_is_not_there_is_told() -> None:
    with served({}) as store:
        port = store.api_endpoint
    with pytest.raises(StoreError, match="cannot be read") as caught:
        BigQueryStore(table="acme-rag.ci.runs", api_endpoint=port, timeout=1).heads("s")
    assert "network" in str(caught.value.mend)


def test_no_credentials_are_an_outage_with_what_gives_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    missing = tmp_path / "no-such-key.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(missing))
    with pytest.raises(StoreError) as caught:
        BigQueryStore(table="acme-rag.ci.runs").heads("s")
    assert "application default credentials" in str(caught.value.mend)


def test_every_value_is_a_parameter_and_bytes_are_bounded() -> None:
    seen: list[dict[str, Any]] = []
    evil = "x' OR 1=1; DROP TABLE t; --"
    with served({QUERY: ABSENT, TABLE: ABSENT}, seen) as store:
        store.heads(evil, branch=evil, before=START)
        store.head(evil)
        store.events(evil)
    assert len(seen) == 3
    for request in seen:
        assert evil not in request["query"]
        assert evil in json.dumps(request["queryParameters"])
        assert request["maximumBytesBilled"] == str(10 * 1024**3)
        assert request["useLegacySql"] is False
    assert "ordering_time <= @before" in seen[0]["query"]

"""The contract of stores over a real S3 server and the BigQuery emulator."""

import itertools
from collections.abc import Iterator

import pytest

from ragguard.adapters.stores.bigquery import BigQueryStore
from ragguard.adapters.stores.directory import DirectoryStore
from tests.contracts.stores import OpenStore, StoreContract
from tests.parts.bigquery import BigQueryEmulator
from tests.parts.s3 import S3Server

_numbers = itertools.count()


class TestDirectoryStoreOnS3(StoreContract):
    implementation = DirectoryStore

    @pytest.fixture
    def open_store(self, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> OpenStore:
        for name, value in s3_server.environ().items():
            monkeypatch.setenv(name, value)
        uri = f"s3://{s3_server.bucket}/contract/{next(_numbers)}"
        return lambda: DirectoryStore(uri=uri)


class TestBigQueryStore(StoreContract):
    implementation = BigQueryStore

    @pytest.fixture
    def open_store(self, bigquery_emulator: BigQueryEmulator) -> Iterator[OpenStore]:
        table = f"{bigquery_emulator.project}.contract{next(_numbers)}.runs"
        opened: list[BigQueryStore] = []

        def open_one() -> BigQueryStore:
            opened.append(BigQueryStore(table=table, api_endpoint=bigquery_emulator.endpoint, timeout=20))
            return opened[-1]

        yield open_one
        for store in opened:
            store.close()

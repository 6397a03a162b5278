"""The running servers of the real tests, one of each for a session, and the mark that all tests here carry."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.bigquery import BigQueryEmulator, bigquery_server
from tests.parts.cache import required
from tests.parts.s3 import S3Server
from tests.parts.s3 import s3_server as run_s3_server

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder, so that a forgotten mark cannot slip into the quick run."""
    try:
        required()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """SeaweedFS with access keys and one bucket; use a prefix of your own."""
    with run_s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="session")
def bigquery_emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BigQueryEmulator]:
    """The BigQuery emulator with an empty project; make a dataset of your own."""
    with bigquery_server(tmp_path_factory.mktemp("bigquery")) as emulator:
        yield emulator

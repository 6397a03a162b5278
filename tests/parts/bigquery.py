"""A BigQuery emulator behind the real google-cloud-bigquery client: REST, load jobs and GoogleSQL on DuckDB."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.parts.cache import cache_dir, need
from tests.parts.processes import HOST, Launch, answers, serving

if TYPE_CHECKING:
    from google.cloud.bigquery import Client

_PROJECT: Final = "ragguard-tests"


@dataclass(frozen=True)
class BigQueryEmulator:
    """A running emulator.

    Where it is laxer than the service: it asks for no credentials, a dry run reports 0 bytes, `require_partition_filter`
    is not enforced, and a load job with a schema drops fields that the table does not have (`insert_rows_json` and a load
    job without one refuse them).
    """

    endpoint: str
    project: str

    def client(self) -> "Client":
        """A client of this emulator; close it after use."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.bigquery import Client

        return Client(
            project=self.project,
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
            client_options={"api_endpoint": self.endpoint},
        )


@contextmanager
def bigquery_server(folder: Path) -> Iterator[BigQueryEmulator]:
    """Run the emulator with an empty database, its data and log in `folder`; skips where it is absent."""
    program = need("bigquery")

    def emulator_at(port: int) -> BigQueryEmulator:
        return BigQueryEmulator(f"http://{HOST}:{port}", _PROJECT)

    def plan(ports: Sequence[int]) -> Launch:
        emulator = emulator_at(ports[0])
        command = [
            str(program), "serve", "--host", HOST, "--port", str(ports[0]), "--grpc-port", str(ports[1]),
            "--data-dir", str(folder / "data"), "--project", _PROJECT,
        ]  # fmt: skip
        url = f"{emulator.endpoint}/bigquery/v2/projects/{_PROJECT}/datasets"
        # DuckDB looks for its extensions under HOME; without them it would try the network.
        return Launch(command, lambda: answers(url), {"HOME": str(cache_dir() / "bigquery" / "home")})

    with serving(plan, ports=2, folder=folder) as ports:
        yield emulator_at(ports[0])

"""A real S3 server, SeaweedFS: signatures are checked, conditional writes are honoured, an unknown bucket is refused."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.parts.cache import need
from tests.parts.processes import HOST, Launch, answers, serving

if TYPE_CHECKING:
    from obstore.store import S3Store

_PORTS: Final = 8
_REGION: Final = "us-east-1"


@dataclass(frozen=True)
class S3Server:
    """A running server with one bucket."""

    endpoint: str
    access_key: str
    secret_key: str = field(repr=False)
    bucket: str
    region: str = _REGION

    def environ(self) -> dict[str, str]:
        """The usual AWS variables that lead a client here."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
        }

    def store(
        self, *, bucket: str | None = None, prefix: str | None = None, secret_key: str | None = None
    ) -> "S3Store":
        """An obstore client of this server, without retries; `secret_key` tries another secret."""
        from obstore.store import S3Store

        return S3Store(
            bucket or self.bucket,
            prefix=prefix,
            endpoint=self.endpoint,
            region=self.region,
            access_key_id=self.access_key,
            secret_access_key=secret_key or self.secret_key,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
            retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=10)},
        )

    def create_bucket(self, name: str) -> bool:
        """Make a bucket (3-63 characters); False where the server refuses, OSError where nothing listens."""
        import obstore

        return answers(obstore.sign(self.store(bucket=name), "PUT", "", timedelta(minutes=1)), method="PUT")


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Run SeaweedFS with fresh access keys and one bucket, its data and log in `folder`; skips where it is absent."""
    weed = need("seaweedfs")
    access_key, secret_key = secrets.token_hex(8), secrets.token_hex(16)
    config = folder / "s3.json"
    config.write_text(json.dumps(_identities(access_key, secret_key)), encoding="utf-8")
    (folder / "data").mkdir()

    def server_at(port: int) -> S3Server:
        return S3Server(f"http://{HOST}:{port}", access_key, secret_key, "ragguard-tests")

    def plan(ports: Sequence[int]) -> Launch:
        server = server_at(ports[0])

        def ready() -> bool:
            return answers(f"{server.endpoint}/healthz") and server.create_bucket(server.bucket) and _accepts(server)

        return Launch(_command(weed, folder, config, ports), ready, {})

    ports: Sequence[int] = ()
    try:
        # Its polite end takes more than ten seconds, and nobody wants the data.
        with serving(plan, ports=_PORTS, folder=folder, grace_s=0) as ports:
            yield server_at(ports[0])
    finally:
        for port in ports:  # it was not given the time to remove them
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)


def _identities(access_key: str, secret_key: str) -> Mapping[str, object]:
    credentials = [{"accessKey": access_key, "secretKey": secret_key}]
    return {
        "identities": [{"name": "tests", "credentials": credentials, "actions": ["Admin", "Read", "List", "Write"]}]
    }


def _accepts(server: S3Server) -> bool:
    """Whether an object can be written: the bucket is there before a volume can take data."""
    import obstore
    from obstore.exceptions import BaseError

    try:
        obstore.put(server.store(), "ready", b"1")  # an empty object needs no volume
        obstore.delete(server.store(), "ready")
    except BaseError:
        return False
    return True


def _command(weed: Path, folder: Path, config: Path, ports: Sequence[int]) -> list[str]:
    # Every port is named: each gRPC port would else be its HTTP port plus 10,000, free or not.
    s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = ports
    return [
        str(weed), "-logtostderr=true", "server", f"-ip={HOST}", f"-ip.bind={HOST}", f"-dir={folder / 'data'}",
        f"-master.port={master}", f"-master.port.grpc={master_grpc}", "-master.telemetry=false",
        "-master.volumeSizeLimitMB=64", f"-volume.port={volume}", f"-volume.port.grpc={volume_grpc}", "-volume.max=100",
        f"-filer.port={filer}", f"-filer.port.grpc={filer_grpc}",
        "-s3", f"-s3.port={s3}", f"-s3.port.grpc={s3_grpc}", f"-s3.config={config}", "-s3.autoCreateBucket=false",
        "-s3.port.iceberg=0", "-s3.port.lance=0",
    ]  # fmt: skip

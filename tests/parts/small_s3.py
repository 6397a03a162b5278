"""A small S3 on 127.0.0.1: one bucket in memory, conditional writes, listings; signatures are not checked.

For what the wire and the service may do wrong (behind `faulty_proxy`); `tests/parts/s3.py` is a real server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import md5
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.parts.local_http import Reply, in_a_thread
from tests.parts.processes import HOST

BUCKET = "ragguard-tests"
_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_DATE = "Wed, 01 Apr 2026 09:00:00 GMT"


@dataclass
class SmallS3:
    """The bucket.

    Attributes:
        objects: By key.
        url: The endpoint.
    """

    objects: dict[str, bytes] = field(default_factory=dict)
    url: str = ""

    def environ(self, url: str = "") -> dict[str, str]:
        """The usual AWS variables that lead a client here, or to a proxy before it."""
        return {
            "AWS_ENDPOINT_URL": url or self.url,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    async def handle(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answers one request."""
        url = urlsplit(target)
        bucket, _, key = unquote(url.path).removeprefix("/").partition("/")
        if bucket != BUCKET:
            return refusal(404, "NoSuchBucket", "The specified bucket does not exist")
        if method == "GET" and not key:
            return 200, (), self._listing(parse_qs(url.query).get("prefix", [""])[0])
        if method == "PUT":
            if key in self.objects and headers.get("if-none-match") == "*":
                return refusal(
                    412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold"
                )
            self.objects[key] = body
            return 200, (_etag(body),), b""
        if key not in self.objects:
            return refusal(404, "NoSuchKey", "The specified key does not exist.")
        return 200, (_etag(self.objects[key]), f"Last-Modified: {_DATE}"), self.objects[key]

    def _listing(self, prefix: str) -> bytes:
        found = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-04-01T09:00:00.000Z</LastModified>"
            f"<Size>{len(data)}</Size></Contents>"
            for key, data in sorted(self.objects.items())
            if key.startswith(prefix)
        )
        return f"{_XML}<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()


def refusal(status: int, code: str, message: str) -> Reply:
    """An error in S3's form."""
    return status, ("X-Amz-Request-Id: 1",), error_body(code, message)


def error_body(code: str, message: str) -> bytes:
    """An error's XML."""
    return f"{_XML}<Error><Code>{code}</Code><Message>{message}</Message><RequestId>1</RequestId></Error>".encode()


def _etag(data: bytes) -> str:
    return f'ETag: "{md5(data, usedforsecurity=False).hexdigest()}"'


@contextmanager
def small_s3() -> Iterator[SmallS3]:
    """Runs such a server."""
    server = SmallS3()
    with in_a_thread(server.handle) as port:
        server.url = f"http://{HOST}:{port}"
        yield server

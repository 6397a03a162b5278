"""Reading and writing files: local paths for real, the web over a server on this machine, refusals and redaction."""

import gzip
import io
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import zstandard

from ragguard.adapters.addresses import Access, check_peer, check_web_address, parse_address, redacted, split_address
from ragguard.adapters.lines import lines_of, unpacked
from ragguard.adapters.objects import create_bytes, open_folder, read_bytes, read_chunks, read_lines, write_bytes
from ragguard.errors import (
    ConfigError,
    DatasetError,
    ObjectError,
    ObjectExistsError,
    ObjectNotFoundError,
    RagguardError,
)

QUICK = Access(retries=1, connect_timeout_s=2, read_timeout_s=2)
TEXT = "một\r\n\nhai 三\r\nlast".encode()
LINES = [(1, "một".encode()), (2, b""), (3, "hai 三".encode()), (4, b"last")]


# ---- lines ----


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
def test_lines_plain_or_packed_in_any_chunks(size: int, pack: object) -> None:
    data = pack(TEXT)  # type: ignore[operator]
    assert list(lines_of((data[i : i + size] for i in range(0, len(data), size)), "f")) == LINES


def test_files_packed_in_parts_are_read_to_the_end() -> None:
    zstd = zstandard.ZstdCompressor().compress
    assert b"".join(unpacked([gzip.compress(b"a\n") + gzip.compress(b"b") + b"\0" * 512], "f")) == b"a\nb"
    assert b"".join(unpacked([zstd(b"a\n") + zstd(b"b")], "f")) == b"a\nb"


def test_only_line_feeds_end_lines() -> None:
    assert list(lines_of(["a\u2028b\x0bc\u0085d\re\n".encode()], "f")) == [(1, "a\u2028b\x0bc\u0085d\re".encode())]


def test_an_empty_file_has_no_lines() -> None:
    assert list(lines_of([], "f")) == list(lines_of([b""], "f")) == []


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize("cut", [1, 5, 12])
def test_a_packed_file_that_was_cut_off(pack: object, cut: int) -> None:
    data = pack(TEXT * 50)[:-cut]  # type: ignore[operator]
    with pytest.raises(DatasetError, match=r"f: the (gzip|zstd) data ends too early"):
        list(lines_of([data], "f"))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress])
def test_a_damaged_packed_file(pack: object) -> None:
    data = bytearray(pack(os.urandom(2000)))  # type: ignore[operator]
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(DatasetError, match=r"f: damaged (gzip|zstd) data"):
        list(lines_of([bytes(data)], "f"))


def test_a_long_line_is_named_before_it_is_held() -> None:
    def endless() -> Iterator[bytes]:
        yield b"short\n"
        while True:
            yield b"x" * 1000

    with pytest.raises(DatasetError, match=r"f:2: the line is longer than 10,000 bytes"):
        list(lines_of(endless(), "f", max_line_bytes=10_000))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(level=19).compress])
def test_a_decompression_bomb_is_stopped(pack: object) -> None:
    bomb = pack(b"\0" * 64_000_000)  # type: ignore[operator]
    assert len(bomb) < 100_000
    with pytest.raises(DatasetError, match=r"f:1: the line is longer than"):
        list(lines_of([bomb], "f", max_line_bytes=1_000_000))
    with pytest.raises(DatasetError, match=r"f: is more than 1,000,000 bytes"):
        list(lines_of([pack(b"\n" * 3_000_000)], "f", max_total_bytes=1_000_000))  # type: ignore[operator]


def test_a_zstd_file_that_wants_a_huge_window() -> None:
    params = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    sink = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=params).stream_writer(sink, closefd=False) as writer:
        writer.write(b"a\n" * 1000)
        writer.flush(zstandard.FLUSH_BLOCK)
        writer.write(b"b\n" * 1000)
    with pytest.raises(DatasetError, match="damaged zstd data"):
        list(lines_of([sink.getvalue()], "f"))


# ---- addresses ----


@pytest.mark.parametrize(
    ("uri", "scheme", "root", "path"),
    [
        ("data/a b.jsonl", "file", "", "data/a b.jsonl"),
        ("file://.ragguard/runs", "file", "", ".ragguard/runs"),
        ("file:///tmp/a%20b", "file", "", "/tmp/a b"),
        ("file://localhost/tmp/x", "file", "", "/tmp/x"),
        ("s3://bucket/evals/câu hỏi%20.jsonl", "s3", "bucket", "evals/câu hỏi%20.jsonl"),
        ("S3://bucket", "s3", "bucket", ""),
        ("gs://bucket/runs/", "gs", "bucket", "runs"),
        ("az://container/x", "az", "container", "x"),
        ("https://h/x?a=b", "http", "", "https://h/x?a=b"),
    ],
)
def test_addresses(uri: str, scheme: str, root: str, path: str) -> None:
    address = parse_address(uri)
    assert (address.scheme, address.root, address.path) == (scheme, root, path)


@pytest.mark.parametrize(
    ("uri", "part"),
    [
        ("", "empty"),
        ("a\0b", "NUL"),
        ("ftp://host/x", "ftp:// cannot be read"),
        ("bigquery://a.b.c", "bigquery:// cannot be read"),
        ("s3:///key", "names no bucket"),
        ("s3://user:secret@bucket/key", "names no bucket"),
    ],
)
def test_wrong_addresses(uri: str, part: str) -> None:
    with pytest.raises(ConfigError, match=part) as caught:
        parse_address(uri)
    assert "secret" not in str(caught.value)
    assert caught.value.mend


def test_a_file_is_split_from_its_folder() -> None:
    assert split_address("a.jsonl") == (".", "a.jsonl")
    assert split_address("/a.jsonl") == ("/", "a.jsonl")
    assert split_address("s3://b/x/a.jsonl") == ("s3://b/x", "a.jsonl")
    with pytest.raises(ConfigError, match="is a folder"):
        split_address("s3://b/x/".replace("x/", ""))


def test_secrets_of_addresses_are_not_shown() -> None:
    url = "https://user:pass@host:8443/a/b.jsonl?X-Amz-Signature=abc&X-Amz-Credential=AKIA&flag#token"
    assert redacted(url) == "https://***@host:8443/a/b.jsonl?X-Amz-Signature=***&X-Amz-Credential=***&flag=***"
    assert redacted("a/b?c=d") == "a/b?c=d"
    assert redacted("https://[::bad") == "https://…"


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://169.254.1.1/",
        "https://[fe80::1]/",
        "https://[::ffff:169.254.169.254]/",
        "https://metadata.google.internal/",
        "https://METADATA.google.internal./",
        "https://[fd00:ec2::254]/",
        "https://100.100.100.200/",
    ],
)
def test_metadata_addresses_are_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="metadata"):
        check_web_address(url, Access(allow_http=True))
    check_web_address(url, Access(allow_http=True, allow_link_local=True))


def test_a_name_that_leads_to_a_metadata_address_is_refused_by_its_peer() -> None:
    check_web_address("https://innocent.example/x", Access())
    with pytest.raises(ConfigError, match=r"innocent\.example/x: leads to a link-local or metadata address"):
        check_peer("https://innocent.example/x", "169.254.169.254", Access())
    check_peer("https://innocent.example/x", "10.0.0.1", Access())


@pytest.mark.parametrize(
    "url", ["http://example.org/x", "http://10.0.0.1/x", "http://localhost.example.org/", "http://0.0.0.0/"]
)
def test_plain_http_to_other_machines_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="plain http://"):
        check_web_address(url, Access())
    check_web_address(url, Access(allow_http=True))


@pytest.mark.parametrize("url", ["https://", "https:///x", "gopher://host/", "https://[bad/"])
def test_what_is_no_web_address(url: str) -> None:
    with pytest.raises(ConfigError):
        check_web_address(url, Access())


# ---- local files ----


def test_local_files_are_written_and_read_back(tmp_path: Path) -> None:
    uri = str(tmp_path / "một" / "问题.jsonl")
    write_bytes(uri, TEXT)
    assert read_bytes(uri) == TEXT
    assert list(read_lines(f"file://{uri}")) == LINES
    write_bytes(uri, b"new")
    assert read_bytes(uri) == b"new"
    assert [path.name for path in (tmp_path / "một").iterdir()] == ["问题.jsonl"]


def test_a_file_is_created_once(tmp_path: Path) -> None:
    uri = str(tmp_path / "x")
    create_bytes(uri, b"first")
    with pytest.raises(ObjectExistsError, match="already there"):
        create_bytes(uri, b"second")
    assert read_bytes(uri) == b"first"
    assert len(list(tmp_path.iterdir())) == 1


def test_of_many_creators_exactly_one_wins(tmp_path: Path) -> None:
    uri = str(tmp_path / "x")

    def create(number: int) -> bool:
        try:
            create_bytes(uri, str(number).encode() * 1000)
        except ObjectExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(24)))
    assert won.count(True) == 1
    assert read_bytes(uri) == str(won.index(True)).encode() * 1000


def test_a_file_system_without_hard_links_still_creates_once(tmp_path: Path) -> None:
    from ragguard.adapters.local_files import _link_or_copy

    class NoLinks(type(tmp_path)):  # type: ignore[misc]
        def hardlink_to(self, target: object) -> None:
            raise PermissionError(1, "Operation not permitted")

    (tmp_path / "draft").write_bytes(b"text")
    _link_or_copy(tmp_path / "draft", NoLinks(tmp_path / "x"))
    assert (tmp_path / "x").read_bytes() == b"text"
    with pytest.raises(FileExistsError):
        _link_or_copy(tmp_path / "draft", NoLinks(tmp_path / "x"))


def test_a_failed_write_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    write_bytes(str(tmp_path / "x"), b"old")
    with pytest.raises(ObjectError):
        open_folder(str(tmp_path)).write("x", tmp_path / "missing source")
    assert read_bytes(str(tmp_path / "x")) == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_keys_of_a_folder(tmp_path: Path) -> None:
    folder = open_folder(f"file://{tmp_path}")
    assert folder.keys() == folder.keys("nothing/here") == []
    for key in ("a/2", "a/1", "ab/3", "c"):
        folder.write(key, b"")
    (tmp_path / "a" / ".half.part").write_bytes(b"")
    assert folder.keys() == ["a/1", "a/2", "ab/3", "c"]
    assert folder.keys("a") == ["a/1", "a/2"]


@pytest.mark.parametrize("key", ["../x", "a/../../x", "/etc/passwd", "a\0b", ".."])
def test_keys_stay_inside_the_folder(tmp_path: Path, key: str) -> None:
    folder = open_folder(str(tmp_path / "inner"))
    for act in (
        lambda: folder.write(key, b""),
        lambda: folder.create(key, b""),
        lambda: list(folder.chunks(key)),
        lambda: folder.keys(key),
    ):
        with pytest.raises(ObjectError, match="outside the folder"):
            act()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "error", "exit_code", "part"),
    [
        ("missing.jsonl", ObjectNotFoundError, 2, "no such file"),
        ("missing/too.jsonl", ObjectNotFoundError, 2, "no such file"),
        ("folder", ObjectNotFoundError, 2, "is a folder"),
        ("folder/", ConfigError, 2, "is a folder"),
        ("file/below.jsonl", ObjectError, 4, "cannot read"),
    ],
)
def test_local_files_that_cannot_be_read(
    tmp_path: Path, name: str, error: type[RagguardError], exit_code: int, part: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(error, match=part) as caught:
        read_bytes(f"{tmp_path}/{name}")
    assert caught.value.exit_code == exit_code


def test_a_folder_that_cannot_be_made_is_an_outside_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for write in (write_bytes, create_bytes):
        with pytest.raises(ObjectError, match="in the way"):
            write(f"{tmp_path}/file/x", b"")


def test_a_file_without_permission_is_an_outside_error(tmp_path: Path) -> None:
    from ragguard.adapters.local_files import _translated

    # Raised by hand: the tests may run as root, whom nothing is forbidden.
    error = _translated(PermissionError(13, "Permission denied"), tmp_path / "x", "read")
    assert isinstance(error, ObjectError)
    assert "permission denied" in str(error)
    assert error.mend


def test_a_file_larger_than_allowed_is_refused(tmp_path: Path) -> None:
    write_bytes(str(tmp_path / "x"), b"x" * 1000)
    with pytest.raises(ObjectError, match="larger than 999 bytes"):
        read_bytes(str(tmp_path / "x"), max_bytes=999)


# ---- the web ----


class _Site(BaseHTTPRequestHandler):
    calls: ClassVar[dict[str, int]] = {}

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.calls[path] = count = self.calls.get(path, 0) + 1
        if path == "/data.jsonl":
            self._send(200, TEXT)
        elif path == "/data.jsonl.gz":
            self._send(200, gzip.compress(TEXT), {"Content-Encoding": "gzip"})
        elif path == "/who":
            self._send(200, self.headers.get("Authorization", "nobody").encode())
        elif path == "/flaky" and count > 1:
            self._send(200, b"at last")
        elif path == "/cut":
            self._send(200, b"half", {"Content-Length": "1000"})
        elif path.startswith("/to/"):
            self._send(302, b"", {"Location": {"data": "/data.jsonl", "loop": "/to/loop"}.get(path[4:], path[4:])})
        else:
            self._send({"/flaky": 503, "/down": 503, "/secret": 403}.get(path, 404), b"")

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("path", ["data.jsonl", "data.jsonl?X-Amz-Signature=a%2Fb", "data.jsonl.gz", "to/data"])
def test_web_files_are_read(site: str, path: str) -> None:
    assert list(read_lines(f"http://{site}/{path}", QUICK)) == LINES


def test_user_information_is_sent_and_a_failure_that_passes_is_tried_again(site: str) -> None:
    assert read_bytes(f"http://user:pass@{site}/who", QUICK) == b"Basic dXNlcjpwYXNz"
    assert read_bytes(f"http://{site}/flaky", QUICK) == b"at last"


@pytest.mark.parametrize(
    ("path", "error", "exit_code", "part"),
    [
        ("nothing", ObjectNotFoundError, 2, "no such file (404"),
        ("secret", ObjectError, 4, "refused (403"),
        ("down", ObjectError, 4, "cannot read (503"),
        ("cut", ObjectError, 4, "cannot read (peer closed"),
        ("to/loop", ObjectError, 4, "redirected more than 5 times"),
        ("to/http://169.254.169.254/latest", ConfigError, 2, "metadata address"),
        ("to/http://example.org/x", ConfigError, 2, "plain http://"),
        ("to/file:///etc/passwd", ConfigError, 2, "is not a web address"),
    ],
)
def test_web_files_that_cannot_be_read(
    site: str, path: str, error: type[RagguardError], exit_code: int, part: str
) -> None:
    with pytest.raises(error) as caught:
        read_bytes(f"http://user:hush@{site}/{path}?token=hush", QUICK)
    assert part in str(caught.value)
    assert "hush" not in str(caught.value)
    assert caught.value.exit_code == exit_code


def test_a_site_that_nobody_serves(site: str) -> None:
    with pytest.raises(ObjectError, match="cannot read") as caught:
        list(read_chunks("http://127.0.0.1:1/x", QUICK))
    assert caught.value.exit_code == 4


def test_the_web_cannot_be_written() -> None:
    for act in (
        lambda: write_bytes("https://h/x", b""),
        lambda: create_bytes("https://h/x", b""),
        lambda: open_folder("https://h/x"),
    ):
        with pytest.raises(ConfigError, match="can only be read"):
            act()


# ---- buckets, without a server ----


def test_a_bucket_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "hush",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    access = Access(retries=0, connect_timeout_s=1)
    folder = open_folder("s3://bucket/runs", access)
    for act in (
        folder.keys,
        lambda: list(folder.chunks("x")),
        lambda: folder.write("x", b""),
        lambda: folder.create("x", b""),
        lambda: read_bytes("s3://bucket/x.jsonl", access),
    ):
        with pytest.raises(ObjectError, match=r"s3://bucket.*: cannot") as caught:
            act()
        assert "Debug" not in str(caught.value)
        assert "hush" not in str(caught.value)
        assert caught.value.exit_code == 4

"""The real parts themselves: what our adapters will rely on, asked of each part directly."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.parts import cache, chromium, processes
from tests.parts.bigquery import BigQueryEmulator
from tests.parts.cache import need
from tests.parts.s3 import S3Server

if TYPE_CHECKING:  # a machine without the package skips the tests that use it
    from google.cloud import bigquery

# ---- S3 ----


def test_s3_put_get_list(s3_server: S3Server) -> None:
    import obstore

    store = s3_server.store(prefix="list")
    texts = {"a/câu hỏi.json": "Vì sao trời xanh?", "a/问题.json": "天为什么是蓝的？", "b/plain.json": ""}
    for path, text in texts.items():
        obstore.put(store, path, text.encode())

    assert {path: bytes(obstore.get(store, path).bytes()).decode() for path in texts} == texts
    assert sorted(meta["path"] for page in obstore.list(store) for meta in page) == sorted(texts)
    assert sorted(meta["path"] for page in obstore.list(store, "a") for meta in page) == sorted(list(texts)[:2])


def test_s3_conditional_create_lets_exactly_one_writer_win(s3_server: S3Server) -> None:
    import obstore
    from obstore.exceptions import AlreadyExistsError

    def create(number: int) -> int | None:
        try:
            obstore.put(s3_server.store(prefix="create"), "head", str(number).encode(), mode="create")
        except AlreadyExistsError:  # the server's 412
            return None
        return number

    with ThreadPoolExecutor(8) as pool:
        winners = [number for number in pool.map(create, range(8)) if number is not None]

    assert len(winners) == 1
    stored = obstore.get(s3_server.store(prefix="create"), "head").bytes()
    assert bytes(stored) == str(winners[0]).encode()


def test_s3_refuses_a_wrong_secret(s3_server: S3Server) -> None:
    import obstore
    from obstore.exceptions import PermissionDeniedError

    obstore.put(s3_server.store(prefix="secret"), "x", b"1")
    with pytest.raises(PermissionDeniedError, match="SignatureDoesNotMatch"):
        obstore.get(s3_server.store(prefix="secret", secret_key="0" * 32), "x")


def test_s3_refuses_an_unknown_bucket_until_it_is_made(s3_server: S3Server) -> None:
    import obstore

    store = s3_server.store(bucket="another-bucket")
    with pytest.raises(FileNotFoundError, match="NoSuchBucket"):
        obstore.put(store, "x", b"1")
    assert s3_server.create_bucket("another-bucket")
    obstore.put(store, "x", b"1")
    assert not s3_server.create_bucket("x")  # too short a name


def test_s3_keys_stay_out_of_messages(s3_server: S3Server) -> None:
    assert s3_server.secret_key not in repr(s3_server)
    assert s3_server.environ()["AWS_SECRET_ACCESS_KEY"] == s3_server.secret_key


# ---- BigQuery ----


@pytest.fixture
def client(bigquery_emulator: BigQueryEmulator) -> Iterator[bigquery.Client]:
    with closing(bigquery_emulator.client()) as client:
        yield client


@pytest.fixture
def table(client: bigquery.Client) -> Iterator[bigquery.Table]:
    """A table partitioned by day and clustered, with a JSON column, in a dataset of its own."""
    from google.cloud import bigquery

    dataset = client.create_dataset(f"{client.project}.parts")
    table = bigquery.Table(
        dataset.table("runs"),
        schema=[
            bigquery.SchemaField("run_id", "STRING", mode="REQUIRED"),
            bigquery.SchemaField("suite", "STRING"),
            bigquery.SchemaField("finished_at", "TIMESTAMP"),
            bigquery.SchemaField("mean", "FLOAT64"),
            bigquery.SchemaField("head", "JSON"),
        ],
    )
    table.time_partitioning = bigquery.TimePartitioning(field="finished_at")
    table.clustering_fields = ["suite"]
    yield client.create_table(table)
    client.delete_dataset(dataset, delete_contents=True)


def load(client: bigquery.Client, table: bigquery.Table, *rows: dict[str, object]) -> bigquery.LoadJob:
    from google.cloud import bigquery

    job = client.load_table_from_json(rows, table, job_config=bigquery.LoadJobConfig(schema=table.schema))
    job.result(timeout=30)
    return job


def test_bigquery_table_keeps_partitioning_and_clustering(client: bigquery.Client, table: bigquery.Table) -> None:
    kept = client.get_table(table)

    assert kept.time_partitioning is not None
    assert kept.time_partitioning.field == "finished_at"
    assert kept.clustering_fields == ["suite"]
    assert {column.name: column.field_type for column in kept.schema}["head"] == "JSON"


def test_bigquery_load_job_then_query_with_parameters(client: bigquery.Client, table: bigquery.Table) -> None:
    from google.cloud import bigquery

    job = load(
        client,
        table,
        {"run_id": "r1", "suite": "toán", "finished_at": "2026-01-01T08:00:00Z", "mean": 0.5, "head": {"judge": "a"}},
        {"run_id": "r2", "suite": "toán", "finished_at": "2026-01-02T08:00:00Z", "mean": None, "head": {"judge": "评"}},
        {"run_id": "r3", "suite": "toán", "finished_at": "2026-01-03T08:00:00Z", "mean": 0.7, "head": {"judge": "b"}},
        {"run_id": "r4", "suite": "văn", "finished_at": "2026-01-01T08:00:00Z", "mean": 0.9, "head": None},
    )
    query = f"""
        SELECT run_id, mean, JSON_VALUE(head, '$.judge') AS judge FROM `{table.full_table_id.replace(":", ".")}`
        WHERE suite = @suite AND finished_at < @before ORDER BY run_id DESC"""
    parameters = [
        bigquery.ScalarQueryParameter("suite", "STRING", "toán"),
        bigquery.ScalarQueryParameter("before", "TIMESTAMP", datetime(2026, 1, 3, tzinfo=UTC)),
    ]
    found = client.query_and_wait(query, job_config=bigquery.QueryJobConfig(query_parameters=parameters))

    assert [tuple(row.values()) for row in found] == [("r2", None, "评"), ("r1", 0.5, "a")]
    assert job.output_rows == 4


def test_bigquery_refuses_what_the_service_refuses(client: bigquery.Client, table: bigquery.Table) -> None:
    from google.api_core.exceptions import BadRequest, Conflict, NotFound

    with pytest.raises(NotFound):
        client.get_table(f"{table.project}.{table.dataset_id}.absent")
    with pytest.raises(Conflict):
        client.create_table(table)
    with pytest.raises(BadRequest):
        load(client, table, {"run_id": "r1", "mean": "no number"})
    with pytest.raises(BadRequest):
        load(client, table, {"suite": "a required field is missing"})
    (refused,) = client.insert_rows_json(table, [{"run_id": "r1", "unheard_of": 1}])
    assert "unheard_of" in str(refused["errors"])
    with pytest.raises(BadRequest):
        client.query_and_wait(f"SELECT unheard_of FROM `{table.dataset_id}.{table.table_id}`")


# ---- Chromium ----

_PAGE = """<!doctype html><meta charset="utf-8"><body style="margin:0;background:rgb(10,120,200)">
<p id="t" style="margin:0;height:1500px"></p>
<script>document.getElementById("t").textContent = "đã chạy " + innerWidth + "×" + innerHeight</script>"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    page = tmp_path / "trang 页.html"
    page.write_text(_PAGE, encoding="utf-8")
    return page


def test_chromium_takes_a_picture_of_a_whole_local_page(page: Path, tmp_path: Path) -> None:
    picture = chromium.screenshot(page, tmp_path, width=400).read_bytes()

    assert struct.unpack(">II", picture[16:24]) == (400, 1500)
    assert _first_pixel(picture) == (10, 120, 200)


def test_chromium_runs_scripts_in_a_page_of_the_given_size(page: Path, tmp_path: Path) -> None:
    with chromium.browser(tmp_path, width=390, height=844) as chrome:
        chrome.get(page.as_uri())
        assert chrome.find_element("id", "t").text == "đã chạy 390×844"


def _first_pixel(png: bytes) -> tuple[int, ...]:
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    # Byte 0 is the first row's filter, and every filter leaves the first pixel as it is.
    return tuple(zlib.decompress(data)[1:4])


# ---- the rest ----


@pytest.mark.parametrize("part", ["buildah", "debootstrap"])
def test_image_tools_run(part: str) -> None:
    done = subprocess.run([need(part), "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert part in done.stdout


def test_a_server_that_dies_is_reported_with_its_log(tmp_path: Path) -> None:
    launch = processes.Launch([sys.executable, "-c", "raise SystemExit('no disk left')"], lambda: False, {})
    with (
        pytest.raises(processes.ServerFailedError, match=r"(?s)exit code 1.*no disk left"),
        processes.serving(lambda ports: launch, ports=1, folder=tmp_path),
    ):
        pass


def test_a_server_gets_other_ports_where_one_is_taken(tmp_path: Path) -> None:
    asked: list[int] = []
    taken = "raise SystemExit('bind: address already in use')"
    serve = "import sys, http.server as h; h.HTTPServer(('127.0.0.1', int(sys.argv[1])), h.SimpleHTTPRequestHandler).serve_forever()"

    def plan(ports: Sequence[int]) -> processes.Launch:
        asked.append(ports[0])
        code = taken if len(asked) == 1 else serve
        url = f"http://{processes.HOST}:{ports[0]}/"
        return processes.Launch([sys.executable, "-c", code, str(ports[0])], lambda: processes.answers(url), {})

    with processes.serving(plan, ports=1, folder=tmp_path) as ports:
        assert list(ports) == asked[1:]
        assert processes.answers(f"http://{processes.HOST}:{ports[0]}/server.log")
    with pytest.raises(OSError, match="refused"):
        processes.answers(f"http://{processes.HOST}:{ports[0]}/")


def test_a_missing_part_skips_and_a_required_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.delenv(cache.REQUIRE_VARIABLE, raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"part seaweedfs: not in .*fetch_parts\.py seaweedfs"):
        need("seaweedfs")
    monkeypatch.setenv(cache.REQUIRE_VARIABLE, "bigquery, seaweedfs")
    with pytest.raises(pytest.fail.Exception, match="RAGGUARD_REQUIRE names it"):
        need("seaweedfs")
    monkeypatch.setenv(cache.REQUIRE_VARIABLE, "seaweed")
    with pytest.raises(ValueError, match="no such part: seaweed"):
        need("seaweedfs")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"program": "/bin/sh"}', '{"program": "/absent", "recipe": "1"}'])
def test_a_broken_or_older_marker_is_no_part(tmp_path: Path, text: str) -> None:
    (tmp_path / cache.MARKER).write_text(text, encoding="utf-8")
    assert cache.read_marker(tmp_path, "1") is None

    cache.write_marker(tmp_path, Path(sys.executable), "1")
    assert cache.read_marker(tmp_path, "1") == Path(sys.executable)
    assert cache.read_marker(tmp_path, "2") is None


def test_an_interrupted_fetch_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location(
        "fetch_parts", Path(__file__).parents[2] / "scripts" / "fetch_parts.py"
    )
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fetch_parts", script)  # dataclasses look their module up
    spec.loader.exec_module(script)
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path))
    calls: list[str] = []

    def fetch(folder: Path, log: object) -> Path:
        program = folder / "program"
        assert not program.exists()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        calls.append("fetch")
        if len(calls) == 1:
            raise KeyboardInterrupt
        return program

    monkeypatch.setitem(script.RECIPES, "seaweedfs", script.Recipe(fetch, ("1",)))
    with pytest.raises(KeyboardInterrupt):
        script.main(["seaweedfs"])
    assert cache.read_marker(tmp_path / "seaweedfs") is None
    assert script.main(["seaweedfs", "--require", "seaweedfs"]) == 0
    assert script.main(["seaweedfs"]) == 0
    assert calls == ["fetch", "fetch"]

"""The directory store and data files on a real S3 server: other processes, refusals, and many runs."""

import gzip
import itertools
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from ragguard.adapters.addresses import Access
from ragguard.adapters.datasets.jsonl import JsonlDataset
from ragguard.adapters.objects import create_bytes, open_folder, read_bytes, write_bytes
from ragguard.adapters.runfiles import head_bytes, read_run
from ragguard.adapters.stores.directory import DirectoryStore, _event_name, _IndexEntry
from ragguard.core.runs import Event
from ragguard.errors import ObjectError, ObjectExistsError, ObjectNotFoundError, StoreError
from tests.contracts.stores import START, SUITE, ids, make_head, make_results
from tests.parts import store_writers
from tests.parts.s3 import S3Server

_numbers = itertools.count()


@pytest.fixture
def uri(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3_server.environ().items():
        monkeypatch.setenv(name, value)
    return f"s3://{s3_server.bucket}/store {next(_numbers)}/数学"


def test_data_files_are_read_from_a_bucket(uri: str) -> None:
    rows = '{"id": "1", "question": "Vì sao?"}\n{"id": "2", "question": "为什么"}\n'.encode()
    write_bytes(f"{uri}/câu hỏi.jsonl.gz", gzip.compress(rows))
    dataset = JsonlDataset(uri=f"{uri}/câu hỏi.jsonl.gz").read()
    assert [sample.question for sample in dataset.samples] == ["Vì sao?", "为什么"]
    with pytest.raises(ObjectNotFoundError, match="no such object") as caught:
        JsonlDataset(uri=f"{uri}/missing.jsonl").read()
    assert caught.value.exit_code == 2


def test_objects_are_created_once(uri: str) -> None:
    create_bytes(f"{uri}/x", b"first")
    with pytest.raises(ObjectExistsError):
        create_bytes(f"{uri}/x", b"second")
    write_bytes(f"{uri}/x", b"third")
    assert read_bytes(f"{uri}/x") == b"third"


def test_a_large_object_is_sent_in_parts(uri: str) -> None:
    data = bytes(range(256)) * 50_000
    write_bytes(f"{uri}/large", data)
    assert read_bytes(f"{uri}/large") == data
    assert open_folder(uri).keys() == ["large"]


def test_a_saved_run_is_read_from_a_bucket(uri: str) -> None:
    store = DirectoryStore(uri=uri)
    store.save(make_head(), make_results())
    saved = read_run(f"{uri}/runs/r1/run.json")
    assert list(saved.results()) == make_results()


def test_two_processes_writing_at_once_lose_nothing(uri: str) -> None:
    writers = [store_writers.start(uri, name, 5) for name in ("a", "b")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    expected = [f"{name}{number}" for name in "ab" for number in range(5)]
    store = DirectoryStore(uri=uri)
    assert sorted(ids(store.heads(SUITE))) == expected
    assert sorted(event.run_id for event in store.events(SUITE)) == expected
    assert all(list(store.samples(run_id)) == make_results(3) for run_id in expected)


@pytest.mark.parametrize("death", ["results", "head"])
def test_a_killed_writer_leaves_no_half_run(uri: str, death: str) -> None:
    assert store_writers.start(uri, "r", 1, death).wait(timeout=120) == -signal.SIGKILL
    store = DirectoryStore(uri=uri)
    assert store.heads(SUITE) == []
    store.save(make_head("r0"), make_results(4))
    assert ids(store.heads(SUITE)) == ["r0"]
    assert list(store.samples("r0")) == make_results(4)


def test_a_store_that_cannot_be_used_is_never_an_empty_one(
    uri: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = Access(retries=0, connect_timeout_s=2)
    DirectoryStore(uri=uri).save(make_head(), [])

    def refused(uri: str) -> list[StoreError]:
        store = DirectoryStore(uri=uri, access=quick)
        found = []
        for act in (
            lambda: store.heads(SUITE),
            lambda: store.head("r1"),
            lambda: store.events(SUITE),
            lambda: list(store.samples("r1")),
            lambda: store.save(make_head("r2"), []),
            lambda: store.event("r1", "accepted", "ci", START, SUITE),
        ):
            with pytest.raises(StoreError) as caught:
                act()
            assert caught.value.exit_code == 4
            assert s3_server.secret_key not in str(caught.value)
            found.append(caught.value)
        return found

    assert all("bucket does not exist" in str(error) for error in refused("s3://no-such-bucket/x"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "0" * 32)
    assert all("AWS_SECRET_ACCESS_KEY" in str(error.mend) for error in refused(uri))
    with pytest.raises(ObjectError):
        JsonlDataset(uri=f"{uri}/x.jsonl", access=quick).read()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert all("cannot" in str(error) for error in refused(uri))


def test_choosing_among_5000_runs(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the time; asserts what is found."""
    folder, like = open_folder(uri), make_head()

    def put(number: int) -> None:
        at = START + timedelta(minutes=number)
        head = like.model_copy(update={"run_id": f"r{number}", "commit_time": at})
        event = Event(run_id=head.run_id, suite=SUITE, kind="accepted", by="ci", at=at)
        folder.write(_IndexEntry.key(head), b"")
        folder.write(f"events/{_IndexEntry.key(head).split('/')[1]}/{_event_name(event)}", b"")
        folder.write(f"runs/r{number}/run.json", head_bytes(head))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put, range(5000)))
    store = DirectoryStore(uri=uri)
    began = time.perf_counter()
    heads = store.heads(SUITE, branch="main", before=START + timedelta(minutes=4500))
    middle = time.perf_counter()
    found = store.events(SUITE)
    ended = time.perf_counter()
    assert ids(heads) == [f"r{number}" for number in range(4500, 4450, -1)]
    assert [event.run_id for event in found] == [f"r{number}" for number in range(5000)]
    with capsys.disabled():
        print(f"\n5,000 runs on S3: heads {middle - began:.2f} s, events {ended - middle:.2f} s")

"""The directory store beyond the contract: other processes, half-written runs, damage, and many runs."""

import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.adapters.runfiles import head_bytes
from ragguard.adapters.stores.directory import DirectoryStore, _event_name, _IndexEntry
from ragguard.adapters.stores.names import MAX_NAME, escaped, parse_time, time_name, unescaped
from ragguard.core.runs import Event
from ragguard.errors import ConfigError, StoreError
from tests.contracts.stores import START, SUITE, ids, make_head, make_results
from tests.parts import store_writers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def store(folder: Path) -> DirectoryStore:
    return DirectoryStore(uri=str(folder))


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_settings() -> None:
    assert DirectoryStore(uri="file://.ragguard/runs").type == "directory"
    with pytest.raises(ValueError, match="extra"):
        DirectoryStore.model_validate({"uri": "x", "bucket": "y"})
    with pytest.raises(ConfigError, match="can only be read"):
        DirectoryStore(uri="https://host/runs").heads("s")


def test_the_layout_has_one_small_object_a_run_and_no_shared_file(store: DirectoryStore, folder: Path) -> None:
    store.save(make_head("r1", branch="release/1.2"), make_results())
    store.event("r1", "accepted", "ci", START, SUITE)
    head = store.head("r1")
    assert head is not None
    assert head.samples is not None
    assert head.samples.count == 3
    suite = escaped(SUITE)
    assert files(folder) == [
        f"events/{suite}/20260301T083015123457Z.accepted.r1.ci.json",
        f"index/{suite}/release=2F1=2E2/20260301T083015123457Z.{time_name(head.created_at)}.r1",
        "runs/r1/run.json",
        f"runs/r1/{head.samples.path}",
    ]


def test_hostile_names_stay_inside(store: DirectoryStore, folder: Path, tmp_path: Path) -> None:
    for name in ("../../x", "/etc/passwd", "..", ".", "a\0b", "a\nb", "\ud800", "C:\\x", "~root", "$(id)", "x" * 5000):
        store.save(make_head(name, suite=name, branch=name, created_at=START), [])
        store.event(name, "rejected", name, START, name)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    for path in files(folder):
        assert all(len(part) <= MAX_NAME for part in path.split("/"))
        assert path.isascii()


def test_two_processes_writing_at_once_lose_nothing(store: DirectoryStore, folder: Path) -> None:
    writers = [store_writers.start(str(folder), name, 8) for name in ("a", "b")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    expected = [f"{name}{number}" for name in "ab" for number in range(8)]
    assert sorted(ids(store.heads(SUITE))) == expected
    assert sorted(event.run_id for event in store.events(SUITE)) == expected
    assert all(list(store.samples(run_id)) == make_results(3) for run_id in expected)


@pytest.mark.parametrize("death", ["results", "head"])
def test_a_killed_writer_leaves_no_half_run(store: DirectoryStore, folder: Path, death: str) -> None:
    assert store_writers.start(str(folder), "r", 1, death).wait(timeout=120) == -signal.SIGKILL
    assert any(path.startswith("runs/r0/samples-") for path in files(folder)) is (death == "head")
    assert store.heads(SUITE) == []
    assert store.head("r0") is None
    # What it left is in nobody's way.
    store.save(make_head("r0"), make_results(4))
    assert ids(store.heads(SUITE)) == ["r0"]
    assert list(store.samples("r0")) == make_results(4)


def test_an_entry_of_a_run_that_never_came_is_passed_over(store: DirectoryStore, folder: Path) -> None:
    for hour in range(4):
        store.save(make_head(f"r{hour}", commit_time=START + timedelta(hours=hour)), [])
    (folder / "runs" / "r3" / "run.json").unlink()
    assert ids(store.heads(SUITE, limit=2)) == ["r2", "r1"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"schema_version": 1, "run_id": "r1"}'])
def test_a_damaged_head_is_told_and_never_an_empty_store(store: DirectoryStore, folder: Path, damage: bytes) -> None:
    store.save(make_head(), [])
    (folder / "runs/r1/run.json").write_bytes(damage)
    for act in (lambda: store.heads(SUITE), lambda: store.head("r1"), lambda: list(store.samples("r1"))):
        with pytest.raises(StoreError, match=r"the store cannot be read: .*runs/r1/run\.json") as caught:
            act()
        assert caught.value.exit_code == 4
        assert caught.value.mend


def test_a_head_of_a_newer_ragguard_is_told(store: DirectoryStore, folder: Path) -> None:
    store.save(make_head(), [])
    path = folder / "runs/r1/run.json"
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(StoreError, match="schema version 2") as caught:
        store.heads(SUITE)
    assert "update ragguard" in str(caught.value.mend)


def test_samples_that_were_changed_are_told(store: DirectoryStore, folder: Path) -> None:
    import zstandard

    store.save(make_head(), make_results())
    (path,) = (folder / "runs/r1").glob("samples-*")
    text = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    lines = [line + b"\n" for line in text.split(b"\n")[:-1]]
    for damaged, part in (
        (text.replace(b'"value":1.0', b'"value":0.9'), "was changed after the run"),
        (b"".join(lines[:2]), "holds 2 of 3 results"),
        (text + lines[0], "holds 4 of 3 results"),
        (text[:-10], "samples-"),
        (b"", "holds 0 of 3 results"),
    ):
        path.write_bytes(zstandard.ZstdCompressor().compress(damaged))
        for wanted in (None, frozenset({"none of them"})):
            if part == "samples-" and wanted is not None:
                continue
            with pytest.raises(StoreError, match=part):
                list(store.samples("r1", wanted))
    path.write_bytes(path.read_bytes()[:5])
    with pytest.raises(StoreError, match="ends too early"):
        list(store.samples("r1"))
    path.unlink()
    with pytest.raises(StoreError, match="no such file"):
        list(store.samples("r1"))


def test_results_that_are_not_the_heads_are_refused(store: DirectoryStore) -> None:
    store.save(make_head("whole"), make_results(3))
    head = store.head("whole")
    assert head is not None
    with pytest.raises(Exception, match="2 results were given, its head says 3"):
        store.save(head.model_copy(update={"run_id": "part"}), make_results(2))
    assert store.head("part") is None


def test_a_file_in_the_place_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    store = DirectoryStore(uri=str(tmp_path / "file"))
    with pytest.raises(StoreError, match="cannot be read"):
        store.heads(SUITE)
    with pytest.raises(StoreError, match="cannot be read"):
        store.events(SUITE)
    with pytest.raises(StoreError, match="cannot be written"):
        store.event("r1", "accepted", "ci", START, SUITE)


def test_an_event_that_is_none_is_told(store: DirectoryStore, folder: Path) -> None:
    path = folder / "events" / escaped(SUITE) / "20260301T083015123457Z.accepted.0123.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    with pytest.raises(StoreError, match="is not an event"):
        store.events(SUITE)


def test_choosing_among_5000_runs(store: DirectoryStore, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the time; asserts that only what is needed is read: the heads of older runs are not there at all."""
    index, events = folder / "index" / escaped(SUITE) / "main", folder / "events" / escaped(SUITE)
    index.mkdir(parents=True)
    events.mkdir(parents=True)
    like = make_head()
    for number in range(5000):
        at = START + timedelta(minutes=number)
        head = like.model_copy(update={"run_id": f"r{number}", "commit_time": at})
        (folder / _IndexEntry.key(head)).touch()
        (events / _event_name(Event(run_id=f"r{number}", suite=SUITE, kind="accepted", by="ci", at=at))).touch()
        if number > 4450:
            run = folder / "runs" / f"r{number}"
            run.mkdir(parents=True)
            (run / "run.json").write_bytes(head_bytes(head))
    began = time.perf_counter()
    heads = store.heads(SUITE, branch="main", before=START + timedelta(minutes=4500))
    middle = time.perf_counter()
    found = store.events(SUITE)
    ended = time.perf_counter()
    assert ids(heads) == [f"r{number}" for number in range(4500, 4450, -1)]
    assert [event.run_id for event in found] == [f"r{number}" for number in range(5000)]
    with capsys.disabled():
        print(f"\n5,000 local runs: heads {middle - began:.2f} s, events {ended - middle:.2f} s")


# ---- names ----


@given(st.text())
def test_names_are_safe_and_tell_texts_apart(text: str) -> None:
    name = escaped(text)
    assert name
    assert len(name) <= 80
    assert all(char.isascii() and (char.isalnum() or char in "_-=") for char in name)
    assert unescaped(name) in {text, None}
    assert escaped(f"{text}.") != name


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_names_of_times_sort_by_time(one: datetime, other: datetime) -> None:
    assert (one < other) == (time_name(one) < time_name(other))
    assert parse_time(time_name(one)) == one


@pytest.mark.parametrize("name", ["", "x", "2026", "20260301T083015Z", "99999999T999999999999Z"])
def test_what_is_no_time(name: str) -> None:
    assert parse_time(name) is None

"""The disk is full, read-only, in the way or too small; temporary files, the cache: said, with what mends it."""

from __future__ import annotations

import gc
import itertools
import json
import resource
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragguard.adapters.runfiles import read_run
from tests.faults.fault import Fault
from tests.faults.scene import Came, Scene, hold, is_whole
from tests.parts.disks import read_only, small_disk
from tests.parts.judge_server import JudgeServer, judge_server

UNSPENT = "all as it was; nothing was spent"
DRAFT = "what was done, whole lines of .samples.jsonl.part"
IN_OUTPUT = "the run in --output"
NOT_STORED = "the run in --output, nothing in the store"
STORED = "the run, stored"
CACHED = "the run, stored; a sound cache"
ASIDE = "the run, stored; the damaged cache under another name"


@dataclass(frozen=True)
class Broken:
    """A fault of the disk: the run that meets it."""

    fault: Fault
    act: Callable[[Scene], Came]


def _fault(name: str, outcome: str, code: int, kept: str, says: str, shown: str = "") -> Fault:
    return Fault("disk", name, outcome, code, kept, says, shown)


def _into(output: str, make: Callable[[Path], object] | None = None) -> Callable[[Scene], Came]:
    """A run into an output folder, before which something is made there."""

    def act(scene: Scene) -> Came:
        if make is not None:
            make(scene.folder / output)
        return scene.run(output=output)

    return act


def _folder_at(name: str) -> Callable[[Path], object]:
    return lambda output: (output / name).mkdir(parents=True)


def _on_small_disk(kilobytes: int) -> Callable[[Scene], Came]:
    """A full disk under --output; what is there is taken out before it is gone."""

    def act(scene: Scene) -> Came:
        with small_disk(scene.folder / "disk", kilobytes) as disk:
            came = scene.run(output="disk/out")
            kept = scene.folder / "kept"
            shutil.copytree(disk / "out", kept)
        scene.out = kept
        return came

    return act


def _store_on_small_disk(scene: Scene) -> Came:
    scene.sink = str(scene.folder / "full")
    with small_disk(Path(scene.sink), 8):
        came = scene.run("good.jsonl")
        scene.before = scene.files()
    return came


def _read_only_output(scene: Scene) -> Came:
    (scene.folder / "ro").mkdir()
    with read_only(scene.folder / "ro"):
        return scene.run(output="ro/out")


@contextmanager
def _temporary(scene: Scene, folder: Path) -> Iterator[None]:
    with scene.monkeypatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)
        yield


def _temporary_missing(scene: Scene) -> Came:
    with _temporary(scene, scene.folder / "nowhere"):
        return scene.run()


def _temporary_full(scene: Scene) -> Came:
    with small_disk(scene.folder / "tmp", 4) as disk, _temporary(scene, disk):
        return scene.run()


@contextmanager
def _limited(what: int, most: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (soft, hard))


def _small_files(scene: Scene) -> Came:
    with _limited(resource.RLIMIT_FSIZE, 8_000):
        return scene.run()


def _few_files(scene: Scene) -> Came:
    """The limit is on the number that a file gets: two are free below it, whatever is open."""
    gc.collect()
    taken = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    free = (number for number in itertools.count() if number not in taken)
    with _limited(resource.RLIMIT_NOFILE, [next(free) for _ in range(2)][-1] + 1):
        return scene.run()


DISKS = (
    Broken(_fault("full before the first result", "-", 4, DRAFT, "cannot write .no space left on device.(?s:.*)free space", "“cannot write (no space left on device)”"), _on_small_disk(4)),
    Broken(_fault("full in the middle", "-", 4, DRAFT, "cannot write .no space left on device.(?s:.*)free space", "“cannot write (no space left on device)”"), _on_small_disk(40)),
    Broken(_fault("full during a look", "-", 4, DRAFT, "cannot write .no space left on device.(?s:.*)free space", "“cannot write (no space left on device)”"), _on_small_disk(80)),
    Broken(_fault("full under the store", "warned", 4, NOT_STORED, "`ragguard baseline push` stores it later"), _store_on_small_disk),
    Broken(_fault("--output can only be read", "-", 4, UNSPENT, "cannot write .read-only file system", "“cannot write (read-only file system)”"), _read_only_output),
    Broken(_fault("--output is a file", "-", 4, UNSPENT, "a file stands in the place of a folder"), _into("taken", lambda path: path.write_text("x"))),
    Broken(_fault("--output lies below a file", "-", 4, UNSPENT, "a file stands in the place of a folder"), _into("golden.jsonl/out")),
    Broken(_fault("--output is a name of 300 bytes", "-", 4, UNSPENT, "choose a shorter path"), _into("數" * 100)),
    Broken(_fault("--output is a path of 6,000 bytes", "-", 4, UNSPENT, "choose a shorter path"), _into("/".join(["x" * 200] * 30))),
    Broken(_fault("--output is a link to itself", "-", 4, UNSPENT, "cannot write"), _into("loop", lambda path: path.symlink_to("loop"))),
    Broken(_fault("--output is /dev/full", "-", 4, UNSPENT, "a file stands in the place of a folder"), _into("/dev/full")),
    Broken(_fault("a folder stands in the place of run.json", "-", 4, UNSPENT, "a folder stands in the place of a file"), _into("out/x", _folder_at("run.json"))),
    Broken(_fault("a folder stands in the place of samples.jsonl", "-", 4, UNSPENT, "a folder stands in the place of a file"), _into("out/x", _folder_at("samples.jsonl"))),
    Broken(_fault("a folder stands in the place of report.md", "failed", 4, IN_OUTPUT, "cannot write the reports .is a directory", "“cannot write the reports (is a directory)”"), _into("out/x", _folder_at("report.md"))),
    Broken(_fault("TMPDIR is not there", "failed", 1, STORED, "fell by 35.00 points"), _temporary_missing),
    Broken(_fault("TMPDIR is full", "-", 4, UNSPENT, "set TMPDIR to another folder"), _temporary_full),
    Broken(_fault("files may not be larger than 8,000 bytes", "error", 4, IN_OUTPUT, "cannot write .file too large", "“cannot write (file too large)”"), _small_files),
    Broken(_fault("no further file may be opened", "-", 4, UNSPENT, "raise the limit of open files"), _few_files),
)  # fmt: skip


def _unspent(scene: Scene) -> bool:
    try:
        left = [path for path in scene.out.iterdir() if path.is_file()]
    except OSError:
        left = []
    return scene.files() == scene.before and left == []


def _draft(scene: Scene) -> bool:
    data = (scene.out / ".samples.jsonl.part").read_bytes()
    whole = data[: data.rfind(b"\n") + 1].splitlines()
    return all("id" in json.loads(line) for line in whole) and not (scene.out / "samples.jsonl").exists()


def _in_output(scene: Scene) -> bool:
    saved = read_run(scene.out)
    return len(list(saved.results())) == (saved.head.samples.count if saved.head.samples else -1)


def _stored(scene: Scene) -> bool:
    return is_whole(scene.out) and read_run(scene.out).head.run_id in scene.stored()


def _cache_is_sound(scene: Scene) -> bool:
    with closing(sqlite3.connect(scene.folder / ".ragguard" / "cache.sqlite")) as db:
        (word,) = db.execute("PRAGMA integrity_check").fetchone()
        (count,) = db.execute("SELECT COUNT(*) FROM judgments").fetchone()
    return bool(word == "ok" and count > 0)


KEPT = {
    UNSPENT: _unspent,
    DRAFT: _draft,
    IN_OUTPUT: _in_output,
    NOT_STORED: lambda scene: is_whole(scene.out) and not any("run.json" in name for name in scene.before),
    STORED: _stored,
    CACHED: lambda scene: _stored(scene) and _cache_is_sound(scene),
    ASIDE: lambda scene: (
        _stored(scene)
        and _cache_is_sound(scene)
        and [path.read_bytes() for path in (scene.folder / ".ragguard").glob("cache.sqlite.broken-*")] == [_GARBAGE]
    ),
}


@pytest.fixture
def scene(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("broken", DISKS, ids=lambda broken: broken.fault.name)
def test_disk(broken: Broken, scene: Scene) -> None:
    scene.put_good_run()
    scene.remember()
    hold(broken.fault, broken.act(scene), scene, KEPT)


# The cache of judgments: it may cost calls, never the run.

_GARBAGE = b"SQLite format 3\0" + b"\xff\0garbage" * 1_000


@dataclass(frozen=True)
class Uncached:
    """A fault of the cache, of which a run before has taken in all judgments."""

    fault: Fault
    hurt: Callable[[Path], object]
    calls: bool = True


def _cache(name: str, kept: str, says: str, shown: str = "") -> Fault:
    return _fault(f"cache: {name}", "warned", 0, kept, says, shown)


def _overwritten(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(_GARBAGE)


def _foreign_rows(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute('UPDATE judgments SET value = \'{"status": "ok"}\'')
        db.commit()


def _other_schema(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript("DROP TABLE judgments; CREATE TABLE judgments (name TEXT);")


def _folder_in_place(path: Path) -> None:
    for one in path.parent.glob("cache.sqlite*"):
        one.unlink()
    path.mkdir()


def _locked_for_a_moment(path: Path) -> None:
    """Another process holds the file for half a second."""
    held = threading.Event()

    def keep() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            held.set()
            time.sleep(0.5)
            db.execute("COMMIT")

    threading.Thread(target=keep).start()
    held.wait(10)


CACHES = (
    Uncached(_cache("overwritten with garbage", ASIDE, "was broken .* and was moved to cache.sqlite.broken-", "“the cache … was broken … and was moved to …”"), _overwritten),
    Uncached(_cache("rows that somebody changed", CACHED, "WARNED"), _foreign_rows),
    Uncached(_cache("a table of another program", STORED, "cannot be used .*; going on without it", "“the cache … cannot be used (…); going on without it”"), _other_schema),
    Uncached(_cache("a folder in its place", STORED, "cannot be used .*; going on without it", "“the cache … cannot be used (…); going on without it”"), _folder_in_place),
    Uncached(_cache("locked for a moment", CACHED, "WARNED"), _locked_for_a_moment, calls=False),
    Uncached(_cache("gone", CACHED, "WARNED"), lambda path: path.unlink()),
)  # fmt: skip

_JUDGED = """
suite: small
pipeline: {{dataset: golden.jsonl}}
judge: {{model: openai/judge, api_base: '{url}'}}
metrics: [context_relevance]
embedder: {{type: offline, backend: ngrams}}
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[JudgeServer]:
    with judge_server() as server:
        yield server


@pytest.mark.parametrize("uncached", CACHES, ids=lambda uncached: uncached.fault.name)
def test_cache(uncached: Uncached, scene: Scene, judge: JudgeServer) -> None:
    scene.monkeypatch.setenv("OPENAI_API_KEY", "key")
    (scene.folder / "ragguard.yaml").write_text(_JUDGED.format(url=judge.url), encoding="utf-8")
    assert scene.run("good.jsonl").exit_code == 0
    uncached.hurt(scene.folder / ".ragguard" / "cache.sqlite")
    before = judge.stats.calls
    scene.sink = f"{scene.sink}-2"  # an empty store: nothing is carried over
    came = scene.run("good.jsonl")
    hold(uncached.fault, came, scene, KEPT)
    assert (judge.stats.calls > before) is uncached.calls


FAULTS: tuple[Fault, ...] = (*(one.fault for one in DISKS), *(one.fault for one in CACHES))

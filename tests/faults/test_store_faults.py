"""The store breaks: damaged, missing, refused, slow, gone at the end of a run. It is never taken for an empty one."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragguard.adapters.runfiles import read_run
from tests.contracts.stores import SUITE as WRITERS_SUITE
from tests.faults.fault import Fault
from tests.faults.scene import SUITE, Came, Scene, hold, is_whole
from tests.parts import store_writers
from tests.parts.disks import read_only

Arrange = Callable[[Scene], None]
Act = Callable[[Scene], Came]

AS_IT_WAS = "the store as it was; nothing was spent"
IN_OUTPUT = "the run in --output, which `baseline push` stores later"
IN_OUTPUT_ALONE = "the run in --output"
STORED = "the run, stored"


@dataclass(frozen=True)
class Broken:
    """A fault of a folder.

    Attributes:
        first: Whether a good run is stored before.
    """

    fault: Fault
    arrange: Arrange
    act: Act = Scene.run
    first: bool = True


def _fault(name: str, outcome: str, code: int, kept: str, says: str, shown: str = "") -> Fault:
    return Fault("store", name, outcome, code, kept, says, shown)


def _unread(name: str, says: str, shown: str = "") -> Fault:
    return _fault(name, "-", 4, AS_IT_WAS, f"the store cannot be read: .*{says}(?s:.*)mend: ", shown or f"“{says}”")


def _head(scene: Scene) -> Path:
    return next(Path(scene.sink).glob("runs/*/run.json"))


def _samples(scene: Scene) -> Path:
    return next(Path(scene.sink).glob("runs/*/samples-*"))


def _holds(where: Callable[[Scene], Path], data: bytes) -> Arrange:
    return lambda scene: where(scene).write_bytes(data) and None


def _cut(scene: Scene) -> None:
    path = _head(scene)
    path.write_bytes(path.read_bytes()[:300])


def _digits(scene: Scene) -> None:
    path = _head(scene)
    path.write_text(path.read_text("utf-8").replace('"attempt": 1', f'"attempt": {"9" * 6_000}'), "utf-8")


def _newer(scene: Scene) -> None:
    path = _head(scene)
    path.write_text(path.read_text("utf-8").replace('"schema_version": 1', '"schema_version": 2'), "utf-8")


def _without_field(scene: Scene) -> None:
    path = _head(scene)
    head = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({key: head[key] for key in head if key != "coverage"}), "utf-8")


def _folder_as_head(scene: Scene) -> None:
    path = _head(scene)
    path.unlink()
    path.mkdir()


def _other_samples(scene: Scene) -> None:
    import zstandard

    path = _samples(scene)
    text = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    path.write_bytes(zstandard.ZstdCompressor().compress(text.replace(b'"value":1.0', b'"value":0.5')))


def _cut_samples(scene: Scene) -> None:
    path = _samples(scene)
    path.write_bytes(path.read_bytes()[:-40])


def _file_as_store(scene: Scene) -> None:
    shutil.rmtree(scene.sink)
    Path(scene.sink).write_text("somebody's notes", "utf-8")


def _event(name: str, data: bytes = b"{}") -> Arrange:
    def arrange(scene: Scene) -> None:
        folder = Path(scene.sink) / "events" / SUITE
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    return arrange


def _pinned_and_removed(scene: Scene) -> None:
    (run_id,) = scene.stored()
    assert scene.command("baseline", "pin", run_id, "--sink", scene.sink).exit_code == 0
    shutil.rmtree(Path(scene.sink) / "runs" / run_id)


def _killed_writer(scene: Scene) -> None:
    """A writer of our suite dies before its run.json; the run that was there stays the baseline."""
    assert WRITERS_SUITE != SUITE
    assert store_writers.start(scene.sink, "half", 1, "head").wait(60) == -signal.SIGKILL
    index = Path(scene.sink) / "index"
    (theirs,) = (path for path in index.iterdir() if path.name != SUITE)
    shutil.copytree(theirs, index / SUITE, dirs_exist_ok=True)
    (entry,) = (index / SUITE / "main").iterdir()
    (index / SUITE / "=none").mkdir(exist_ok=True)
    entry.rename(index / SUITE / "=none" / entry.name)
    shutil.rmtree(theirs)


def _leftovers(scene: Scene) -> None:
    run = _head(scene).parent
    (run / ".0123456789abcdef.part").write_bytes(b"a draft that a killed writer left")
    (Path(scene.sink) / ".lock").write_text("4711", "utf-8")
    (Path(scene.sink) / "index" / SUITE / "=none" / ".0123456789abcdef.part").write_bytes(b"")


def _foreign(scene: Scene) -> None:
    for name in ("index/small/=none/notes.txt", "runs/notes.txt", "index/small/=none/x.y.z", "README"):
        (Path(scene.sink) / name).write_text("somebody's", "utf-8")


def _nothing(_scene: Scene) -> None:
    return


def _gone_at(stage: str, **changes: Any) -> Act:
    """The store becomes a file in the middle of the run."""
    return lambda scene: scene.staged(stage, lambda: _file_as_store(scene), **changes)


def _gone_with_html(scene: Scene) -> Came:
    scene.configure("reporting: {format: [json, markdown, html]}\n")
    return scene.staged("end of look 2", lambda: _file_as_store(scene))


def _read_only(scene: Scene) -> Came:
    with read_only(Path(scene.sink)):
        return scene.run()


def _gone_and_good(scene: Scene) -> Came:
    return scene.staged("end of evaluate", lambda: _file_as_store(scene), answers="good.jsonl")


def _push(data: bytes | None) -> Act:
    """`baseline push` of a run whose samples file was damaged, or of one that is there already."""

    def act(scene: Scene) -> Came:
        sink = scene.sink
        scene.sink = sink if data is None else f"{sink}-elsewhere"
        assert scene.run("good.jsonl", output="out/pushed").exit_code == 0
        scene.sink = sink
        scene.remember()
        if data is not None:
            (scene.out / "samples.jsonl").write_bytes(data)
        return scene.command("baseline", "push", str(scene.out), "--sink", scene.sink)

    return act


FOLDER = (
    Broken(
        _fault("a folder that is not there yet", "warned", 0, STORED, "no baseline yet"), _nothing, first=False
    ),
    Broken(_unread("an empty run.json", r"run\.json: is empty", "“… run.json: is empty”"), _holds(_head, b"")),
    Broken(_unread("run.json cut off", r"run\.json: is not JSON, perhaps cut off", "“… perhaps cut off (line 14, …)”"), _cut),
    Broken(
        _unread("run.json in UTF-16", r"run\.json: is not UTF-8 text", "“… run.json: is not UTF-8 text (byte 1)”"),
        _holds(_head, '{"schema_version": 1}'.encode("utf-16")),
    ),
    Broken(
        _unread("run.json in Latin-1", r"run\.json: is not UTF-8 text", "“… run.json: is not UTF-8 text (byte 12)”"),
        _holds(_head, '{"suite": "é"}'.encode("latin-1")),
    ),
    Broken(_unread("a number of 6,000 digits in run.json", "holds a number of thousands of digits"), _digits),
    Broken(_unread("run.json nested 100,000 deep", "is nested too deeply"), _holds(_head, b"[" * 100_000)),
    Broken(_unread("run.json without a field", '"coverage": Field required'), _without_field),
    Broken(_unread("a stranger's JSON as run.json", "is not a run of ragguard"), _holds(_head, b'{"name": "web-app"}')),
    Broken(_unread("run.json of a newer ragguard", "has schema version 2, this ragguard reads 1"), _newer),
    Broken(_unread("a folder in the place of run.json", "is a folder, not a file"), _folder_as_head),
    Broken(_unread("the samples file is gone", "no such file"), lambda scene: _samples(scene).unlink()),
    Broken(_unread("the samples file holds something else", "is damaged"), _holds(_samples, b"\0\1\2")),
    Broken(_unread("the samples file is cut off", "ends too early"), _cut_samples),
    Broken(_unread("scores in the samples file were changed", "was changed after the run"), _other_samples),
    Broken(_unread("a file in the place of the store", "not a directory"), _file_as_store),
    Broken(_unread("an event that is none", "is not an event"), _event("20260401T000000000000Z.accepted.0123.json")),
    Broken(
        _fault(
            "the pinned run was removed", "-", 2, AS_IT_WAS, "the pinned run .* is not in the store\n.*ragguard baseline unpin",
            "“the pinned run … is not in the store”, mend: “`ragguard baseline unpin`”",
        ),
        _pinned_and_removed,
    ),
    Broken(
        _fault("a writer was killed before its run.json", "failed", 1, STORED, "fell by 35.00 points"), _killed_writer
    ),
    Broken(_fault("drafts and a lock file are left", "failed", 1, STORED, "fell by 35.00 points"), _leftovers),
    Broken(_fault("foreign files lie in the store", "failed", 1, STORED, "fell by 35.00 points"), _foreign),
    Broken(
        _fault("run.json of the only run was removed", "warned", 0, STORED, "no baseline yet"),
        lambda scene: _head(scene).unlink(),
    ),
    Broken(
        _fault("the folder can only be read", "failed", 1, IN_OUTPUT, "the store cannot be written: .*read-only file system",
               "“the store cannot be written: … (read-only file system)”"),
        _nothing, _read_only,
    ),
    Broken(
        _fault("gone before the looks", "error", 4, IN_OUTPUT_ALONE, "the store cannot be read: .*not a directory",
               "“the store cannot be read: …”"),
        _nothing, _gone_at("evaluate"),
    ),
    Broken(
        _fault("gone at the end of a failed run", "failed", 1, IN_OUTPUT, "`ragguard baseline push` stores it later"),
        _nothing, _gone_at("end of look 2"),
    ),
    Broken(
        _fault("gone at the end of a failed run with an HTML report", "failed", 1, IN_OUTPUT, "the report is without its trend"),
        _nothing, _gone_with_html,
    ),
    Broken(
        _fault("gone at the end of a good run", "passed", 4, IN_OUTPUT, "`ragguard baseline push` stores it later"),
        _nothing, _gone_and_good,
    ),
    Broken(
        _fault("`baseline push` of a run whose samples were damaged", "-", 2, AS_IT_WAS,
               r"samples\.jsonl: holds 0 of 20 results", "“… holds 0 of 20 results”"),
        _nothing, _push(b""),
    ),
    Broken(
        _fault("`baseline push` of a run that is stored already", "-", 0, AS_IT_WAS, "stored "), _nothing, _push(None)
    ),
)  # fmt: skip


def _stored(scene: Scene) -> bool:
    return is_whole(scene.out) and read_run(scene.out).head.run_id in scene.stored()


def _as_it_was(scene: Scene) -> bool:
    return scene.files() == scene.before and (scene.out.name == "pushed" or not (scene.out / "run.json").exists())


def _can_be_pushed(scene: Scene) -> bool:
    """Where the store is well again, the run is stored from the output folder, once."""
    assert is_whole(scene.out)
    if Path(scene.sink).is_file():
        Path(scene.sink).unlink()
    run_id = read_run(scene.out).head.run_id
    for _ in range(2):
        assert scene.command("baseline", "push", str(scene.out), "--sink", scene.sink).exit_code == 0
    return scene.stored().count(run_id) == 1


KEPT = {
    AS_IT_WAS: _as_it_was,
    STORED: _stored,
    IN_OUTPUT: _can_be_pushed,
    IN_OUTPUT_ALONE: lambda scene: is_whole(scene.out),
}


@pytest.fixture
def scene(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("broken", FOLDER, ids=lambda broken: broken.fault.name)
def test_a_folder(broken: Broken, scene: Scene) -> None:
    if broken.first:
        scene.put_good_run()
    broken.arrange(scene)
    if broken.act is Scene.run:
        scene.remember()
    hold(broken.fault, broken.act(scene), scene, KEPT)


FAULTS: tuple[Fault, ...] = tuple(broken.fault for broken in FOLDER)

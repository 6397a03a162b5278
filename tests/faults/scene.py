"""A folder with a small data set in which the command is run: what it said, and what is there afterwards."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragguard.adapters.runfiles import read_run
from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.app.own_metrics import load_metric
from ragguard.app.pipeline import run_pipeline
from ragguard.app.progress import Silent
from ragguard.app.read_config import read_config
from ragguard.app.request import RunRequest
from ragguard.core.work import CANDIDATE
from ragguard.entrypoints.cli import run_cli
from ragguard.entrypoints.local_context import local_context
from ragguard.errors import RagguardError
from tests.fakes.small_runs import CONFIG, answer_rows, golden_rows, write_rows
from tests.faults.fault import Fault

N = 20
WRONG = 7
SUITE = "small"


_GOOD: dict[str, bytes] = {}


@dataclass(frozen=True)
class Came:
    """What came of a run.

    Attributes:
        outcome: As run.json has it; `-` where there is none.
        words: All that was said.
    """

    outcome: str
    exit_code: int
    words: str


class _Acting(Silent):
    """Lets something happen at a stage, once, and remembers what is said."""

    def __init__(self, stage: str, act: Callable[[], object]) -> None:
        self.lines: list[str] = []
        self._stage, self._act = stage, act
        self._open = ""

    def start(self, phase: str, total: int) -> None:
        self._open = phase
        if phase == self._stage:
            self._now()

    def stop(self) -> None:
        if self._stage == f"end of {self._open}":
            self._now()

    def say(self, message: str) -> None:
        self.lines.append(message)

    def _now(self) -> None:
        self._stage = ""
        self._act()


class Scene:
    """The folder: golden.jsonl, good.jsonl, bad.jsonl (7 of 20 answers are wrong), ragguard.yaml.

    Attributes:
        out: The output folder of the last run.
        before: The store's files as they were when `remember` was called.
    """

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        self._capsys = capsys
        self.sink = str(folder / "store")
        self.out = folder / "out"
        self.before: dict[str, bytes] = {}
        self._runs = 0
        monkeypatch.chdir(folder)
        monkeypatch.setenv("CI", "true")
        write_rows(folder / "golden.jsonl", golden_rows(N))
        write_rows(folder / "good.jsonl", answer_rows(N))
        write_rows(folder / "bad.jsonl", answer_rows(N, wrong=WRONG))
        self.configure("")

    def configure(self, more: str) -> None:
        """Writes ragguard.yaml with more at its end."""
        (self.folder / "ragguard.yaml").write_text(CONFIG + more, encoding="utf-8")

    def command(self, *arguments: str) -> Came:
        """Runs a command that is no run."""
        self._capsys.readouterr()
        code = run_cli(list(arguments))
        said = self._capsys.readouterr()
        return Came("-", int(code), said.out + said.err)

    def run(self, answers: str = "bad.jsonl", *, output: str | None = None, arguments: tuple[str, ...] = ()) -> Came:
        """Runs on an answers file; each run has an output folder of its own unless one is named."""
        self._runs += 1
        output = output or f"out/{self._runs}"
        self.out = self.folder / output
        sink = ("--sink", self.sink) if self.sink else ()
        came = self.command("run", "--answers", answers, "--output", output, *sink, *arguments)
        return Came(self.outcome(), came.exit_code, came.words)

    def staged(self, stage: str, act: Callable[[], object], answers: str = "bad.jsonl", **changes: Any) -> Came:
        """Runs the pipeline, and lets something happen when it gets to a stage: `evaluate`, `end of look 2`…"""
        self._runs += 1
        self.out = self.folder / f"out/{self._runs}"
        progress = _Acting(stage, act)
        overrides: dict[str, object] = {"pipeline.answers": answers}
        if self.sink:
            overrides["reporting.sink"] = self.sink
        config = read_config(self.folder / "ragguard.yaml", {}, overrides, load_metric)
        request = RunRequest(
            config=config,
            context=local_context(self.folder, {}),
            folder=self.folder,
            output=self.out,
            progress=progress,
            **changes,
        )
        try:
            report = asyncio.run(run_pipeline(request))
        except RagguardError as error:
            return Came(self.outcome(), int(error.exit_code), "\n".join([*progress.lines, f"ragguard: {error}"]))
        words = (*progress.lines, *report.head.reasons, *report.head.notices)
        return Came(self.outcome(), int(report.exit_code), "\n".join(words))

    def outcome(self) -> str:
        """The outcome in the output folder's run.json; `-` where there is none."""
        try:
            return str(json.loads((self.out / "run.json").read_bytes())["outcome"])
        except (OSError, ValueError):
            return "-"

    def put_good_run(self) -> None:
        """Puts a good run into the folder store, made once for all tests."""
        if not _GOOD:
            assert self.run("good.jsonl").exit_code == 0
            _GOOD.update(self.files())
        write_contents(self.folder, _GOOD)

    def stored(self) -> list[str]:
        """Ids of the stored runs, the newest first, each read to its end."""
        store = DirectoryStore(uri=self.sink)
        heads = store.heads(SUITE)
        assert all(len(list(store.samples(head.run_id))) >= N for head in heads)
        return [head.run_id for head in heads]

    def files(self) -> dict[str, bytes]:
        """All files of a local store."""
        return contents(Path(self.sink))

    def remember(self) -> None:
        """Takes down how the store is now."""
        self.before = self.files()


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, or the one that stands in its place."""
    paths = [folder] if folder.is_file() else sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder.parent).as_posix(): path.read_bytes() for path in paths}


def write_contents(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes what `contents` found, into another folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def is_whole(folder: Path) -> bool:
    """Whether an output folder holds a run with a result for each sample, and its reports, and no draft."""
    saved = read_run(folder)
    candidates = {result.id for result in saved.results() if result.side == CANDIDATE and result.session is None}
    drafts = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    report = json.loads((folder / "report.json").read_bytes())
    assert (folder / "report.md").read_text(encoding="utf-8").strip()
    return len(candidates) == N and not drafts and report["run_id"] == saved.head.run_id


Kept = Mapping[str, Callable[[Scene], bool]]
"""What `Fault.kept` may say, and how it is seen to be so."""


def hold(fault: Fault, came: Came, scene: Scene, kept: Kept) -> None:
    """Asserts every field of a fault."""
    assert (came.outcome, came.exit_code) == (fault.outcome, fault.exit_code), came.words
    assert re.search(fault.says, came.words), came.words
    assert "Traceback" not in came.words
    assert "a bug in ragguard" not in came.words
    if fault.exit_code in {2, 4} and fault.outcome == "-":
        assert "mend: " in came.words, came.words
    assert kept[fault.kept](scene), fault.kept

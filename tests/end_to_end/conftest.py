"""A folder with a small data set and a config, and the command run in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragguard.entrypoints.cli import run_cli
from tests.fakes.small_runs import CONFIG, answer_rows, golden_rows, write_rows


@dataclass(frozen=True)
class Said:
    """What a command said and exited with."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Command = Callable[..., Said]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: golden.jsonl, good.jsonl, bad.jsonl, ragguard.yaml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "true")
    write_rows(tmp_path / "golden.jsonl", golden_rows())
    write_rows(tmp_path / "good.jsonl", answer_rows())
    write_rows(tmp_path / "bad.jsonl", answer_rows(wrong=8))
    (tmp_path / "ragguard.yaml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


@pytest.fixture
def ragguard(folder: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command in the folder."""

    def command(*arguments: str) -> Said:
        capsys.readouterr()
        code = run_cli(list(arguments))
        said = capsys.readouterr()
        return Said(int(code), said.out, said.err)

    return command

"""Pinning and unpinning, as a person does it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command
from tests.end_to_end.test_commands import run_id_of


@pytest.fixture
def runs(ragguard: Command, folder: Path) -> tuple[str, str]:
    """Ids of two stored runs."""
    for name in ("one", "two"):
        assert ragguard("run", "--answers", "good.jsonl", "--output", name).code == 0
    return run_id_of(folder, "one"), run_id_of(folder, "two")


def test_the_one_pin_is_taken_back_without_its_id(ragguard: Command, runs: tuple[str, str]) -> None:
    assert ragguard("baseline", "pin", runs[0]).code == 0
    said = ragguard("baseline", "unpin")
    assert (said.code, f"{runs[0]}: unpinned" in said.out) == (0, True)
    assert "pinned" not in ragguard("baseline", "show").out


def test_unpinning_another_run_leaves_the_pin(ragguard: Command, runs: tuple[str, str]) -> None:
    assert ragguard("baseline", "pin", runs[0]).code == 0
    said = ragguard("baseline", "unpin", runs[1])
    assert said.code == 2
    assert f"run {runs[1]} is not pinned, run {runs[0]} is" in said.err
    assert f"pinned: {runs[0]}" in ragguard("baseline", "show").out


def test_no_pin(ragguard: Command, folder: Path, runs: tuple[str, str]) -> None:
    said = ragguard("baseline", "unpin")
    assert (said.code, "no pinned run in the store" in said.err) == (2, True)
    config = folder / "ragguard.yaml"
    config.write_text(f"{config.read_text('utf-8')}baseline: {{pin: {runs[0]}}}\n", "utf-8")
    assert "take `baseline.pin` out of it" in ragguard("baseline", "unpin").err


def test_a_pinned_run_that_is_gone_is_told_and_can_be_unpinned(
    ragguard: Command, folder: Path, runs: tuple[str, str]
) -> None:
    assert ragguard("baseline", "pin", runs[0]).code == 0
    shutil.rmtree(folder / ".ragguard" / "runs" / "runs" / runs[0])
    assert "not in the store: `ragguard baseline unpin`" in ragguard("baseline", "show").out
    assert ragguard("run", "--answers", "good.jsonl").code == 2
    assert ragguard("baseline", "unpin").code == 0
    assert ragguard("run", "--answers", "good.jsonl").code == 0


@pytest.mark.parametrize(
    ("environment", "by"),
    [({"GITHUB_ACTOR": "thảo", "USER": "runner"}, "thảo"), ({"USER": "李"}, "李"), ({"LOGNAME": "an"}, "an")],
)
def test_who_pinned(
    ragguard: Command, runs: tuple[str, str], monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], by: str
) -> None:
    for name in ("GITHUB_ACTOR", "USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    unnamed = ragguard("baseline", "pin", runs[0])
    assert "unknown" not in unnamed.out
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert f"pinned by {by}" in ragguard("baseline", "pin", runs[0]).out

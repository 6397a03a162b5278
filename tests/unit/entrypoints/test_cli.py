"""The command line's last resort: what nobody expected is a bug, and says so, and never a success."""

from __future__ import annotations

import pytest

from ragguard.entrypoints import cli
from ragguard.errors import ExitCode


@pytest.mark.parametrize("debug", [False, True])
def test_a_bug_exits_with_70_and_shows_its_traceback_only_when_asked(
    debug: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(cli._COMMANDS, "not-written-yet", "A command whose module is missing.")
    monkeypatch.delenv("RAGGUARD_DEBUG", raising=False)
    if debug:
        monkeypatch.setenv("RAGGUARD_DEBUG", "1")
    assert cli.run_cli(["not-written-yet"]) == ExitCode.BUG
    told = capsys.readouterr().err
    assert told.startswith("ragguard: a bug in ragguard: ModuleNotFoundError")
    assert ("Traceback" in told) is debug

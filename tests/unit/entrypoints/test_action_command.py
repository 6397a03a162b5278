"""The entrypoint of the container: git works in the checkout and in no other folder of another user."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ragguard.entrypoints.commands.action import _trust_workspace


def _is_trusted(folder: Path) -> bool:
    # Git itself is told that the folder is another user's.
    done = subprocess.run(
        ["git", "-C", str(folder), "status"],
        env={**os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or "dubious ownership" in done.stderr
    return done.returncode == 0


def test_only_the_workspace_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"):
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    workspace, other = tmp_path / "workspace", tmp_path / "other"
    for folder in (workspace, other):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(workspace))
    assert not _is_trusted(workspace)
    _trust_workspace()
    assert _is_trusted(workspace)
    assert not _is_trusted(other)

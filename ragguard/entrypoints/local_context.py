"""The context of a run on somebody's own machine: what git says, as far as there is a git."""

from __future__ import annotations

import os
import pwd
import secrets
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ragguard.app.context import RunContext
from ragguard.core.times import read_moment

_TIMEOUT_S = 10
_ACTORS = ("GITHUB_ACTOR", "USER", "LOGNAME")


def new_run_id(now: datetime) -> str:
    """A run id that sorts by time and is unique."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def local_context(folder: Path, environment: Mapping[str, str], base_branch: str | None = None) -> RunContext:
    """Builds the context of a local run.

    Args:
        folder: The working folder.
        environment: For the user's name.
        base_branch: Compare with this branch's runs; else with the current branch's, then the main branch's.
    """
    now = datetime.now(UTC)
    branch = _git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    committed = _git(folder, "log", "-1", "--format=%cI") if commit else None
    return RunContext(
        run_id=new_run_id(now),
        now=now,
        actor=actor_of(environment),
        branch=branch,
        base_branches=(base_branch,) if base_branch else _base_branches(folder, branch),
        commit=commit,
        commit_time=read_moment(committed),
    )


def actor_of(environment: Mapping[str, str]) -> str:
    """Who acts: the one who started the CI job, else the user of this machine."""
    named = next((name for key in _ACTORS if (name := environment.get(key, "").strip())), None)
    if named is not None:
        return named
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run as a number that no user has
        return f"uid {os.getuid()}"


def _base_branches(folder: Path, branch: str | None) -> tuple[str | None, ...]:
    default = _git(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    names = [branch, default.removeprefix("origin/") if default else None, "main", "master"]
    found = tuple(dict.fromkeys(name for name in names if name))
    return found if branch else (None,)


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says, or None where it says nothing or is not there."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None

"""`ragguard init`: writes config, example and workflows into a repository; what is there already stays."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click

from ragguard.entrypoints.console import say

_REMOTE = re.compile(r"[:/]([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+?)(?:\.git)?/?$")
_ACTION = re.compile(r"[\w.-]+/[\w./-]+@[\w./-]+")


@click.command()
@click.option("--judge", default="offline", show_default=True, metavar="MODEL", help="The judge, as provider/model.")
@click.option("--dataset", metavar="URL", help="Your golden JSONL; else an example is written.")
@click.option("--suite", default="default", show_default=True, metavar="NAME", help="Names what is compared over time.")
@click.option("--forks", is_flag=True, help="Also judge pull requests of forks when a maintainer sets a label.")
@click.option("--action", metavar="OWNER/REPO@REF", help="Another copy of the action.")
@click.option("--force", is_flag=True, help="Overwrite files that are there already.")
def init(judge: str, dataset: str | None, suite: str, action: str | None, *, forks: bool, force: bool) -> int:
    """Write ragguard.yaml, an example golden set and the GitHub workflows.

    Asks nothing: the default branch and the repository's name come from git. Files that are there already stay as
    they are; run it as often as you like.
    """
    from ragguard.app.scaffold import ACTION, EXAMPLES, Plan, scaffold
    from ragguard.errors import UserInputError

    if action is not None and not _ACTION.fullmatch(action):
        raise UserInputError(f"--action {action}: is not OWNER/REPO@REF")
    here = Path.cwd()
    root = Path(_git(here, "rev-parse", "--show-toplevel") or here).resolve()
    folder = here.resolve().relative_to(root).as_posix()
    plan = Plan(
        suite=suite,
        branch=default_branch(here),
        repository=repository_name(here),
        folder="" if folder == "." else folder,
        judge=judge,
        dataset=dataset,
        action=action or ACTION,
        forks=forks,
    )
    configured = (here / "ragguard.yaml").exists() and not force
    for name, text in scaffold(plan):
        if configured and Path(name).name in EXAMPLES and not (root / name).exists():
            continue  # the config that is there names its own data
        say(f"{_write(root / name, text, force=force)} {name}")
    _tell_next(plan.key)
    return 0


def _write(path: Path, text: str, *, force: bool) -> str:
    """Writes a file and says what was done: a file that is there stays, unless it is to be overwritten."""
    if path.exists() or path.is_symlink():
        if path.is_file() and path.read_bytes() == text.encode():
            return "unchanged:"
        if not force:
            return "kept:     "
        path.write_text(text, encoding="utf-8")
        return "rewritten:"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return "written:  "


def _tell_next(key: str | None) -> None:
    say("\nnext:")
    say("  ragguard validate     what would be called, and what it would cost")
    say("  ragguard run          the first verdict")
    if key is not None:
        say(f"  keep {key} as a secret of the repository: Settings, Secrets and variables, Actions")
    say("  commit the files: the next pull request is judged")


def default_branch(folder: Path) -> str:
    """The branch that pull requests go to, as far as git knows it."""
    remote = _git(folder, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    if remote:
        return remote.removeprefix("origin/")
    if _git(folder, "rev-parse", "--verify", "--quiet", "refs/heads/main"):
        return "main"
    return _git(folder, "symbolic-ref", "--quiet", "--short", "HEAD") or "main"


def repository_name(folder: Path) -> str | None:
    """`owner/name` from the address of the remote `origin`."""
    found = _REMOTE.search(_git(folder, "remote", "get-url", "origin") or "")
    return found[1] if found else None


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=10, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None

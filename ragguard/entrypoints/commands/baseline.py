"""`ragguard baseline`: what the next run will be compared with, and how to change it."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragguard.entrypoints.commands.options import config_options, load_config, progress_for
from ragguard.entrypoints.console import say

if TYPE_CHECKING:
    from ragguard.app.config import Config
    from ragguard.core.runs import EventKind, RunHead


@click.group()
def baseline() -> None:
    """Show, build, pin, promote or push what runs are compared with."""


@baseline.command()
@config_options
@click.option("--base-branch", metavar="NAME", help="The baseline of this branch.")
def show(config_path: str | None, base_branch: str | None, **options: object) -> int:
    """Show what the next run will be compared with, and how."""
    from ragguard.app.baseline_facts import baseline_lines
    from ragguard.entrypoints.local_context import local_context

    config = load_config(config_path, options)
    for line in baseline_lines(config, local_context(Path.cwd(), os.environ, base_branch), os.environ, Path.cwd()):
        say(line)
    return 0


def _decide(kind: EventKind, run_id: str, config_path: str | None, options: dict[str, object]) -> int:
    """Appends an event about a run.

    Raises:
        UserInputError: There is no such run in the store.
    """
    from ragguard.app.load import open_store
    from ragguard.errors import UserInputError

    config = load_config(config_path, options)
    head = open_store(config).head(run_id)
    if head is None or head.suite != config.suite:
        raise UserInputError(
            f"suite {config.suite} has no stored run {run_id}", mend="`ragguard history` lists the runs that are stored"
        )
    return _append(kind, run_id, config)


def _append(kind: EventKind, run_id: str, config: Config) -> int:
    from ragguard.app.load import open_store
    from ragguard.entrypoints.local_context import actor_of

    by = actor_of(os.environ)
    open_store(config).event(run_id, kind, by, datetime.now(UTC), config.suite)
    say(f"{run_id}: {kind} by {by}")
    return 0


@baseline.command()
@click.argument("run_id")
@config_options
def pin(run_id: str, config_path: str | None, **options: object) -> int:
    """Compare every run with this one as well, so that small drops cannot pass one after another."""
    return _decide("pinned", run_id, config_path, options)


@baseline.command()
@click.argument("run_id", required=False)
@config_options
def unpin(run_id: str | None, config_path: str | None, **options: object) -> int:
    """Take the pin back; RUN_ID may be left out. A pinned run that is gone from the store is unpinned as well."""
    from ragguard.app.load import open_store
    from ragguard.core.baseline import pinned_run
    from ragguard.errors import UserInputError

    config = load_config(config_path, options)
    pinned = pinned_run(open_store(config).events(config.suite))
    if pinned is not None and run_id in {None, pinned}:
        return _append("unpinned", pinned, config)
    if pinned is None:
        what = f"suite {config.suite} has no pinned run in the store"
    else:
        what = f"run {run_id} is not pinned, run {pinned} is"
    mend = "`ragguard baseline show` tells which run is pinned"
    if config.baseline.pin is not None:
        mend = "the config pins one: take `baseline.pin` out of it"
    raise UserInputError(what, mend=mend)


@baseline.command()
@click.argument("run_id")
@config_options
def promote(run_id: str, config_path: str | None, **options: object) -> int:
    """Accept a stored run as a baseline, such as one whose drop is intended."""
    return _decide("accepted", run_id, config_path, options)


@baseline.command()
@click.argument("run_id")
@config_options
def reject(run_id: str, config_path: str | None, **options: object) -> int:
    """Take a stored run out of the baseline."""
    return _decide("rejected", run_id, config_path, options)


@baseline.command()
@click.argument("run_json", metavar="RUN.json")
@config_options
def push(run_json: str, config_path: str | None, **options: object) -> int:
    """Store a saved run, such as one whose store could not be reached when it ended."""
    from ragguard.adapters.runfiles import read_run
    from ragguard.app.load import open_store

    config = load_config(config_path, options)
    saved = read_run(run_json)
    open_store(config).save(saved.head, saved.results())
    say(f"stored {saved.head.run_id}")
    return 0


@baseline.command()
@config_options
@click.option("--runs", type=click.IntRange(1, 5), default=3, show_default=True, help="How many independent runs.")
@click.option("--output", default=".ragguard/baseline", show_default=True, metavar="DIR")
@click.option("--quiet", is_flag=True)
def build(config_path: str | None, runs: int, output: str, *, quiet: bool, **options: object) -> int:
    """Build a pool of baseline runs at once, each with answers generated anew by the live target.

    Two or more tell the gate how noisy app and judge are, which is worth more than any other refinement.
    """
    from ragguard.app.pipeline import RunRequest, run_pipeline
    from ragguard.entrypoints.local_context import local_context, new_run_id
    from ragguard.errors import UserInputError

    config = load_config(config_path, options)
    target = config.pipeline.target
    if runs > 1 and (target is None or target.type == "recorded"):
        raise UserInputError(
            "recorded answers are the same in every run and count as one baseline run",
            mend="configure a live target (pipeline.target), or build with --runs 1",
        )
    config = config.model_copy(update={"gate": config.gate.model_copy(update={"carry_over": False})})
    context = local_context(Path.cwd(), os.environ)
    worst = 0
    for number in range(1, runs + 1):
        context = replace(context, run_id=new_run_id(datetime.now(UTC)), now=datetime.now(UTC))
        folder = Path(output) / context.run_id
        request = RunRequest(
            config=config,
            context=context,
            folder=Path.cwd(),
            output=folder,
            environment=os.environ,
            use_cache=False,
            progress=progress_for(quiet=quiet),
        )
        report = asyncio.run(run_pipeline(request))
        say(f"baseline run {number} of {runs}: {report.head.outcome}, {folder}")
        left_out = _told_if_left_out(report.head)
        worst = max(worst, report.exit_code or left_out)
    return worst


def _told_if_left_out(head: RunHead) -> int:
    """Says why a run that was built is no baseline, and what makes it one; 3 then, else 0."""
    from ragguard.core.baseline import is_accepted
    from ragguard.errors import ExitCode

    if is_accepted(head, ()):
        return ExitCode.OK
    for reason in head.reasons:
        say(f"  - {reason}")
    say(f"  it is no baseline: `ragguard baseline promote {head.run_id}` makes it one, if that is what you mean")
    return ExitCode.INCONCLUSIVE

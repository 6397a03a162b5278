"""`ragguard run`: the whole job."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragguard.entrypoints.commands.options import (
    colors_wanted,
    config_options,
    load_config,
    progress_for,
)
from ragguard.entrypoints.console import Paint, say, verdict_lines

if TYPE_CHECKING:
    from ragguard.app.config import Config
    from ragguard.app.context import RunContext
    from ragguard.core.report import Report


@click.command()
@config_options
@click.option("--output", default=".ragguard/out", show_default=True, metavar="DIR", help="Where reports are written.")
@click.option("--baseline", metavar="RUN_ID", help="Compare with this run instead of the last accepted ones.")
@click.option("--base-branch", metavar="NAME", help="Compare with this branch's runs.")
@click.option("--shard", metavar="K/N", help="Only the k-th of n parts of the data set.")
@click.option("--no-cache", is_flag=True, help="Ask the judge anew even for what this machine knows.")
@click.option("--dry-run", is_flag=True, help="Check and estimate only; nothing is called or written.")
@click.option("--notify", is_flag=True, help="Notify from this machine too; else only runs in CI do.")
@click.option("--quiet", is_flag=True, help="Only the verdict.")
@click.option("--verbose", is_flag=True, help="Notes besides the verdict.")
def run(
    config_path: str | None,
    output: str,
    baseline: str | None,
    base_branch: str | None,
    shard: str | None,
    *,
    no_cache: bool,
    dry_run: bool,
    notify: bool,
    quiet: bool,
    verbose: bool,
    **options: object,
) -> int:
    """Evaluate the answers, compare them with the baseline, decide and report.

    \b
    Writes into --output: run.json and samples.jsonl (the whole run), report.md, report.json
    and the other formats of reporting.format.
    """
    from ragguard.app.pipeline import RunRequest, run_pipeline
    from ragguard.entrypoints.local_context import local_context

    config = load_config(config_path, options)
    if dry_run:
        from ragguard.entrypoints.commands.validate import tell_estimate

        tell_estimate(config)
        tell_plan(config, local_context(Path.cwd(), os.environ, base_branch), notify=notify)
        return 0
    request = RunRequest(
        config=config,
        context=local_context(Path.cwd(), os.environ, base_branch),
        folder=Path.cwd(),
        output=Path(output),
        environment=os.environ,
        shard=shard,
        dataset_overridden=options.get("dataset") is not None,
        baseline_run_id=baseline,
        use_cache=not no_cache,
        notify=notify,
        progress=progress_for(quiet=quiet),
    )
    report = asyncio.run(until_done(run_pipeline(request)))
    tell(report, output, verbose=verbose)
    return report.exit_code


async def until_done(work: Coroutine[Any, Any, Report]) -> Report:
    """Runs the pipeline; a polite kill is taken as Ctrl-C is: what was done is kept."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def tell_plan(config: Config, context: RunContext, *, notify: bool) -> None:
    """Writes what would be sent, and to whom."""
    from ragguard.adapters.notifiers.base import Secrets
    from ragguard.app.deliver import plan, surroundings_of

    at = surroundings_of(context, os.environ, Path.cwd(), config.pipeline.dataset)
    say("deliveries:")
    for line in plan(config, at, Secrets.of_environment(os.environ), notify=notify):
        say(f"  {line}")


def tell(report: Report, output: str, *, verbose: bool) -> None:
    """Writes the verdict."""
    for line in verdict_lines(report, Paint(enabled=colors_wanted())):
        click.echo(line)
    if verbose:
        for note in report.head.notes:
            say(f"  note: {note}")
    say(f"\nreports: {output}")

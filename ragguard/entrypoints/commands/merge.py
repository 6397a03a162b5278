"""`ragguard merge`: the shards of one run become that run."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from ragguard.entrypoints.commands.options import config_options, load_config, progress_for
from ragguard.entrypoints.commands.run import tell, until_done


@click.command()
@click.argument("shards", metavar="SHARD...", nargs=-1, required=True)
@config_options
@click.option("--output", default=".ragguard/out", show_default=True, metavar="DIR", help="Where reports are written.")
@click.option("--baseline", metavar="RUN_ID", help="Compare with this run instead of the last accepted ones.")
@click.option("--base-branch", metavar="NAME", help="Compare with this branch's runs.")
@click.option("--notify", is_flag=True, help="Notify from this machine too; else only runs in CI do.")
@click.option("--quiet", is_flag=True, help="Only the verdict.")
@click.option("--verbose", is_flag=True, help="Notes besides the verdict.")
def merge(
    shards: tuple[str, ...],
    config_path: str | None,
    output: str,
    baseline: str | None,
    base_branch: str | None,
    *,
    notify: bool,
    quiet: bool,
    verbose: bool,
    **options: object,
) -> int:
    """Put the shards of one run together, compare it with the baseline, decide and report.

    SHARD is the --output of one `ragguard run --shard K/N`, or its run.json; name all N. Config, data set and
    commit must be the shards' own. The judge is asked only where the gate looks again.
    """
    from ragguard.app.merge import merge_shards
    from ragguard.app.request import RunRequest
    from ragguard.entrypoints.local_context import local_context

    request = RunRequest(
        config=load_config(config_path, options),
        context=local_context(Path.cwd(), os.environ, base_branch),
        folder=Path.cwd(),
        output=Path(output),
        environment=os.environ,
        dataset_overridden=options.get("dataset") is not None,
        baseline_run_id=baseline,
        notify=notify,
        progress=progress_for(quiet=quiet),
    )
    report = asyncio.run(until_done(merge_shards(request, shards)))
    tell(report, output, verbose=verbose)
    return report.exit_code

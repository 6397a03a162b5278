"""`ragguard history`: the metrics over the stored runs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ragguard.entrypoints.commands.options import config_options, load_config
from ragguard.entrypoints.console import say


@click.command()
@config_options
@click.option("--branch", metavar="NAME", help="Only runs of this branch.")
@click.option("--limit", type=click.IntRange(1, 5000), default=30, show_default=True, help="The newest N runs.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--html", metavar="FILE", help="Write a page with a plot of each metric.")
def history(
    config_path: str | None, branch: str | None, limit: int, html: str | None, *, as_json: bool, **options: object
) -> int:
    """Show each metric over the stored runs: a table, a plot, and what declines slowly."""
    from ragguard.adapters.renderers.history_page import history_page
    from ragguard.adapters.renderers.json import json_text
    from ragguard.app import baselines
    from ragguard.app.history import history_json, history_lines, read_history
    from ragguard.app.load import open_store

    config = load_config(config_path, options)
    store = open_store(config)
    pinned = baselines.pinned(store, config.suite, config.baseline.pin)
    found = read_history(store, config.suite, branch=branch, limit=limit, pinned=pinned)
    if html is not None:
        Path(html).write_text(history_page(found.suite, found.heads, found.accepted), encoding="utf-8")
        say(f"wrote {html}", sys.stderr)
    if as_json:
        click.echo(json_text(history_json(found), indent=2))
        return 0
    for line in history_lines(found):
        say(line)
    return 0

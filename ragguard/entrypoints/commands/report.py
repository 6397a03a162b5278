"""`ragguard report`: render a saved run again."""

from __future__ import annotations

from pathlib import Path

import click

KNOWN = "markdown, json, html, junit, csv, parquet, summary"
"""The formats; the renderers themselves take too long to load for `--help`."""


@click.command()
@click.argument("run_json", metavar="RUN.json")
@click.option("--format", "format_", default="markdown", show_default=True, metavar="NAME", help=f"One of {KNOWN}.")
@click.option("--output", metavar="FILE", help="Write there instead of on standard output.")
@click.option("--templates", metavar="DIR", help="Templates that win over the ones of ragguard.")
def report(run_json: str, format_: str, output: str | None, templates: str | None) -> int:
    """Render a saved run (its run.json, with samples.jsonl beside it) in another format."""
    from ragguard.app.render_saved import render_saved

    data = render_saved(run_json, format_, Path(templates) if templates else None)
    if output is None:
        click.echo(data, nl=False)
    else:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        Path(output).write_bytes(data)
    return 0

"""`ragguard report`: render a saved run again."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("run_json", metavar="RUN.json")
@click.option("--format", "format_", default="markdown", show_default=True, help="markdown, json, html, junit …")
@click.option("--output", metavar="FILE", help="Write there instead of on standard output.")
@click.option("--templates", metavar="DIR", help="Templates that win over the ones of ragguard.")
def report(run_json: str, format_: str, output: str | None, templates: str | None) -> int:
    """Render a saved run (its run.json, with samples.jsonl beside it) in another format."""
    from ragguard.adapters.renderers import render
    from ragguard.adapters.runfiles import read_run
    from ragguard.core.report import Report

    saved = read_run(Path(run_json))
    text = render(Report.of(saved.head, saved.results), format_, templates=Path(templates) if templates else None)
    if output is None:
        click.echo(text, nl=isinstance(text, str))
    elif isinstance(text, bytes):
        Path(output).write_bytes(text)
    else:
        Path(output).write_text(text, encoding="utf-8")
    return 0

"""`ragguard explain`: one sample of a saved run."""

from __future__ import annotations

from pathlib import Path

import click

from ragguard.entrypoints.console import say


@click.command()
@click.argument("run_json", metavar="RUN.json")
@click.argument("sample_id")
def explain(run_json: str, sample_id: str) -> int:
    """Show one sample: question, answer, each metric's claims, verdicts and evidence, before and after."""
    from ragguard.adapters.runfiles import read_run
    from ragguard.app.explain import explain_lines

    saved = read_run(Path(run_json))
    for line in explain_lines(saved.head, saved.results(), sample_id):
        say(line)
    return 0

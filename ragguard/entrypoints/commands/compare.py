"""`ragguard compare`: the gate alone, on two saved runs."""

from __future__ import annotations

from pathlib import Path

import click

from ragguard.entrypoints.commands.options import colors_wanted
from ragguard.entrypoints.console import Paint, verdict_lines


@click.command()
@click.argument("base", metavar="BASE.json")
@click.argument("candidate", metavar="CANDIDATE.json")
@click.option("--tolerance", type=click.FloatRange(0, 1), help="Another tolerated drop than the candidate's run had.")
@click.option("--pull-request", is_flag=True, help="Exit 3 where the runs cannot be compared.")
@click.option("--output", metavar="DIR", help="Write the reports there, too.")
def compare(base: str, candidate: str, tolerance: float | None, output: str | None, *, pull_request: bool) -> int:
    """Compare two saved runs (their run.json, with samples.jsonl beside it), offline.

    Nothing is judged again: the first looks decide, and later looks that the runs have stored are left out, since
    they were made beside another baseline. The report says what one look cannot guard against.
    """
    from ragguard.adapters.renderers import render_files
    from ragguard.adapters.runfiles import read_run
    from ragguard.app.offline_compare import SavedRun, compare_saved
    from ragguard.core.policy import GatePolicy

    saved = [SavedRun(run.head, run.results) for run in (read_run(Path(base)), read_run(Path(candidate)))]
    policy = GatePolicy.model_validate(saved[1].head.policy)
    if tolerance is not None:
        policy = policy.model_copy(update={"regression_tolerance": tolerance, "tolerance": {}})
    report = compare_saved(saved[0], saved[1], policy, pull_request=pull_request)
    for line in verdict_lines(report, Paint(enabled=colors_wanted())):
        click.echo(line)
    if output is not None:
        render_files(report, ("markdown", "json"), Path(output))
    return report.exit_code

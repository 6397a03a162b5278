"""Renders a saved run again, from its own files alone."""

from __future__ import annotations

from pathlib import Path

from ragguard.adapters.renderers import FORMATS, RENDERERS, Material
from ragguard.adapters.runfiles import SavedRun, read_run
from ragguard.app.cross_checks import did_you_mean
from ragguard.core.metrics import parse_metric
from ragguard.core.metrics.base import Metric
from ragguard.core.report import Report
from ragguard.core.runs import RunHead
from ragguard.core.summary import Summary, summarize
from ragguard.core.work import CANDIDATE
from ragguard.errors import ExitCode, UserInputError


def render_saved(run_json: str, format_: str, templates: Path | None = None) -> bytes:
    """Returns a report's bytes.

    Args:
        run_json: Path or URL of run.json, with its samples beside it.
        format_: One of the formats of `reporting.format`.
        templates: A folder whose templates win.

    Raises:
        UserInputError: There is no such format, or the run cannot be read.
    """
    name = next((known for known in FORMATS if known == format_), None)
    if name is None:
        raise UserInputError(
            f"unknown format {format_}{did_you_mean(format_, FORMATS)}", mend=f"one of {', '.join(FORMATS)}"
        )
    saved = read_run(run_json)
    material = Material(templates, _summary(saved) if name == "summary" else None)
    return RENDERERS[name].render(Report.of(saved.head, saved.results, exit_code=_exit_code(saved.head)), material)


def _exit_code(head: RunHead) -> int:
    """What the run's command exited with, as far as its verdict tells; runs of early versions do not say it."""
    if head.exit_code is not None:
        return head.exit_code
    return {"failed": ExitCode.REGRESSION, "error": ExitCode.OUTSIDE_WORLD}.get(head.outcome, ExitCode.OK)


def _summary(saved: SavedRun) -> Summary:
    candidates = (result for result in saved.results() if result.side == CANDIDATE and result.session is None)
    return summarize(candidates, _metrics(saved))


def _metrics(saved: SavedRun) -> list[Metric]:
    """The run's metrics with their usual settings; a user's own metric is not known here and left out."""
    found: list[Metric] = []
    for id_ in saved.head.metrics:
        try:
            found.extend(parse_metric(id_))
        except ValueError:
            continue
    return found

"""The HTML report: one file that needs nothing else, for the engineer who must find the cause.

Its content security policy allows the page's own script and style, by their hashes, and nothing else: no request leaves
it. Everything foreign is either escaped by the template or data that the script puts in as text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ragguard.adapters.renderers import plots
from ragguard.adapters.renderers.escaping import clean_line
from ragguard.adapters.renderers.html_data import MOST_BYTES, PageData, metric_data, page_data
from ragguard.adapters.renderers.json import json_text
from ragguard.adapters.renderers.pairs import Pair, pairs
from ragguard.adapters.renderers.words import change_text
from ragguard.core.report import Report
from ragguard.core.runs import MetricSummary, RunHead

MOST_RUNS = 60
_AS_DATA = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class Figures:
    """A metric's plots; None where there is nothing to plot."""

    metric: str
    distribution: Markup | None
    changes: Markup | None
    trend: Markup | None
    spread: str
    note: str


def render_html(
    report: Report,
    *,
    templates: Path | None = None,
    history: Sequence[RunHead] = (),
    most_bytes: int = MOST_BYTES,
) -> str:
    """Renders the page.

    Args:
        report: What to tell.
        templates: A folder whose `report.html.j2`, `report.css` and `report.js` win over the ones of ragguard.
        history: Earlier runs of the suite for the trend, in any order.
        most_bytes: How much sample data the page holds; the rest is counted on it.

    Raises:
        TemplateError: A template cannot be rendered.
    """
    from ragguard.adapters.renderers.environment import html_environment, rendered
    from ragguard.adapters.renderers.view import Room, view_of

    found = list(pairs(report))
    data = page_data(found, most_bytes)
    style, script = (_source(templates, name) for name in ("report.css", "report.js"))
    return rendered(
        html_environment,
        templates,
        "report.html.j2",
        report=view_of(report, Room(characters=2_000)),
        figures=list(_figures(report.head, found, history)),
        data=_script_data(report.head, data),
        n_samples=len(found),
        without_texts=data.without_texts,
        samples_left_out=data.left_out,
        tags=sorted(data.tags),
        has_baseline=bool(report.head.baseline_run_ids),
        style=Markup(style),  # noqa: S704 - our own file, or the user's
        script=Markup(script),  # noqa: S704 - our own file, or the user's
        policy=_policy(style, script),
    )


def _source(templates: Path | None, name: str) -> str:
    from ragguard.adapters.renderers.environment import source_of

    # The end of a script in the middle of it would end it there.
    return source_of(templates, name).replace("\r\n", "\n").replace("</", "<\\/" if name.endswith(".js") else "<\\2f ")


def _policy(style: str, script: str) -> str:
    """What the page may load: its own script and style, and pictures that are data (an empty icon)."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _script_data(head: RunHead, data: PageData) -> Markup:
    """JSON that cannot end the element it stands in."""
    metrics, passages = json_text(metric_data(head)), json_text(data.passages)
    text = f'{{"metrics":{metrics},"passages":{passages},"samples":[{",".join(data.rows)}]}}'
    for letter, escaped in _AS_DATA.items():
        text = text.replace(letter, escaped)
    return Markup(text)  # noqa: S704 - no `<`, `>` or `&` is left


def _figures(head: RunHead, found: Sequence[Pair], history: Sequence[RunHead]) -> Iterator[Figures]:
    for key, metric in head.metrics.items():
        higher = metric.direction == "higher"
        after = plots.finite([pair.value(key) for pair in found])
        before = plots.finite([pair.value_before(key) for pair in found])
        changes = plots.finite([pair.change(key) for pair in found])
        all_kept = len(changes) >= metric.n_pairs
        name = clean_line(key)
        yield Figures(
            metric=name,
            distribution=plots.distribution(name, after, before if all_kept else (), metric.unit),
            changes=plots.paired_changes(name, changes, higher_is_better=higher),
            trend=plots.trend(name, _points(key, metric, head, history), metric.slo_min, metric.unit),
            spread=_spread(changes, metric),
            note=""
            if all_kept or not changes
            else f"{len(changes):,} of {metric.n_pairs:,} pairs: the run kept no more",
        )


def _spread(changes: Sequence[float], metric: MetricSummary) -> str:
    """From the least to the largest change, which a plot without a scale does not say."""
    if not changes:
        return ""
    return f"{change_text(min(changes), metric.unit)} to {change_text(max(changes), metric.unit)}"


def _points(key: str, metric: MetricSummary, head: RunHead, history: Sequence[RunHead]) -> list[plots.Point]:
    past = sorted((run for run in history if run.run_id != head.run_id), key=lambda run: run.ordering_time)
    found = [
        plots.Point(f"{run.ordering_time:%Y-%m-%d}", summary.mean)
        for run in past[-MOST_RUNS:]
        if (summary := run.metrics.get(key)) is not None and summary.mean is not None
    ]
    return [*found, plots.Point(f"{head.ordering_time:%Y-%m-%d}", metric.mean)] if metric.mean is not None else []

"""An evaluation as HTML for notebooks. All texts are foreign: they are cleaned and escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ragguard.adapters.renderers.escaping import brief
from ragguard.core.summary import MetricStatistics, Summary
from ragguard.sdk.results import MetricResult, SampleScores

MOST_SAMPLES = 50
_MOST_CHARS = 200
_GREEN, _RED, _GREY = "#1a7f37", "#cf222e", "#6e7781"


def evaluation_html(notices: Iterable[str], summary: Summary, results: Sequence[SampleScores]) -> str:
    """The notices, a table of the metrics, and a table of the samples, those that did not pass first."""
    shown = sorted(results, key=_worst_first)[:MOST_SAMPLES]
    parts = [f"<p><strong>{_text(notice)}</strong></p>" for notice in notices]
    parts.append(_table(("metric", "value", "min", "max", "std. dev.", "scored", "failed", "not applicable"),
                        (_metric_row(name, told) for name, told in summary.metrics.items())))  # fmt: skip
    metrics = list(summary.metrics)
    parts.append(_table(("sample", "question", *metrics), (_sample_row(result) for result in shown)))
    if len(results) > len(shown):
        parts.append(f"<p>and {len(results) - len(shown)} more samples</p>")
    return "<div>" + "".join(parts) + "</div>"


def _worst_first(result: SampleScores) -> tuple[int, float]:
    place = {False: 0, None: 1, True: 2}[result.passed]
    return place, min((score.score for score in result if score.score is not None), default=0.0)


def _table(head: Sequence[str], rows: Iterable[str]) -> str:
    cells = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _metric_row(name: str, told: MetricStatistics) -> str:
    numbers = (told.value, told.min, told.max, told.std_dev)
    counts = (told.count, told.n_failed, told.n_not_applicable)
    cells = [_text(name), *(_number(number) for number in numbers), *map(str, counts)]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _sample_row(result: SampleScores) -> str:
    cells = "".join(_score_cell(score) for score in result)
    return f"<tr><td>{_text(result.id)}</td><td>{_text(result.question)}</td>{cells}</tr>"


def _score_cell(score: MetricResult) -> str:
    color = {True: _GREEN, False: _RED, None: _GREY}[score.passed]
    word = _number(score.score) if score.score is not None else _text(score.status.replace("_", " "))
    return f'<td style="color:{color}" title="{_text(score.reason or "")}">{word}</td>'


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _text(text: str) -> str:
    return escape(brief(text, _MOST_CHARS), quote=True)

"""What the command writes on the terminal: always UTF-8, and never a line that somebody else's program obeys."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from ragguard.core.printable import harmless, one_line

if TYPE_CHECKING:
    from ragguard.core.report import Report
    from ragguard.core.runs import MetricSummary, RunHead

_MARKS = {"passed": "✓", "warned": "!", "failed": "✗", "error": "✗", "inconclusive": "?", "not_comparable": "?"}
_COLORS = {"passed": "32", "warned": "33", "failed": "31", "error": "31", "inconclusive": "33", "not_comparable": "33"}


def use_utf8() -> None:
    """Makes the standard streams write UTF-8, whatever the locale."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def cleaner(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Takes from a text what a terminal or a runner would obey, and the environment's secrets."""
    from ragguard.adapters.redaction import Redactor

    redact = Redactor.of_environment(environment)
    return lambda text: harmless(redact(text))


def tame_logging(environment: Mapping[str, str]) -> None:
    """Makes warnings of libraries and of our own, which repeat foreign words, as harmless as all else."""

    class Tamed(logging.StreamHandler[TextIO]):
        def format(self, record: logging.LogRecord) -> str:
            return cleaner(environment)(super().format(record))

    logging.lastResort = Tamed()
    logging.lastResort.setLevel(logging.WARNING)


def say(text: str, stream: TextIO | None = None) -> None:
    """Writes text as a line; see `harmless`."""
    print(harmless(text), file=stream or sys.stdout, flush=True)


class Paint:
    """Colours, where the terminal takes them and NO_COLOR is not set."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled

    def outcome(self, outcome: str, text: str) -> str:
        """Text in the colour of an outcome."""
        return f"\033[{_COLORS[outcome]}m{text}\033[0m" if self._enabled else text


def verdict_lines(report: Report, paint: Paint) -> Iterator[str]:
    """The verdict for a terminal: the outcome, why, the metrics, the samples that fell most."""
    head = report.head
    title = f"{_MARKS[head.outcome]} {head.outcome.replace('_', ' ').upper()}"
    against = f" against {report.baseline_run_id}" if report.baseline_run_id else " (no baseline yet)"
    yield paint.outcome(head.outcome, title) + f"  suite {harmless(one_line(head.suite + against))}"
    for text in (*head.reasons, *head.notices):
        yield f"  - {harmless(text)}"
    yield ""
    yield from metric_lines(head, paint)
    fallen = head.comparison.regressed
    if fallen:
        yield ""
        shown = fallen[:10]
        yield f"fell most ({len(shown)} of {head.comparison.n_regressed}):"
        for entry in shown:
            doubt = "" if entry.confirmed else ", unconfirmed"
            change = f"{entry.before:.2f} -> {entry.after:.2f}"
            names = [harmless(one_line(name)) for name in (entry.id, entry.metric)]
            yield f"  {'  '.join(names)} {change}  cause: {entry.cause}{doubt}"


def metric_lines(head: RunHead, paint: Paint) -> Iterator[str]:
    """A table of the metrics, with a second line for what did not pass beside the pinned run."""
    metrics = {_name(name): metric for name, metric in head.metrics.items()}
    if head.pinned is not None:
        beside = f" beside pinned {_name(head.pinned.run_id)}"
        found = head.pinned.metrics.items()
        metrics |= {f"{_name(name)}{beside}": metric for name, metric in found if metric.outcome != "passed"}
    width = max((len(name) for name in metrics), default=6)
    yield f"  {'metric':<{width}}  {'mean':>7}  {'baseline':>8}  {'change':>8}  {'minimum':>7}  outcome"
    for name, metric in metrics.items():
        row = (
            f"  {name:<{width}}  {number(metric.mean):>7}  {number(metric.baseline_mean):>8}  "
            f"{_change(metric):>8}  {number(metric.slo_min):>7}  "
        )
        yield row + paint.outcome(metric.outcome, metric.outcome.replace("_", " "))


def _name(text: str) -> str:
    """A name for a table; those of a saved run are foreign."""
    return harmless(one_line(text))


def _change(metric: MetricSummary) -> str:
    """A difference of means; of a percentile, where more is worse, the rise as a share of the baseline's."""
    if metric.delta is None or metric.aggregate == "mean":
        return number(metric.delta, signed=True)
    return f"{-100 * metric.delta:+.1f} %"


def number(value: float | None, *, signed: bool = False) -> str:
    """Three decimals; a dash for what is unknown."""
    if value is None:
        return "-"
    text = f"{value:+.3f}" if signed else f"{value:.3f}"
    return text.replace("-0.000", "0.000").replace("+0.000", "0.000")

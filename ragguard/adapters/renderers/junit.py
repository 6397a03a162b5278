"""JUnit XML, as CI systems show it: a suite for each metric, a case for each sample, and one for the gate's verdict.

Red here is red there: a case fails only in a metric that failed the gate, so that this file never contradicts the exit
code. What is neither red nor green is skipped with its reason: a sample that could not be scored (an error where the
metric as a whole is one), a metric that is inconclusive or not comparable and does not block. Times are left out, since
samples are judged side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragguard.adapters.renderers import words
from ragguard.adapters.renderers.escaping import brief, defuse_commands
from ragguard.adapters.renderers.pairs import Pair, pairs
from ragguard.core.report import Report
from ragguard.core.runs import MetricSummary
from ragguard.core.scores import Score

if TYPE_CHECKING:
    from junitparser import TestCase

_DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'
_LONGEST = 2_000
GATE = "(gate)"
PINNED = "(gate, beside the pinned run)"


def render_junit(report: Report) -> bytes:
    """The XML."""
    from junitparser import JUnitXml, TestSuite

    head = report.head
    found = list(pairs(report))
    document = JUnitXml(_text(head.suite))
    for key, metric in head.metrics.items():
        suite = TestSuite(_text(f"{head.suite}.{key}"))
        suite.timestamp = head.created_at.isoformat()
        suite.add_property("outcome", words.OUTCOME_WORDS[metric.outcome])
        suite.add_property("mean", words.value_text(metric.mean, metric.unit))
        cases = [_gate_case(report, key, metric)]
        if head.pinned is not None and key in head.pinned.metrics:
            cases.append(_gate_case(report, key, head.pinned.metrics[key], PINNED))
        for pair in found:
            score = pair.after.score(key)
            if score is not None:
                cases.append(_sample_case(report, key, metric, pair, score))
        suite.add_testcases(cases)
        document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    for element in document._elem.iter():  # noqa: SLF001 - no way to leave out a time that was not measured
        element.attrib.pop("time", None)
    return _DECLARATION + bytes(document.tostring()) + b"\n"  # type: ignore[no-untyped-call]


def _gate_case(report: Report, key: str, metric: MetricSummary, name: str = GATE) -> TestCase:
    from junitparser import Error, Failure, Skipped, TestCase

    case = TestCase(name, classname=_text(f"{report.head.suite}.{key}"))
    reason = _text(metric.reason or words.OUTCOME_WORDS[metric.outcome])
    if metric.outcome == "failed":
        case.result = [Failure(reason, "regression")]
    elif metric.outcome == "error":
        case.result = [Error(reason, "error")]
    elif metric.outcome in {"inconclusive", "not_comparable"}:
        # These block by the exit code alone, where the policy says so.
        blocks = report.exit_code != 0 and report.head.outcome == metric.outcome
        case.result = [Failure(reason, metric.outcome) if blocks else Skipped(reason, metric.outcome)]
    return case


def _sample_case(report: Report, key: str, metric: MetricSummary, pair: Pair, score: Score) -> TestCase:
    from junitparser import Error, Failure, Skipped, TestCase

    case = TestCase(_text(pair.after.id), classname=_text(f"{report.head.suite}.{key}"))
    fell = pair.regressed.get(key)
    reason = _text(score.reason or "")
    if score.status == "not_applicable":
        case.result = [Skipped(f"not applicable: {reason}")]
    elif score.status == "failed":
        told = f"could not be scored: {reason}"
        case.result = [Error(told, "not_scored") if metric.outcome == "error" else Skipped(told, "not_scored")]
    elif fell is not None and metric.outcome == "failed":
        before, after = words.value_text(fell.before, metric.unit), words.value_text(fell.after, metric.unit)
        case.result = [Failure(f"{before} → {after}, cause: {fell.cause}. {reason}", "regression")]
    return case


def _text(text: str) -> str:
    return defuse_commands(brief(text, _LONGEST))

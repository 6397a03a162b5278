"""One sample told in full: nothing is said twice, and what is new stands beside what was."""

from __future__ import annotations

from ragguard.app.explain import explain_lines
from ragguard.core.report import Report
from tests.fakes.reports import make_report


def told(report: Report, sample: str) -> list[str]:
    return list(explain_lines(report.head, report.results(), sample))


def test_what_was_the_same_before_is_said_once() -> None:
    lines = told(make_report("failed", "zh"), "退费-01")
    generated = [line for line in lines if line.strip().startswith(("0.9", "before 0.9"))]
    assert [line.split(":")[0].strip() for line in generated] == ["before 0.92", "0.91"]
    same = told(make_report("passed", "zh"), "退费-01")
    assert len([line for line in same if line.strip().startswith(("0.9", "before 0.9"))]) == 1
    assert same.count("    (the same before)") == 2


def test_claims_that_changed_stand_before_and_now() -> None:
    lines = told(make_report("failed"), "refund-01")
    assert any(line.startswith("    before ✓ supported: 40% of the fee") for line in lines)
    assert any(line.startswith("    ✗ contradicted: 60% of the fee") for line in lines)
    assert "    (the same before)" not in lines

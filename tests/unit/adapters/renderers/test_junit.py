from collections import Counter
from xml.etree import ElementTree as ET

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from ragguard.adapters.renderers.junit import GATE, render_junit
from ragguard.core.report import Report
from ragguard.core.runs import OUTCOMES, Outcome
from tests.fakes.hostile import HOSTILE
from tests.fakes.report_texts import Language
from tests.fakes.reports import make_report
from tests.unit.adapters.renderers.golden import assert_golden
from tests.unit.adapters.renderers.reading import commands, controls


def results(report: Report) -> Counter[str]:
    """How the cases of the faithfulness suite ended."""
    document = JUnitXml.fromstring(render_junit(report))
    suite = next(suite for suite in document if suite.name.endswith(".faithfulness"))
    return Counter(type(case.result[0]).__name__ if case.result else "passed" for case in suite)


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_golden(language: Language) -> None:
    # Canonical XML: the library writes empty elements by whichever parser it finds.
    text = ET.canonicalize(render_junit(make_report("failed", language)).decode())
    assert_golden(text.replace("><", ">\n<") + "\n", f"junit.{language}.xml")


def test_a_case_for_each_sample_and_metric_and_one_for_the_gate() -> None:
    report = make_report("failed")
    document = JUnitXml.fromstring(render_junit(report))
    assert [suite.name for suite in document] == ["tutor.faithfulness", "tutor.answer_relevance"]
    names = [case.name for case in next(iter(document))]
    assert names == [GATE, *(result.id for result in report.results() if result.side == "candidate")]
    assert results(report) == {"Failure": 5, "passed": 4}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_is_red_exactly_when_the_exit_code_is_not_0(outcome: Outcome) -> None:
    report = make_report(outcome)
    red = results(report)["Failure"] + results(report)["Error"]
    assert (red > 0) == (report.exit_code != 0)


def test_a_sample_without_a_score_is_skipped_where_the_gate_says_nothing_of_it() -> None:
    from dataclasses import replace

    broken = make_report("error")
    assert results(broken) == {"Error": 5, "passed": 4}
    metrics = {key: metric.model_copy(update={"outcome": "passed"}) for key, metric in broken.head.metrics.items()}
    head = broken.head.model_copy(update={"outcome": "passed", "metrics": metrics})
    assert results(replace(broken, head=head, exit_code=0)) == {"Skipped": 4, "passed": 5}


def test_inconclusive_that_does_not_block_is_skipped() -> None:
    from dataclasses import replace

    assert results(replace(make_report("inconclusive"), exit_code=0))["Skipped"] == 1
    assert results(make_report("inconclusive"))["Failure"] == 1


def test_no_time_is_told_that_nobody_measured() -> None:
    xml = ET.fromstring(render_junit(make_report("failed")))
    assert [element.tag for element in xml.iter() if "time" in element.attrib] == []


def test_what_is_neither_red_nor_green_says_why() -> None:
    from dataclasses import replace

    report = replace(make_report("inconclusive"), exit_code=0)
    document = JUnitXml.fromstring(render_junit(report))
    (gate,) = [case for case in next(iter(document)) if case.name == GATE]
    assert [type(result) for result in gate.result] == [Skipped]
    assert "faithfulness fell by 3.00 points" in gate.result[0].message


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_keeps_the_document_whole(hostile: str) -> None:
    xml = render_junit(make_report("failed", text=lambda text: f"{hostile} {text} {hostile}", suite=hostile))
    document = JUnitXml.fromstring(xml)
    assert [len(list(suite)) for suite in document] == [9, 9]
    assert commands(xml.decode()) == []
    assert controls(xml.decode()) == []
    for suite in document:
        for case in suite:
            assert all(isinstance(result, (Failure, Error, Skipped)) for result in case.result)

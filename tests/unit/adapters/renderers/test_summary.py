import json

import pytest
from jsonschema import Draft202012Validator

from ragguard.adapters.renderers.schemas import document_schema
from ragguard.adapters.renderers.summary import render_summary
from ragguard.core.metrics.answer_relevance import AnswerRelevance
from ragguard.core.metrics.faithfulness import Faithfulness
from ragguard.core.runs import OUTCOMES, Outcome
from ragguard.core.summary import Summary, summarize
from tests.fakes.report_texts import Language
from tests.fakes.reports import make_report
from tests.unit.adapters.renderers.golden import assert_golden


def summary_of(outcome: Outcome, language: Language = "en") -> Summary:
    results = (result for result in make_report(outcome, language).results() if result.side == "candidate")
    return summarize(results, [Faithfulness(), AnswerRelevance()])


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_golden(language: Language) -> None:
    assert_golden(render_summary(summary_of("failed", language)), f"summary.{language}.json")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_is_the_summary_and_keeps_to_its_schema(outcome: Outcome) -> None:
    summary = summary_of(outcome)
    document = json.loads(render_summary(summary))
    assert document == json.loads(json.dumps(summary.as_json()))
    assert list(Draft202012Validator(document_schema("summary")).iter_errors(document)) == []


def test_a_metric_that_nobody_scored_is_null() -> None:
    document = json.loads(render_summary(summarize([], [Faithfulness()])))
    assert document["score"] is None
    assert document["metrics_score"]["user_input,response,retrieved_contexts"]["summary"] == {"faithfulness": None}

"""Answers beside the samples, in order, by id, from a file; and no answer at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ragguard import Answer, NotScoredError, evaluate
from ragguard.errors import DatasetError
from ragguard.sdk.material import NO_ANSWER, read_material
from tests.fakes.small_runs import write_rows
from tests.unit.sdk.cases import PASSAGE, QUESTION, RIGHT

ASKED = [{"id": id_, "question": QUESTION, "contexts": [PASSAGE]} for id_ in ("a", "b")]


@pytest.mark.parametrize(
    "answers",
    [
        ["one", "two"],
        [Answer(text="one"), {"answer": "two"}],
        ["one", {"text": "two"}],
        {"b": "two", "a": "one"},
        {"a": Answer(text="one"), "b": {"response": "two"}},
        [{"id": "b", "answer": "two"}, {"id": "a", "response": "one"}],
        iter(["one", "two"]),
        np.array(["one", "two"]),
    ],
)
def test_answers_in_any_shape_come_to_their_samples(answers: object) -> None:
    found = read_material(ASKED, answers).answers
    assert [(one.id, one.answer) for one in found] == [("a", Answer(text="one")), ("b", Answer(text="two"))]


def test_answers_from_a_file_win_over_the_samples_own(tmp_path: Path) -> None:
    write_rows(tmp_path / "answers.jsonl", [{"id": "b", "answer": "two"}, {"id": "a", "answer": "one"}])
    asked = [{**each, "answer": "old"} for each in ASKED]
    found = read_material(asked, str(tmp_path / "answers.jsonl")).answers
    assert [one.answer for one in found] == [Answer(text="one"), Answer(text="two")]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (["one"], "1 answers for 2 samples"),
        ({"a": "one"}, "no answer for sample 'b'"),
        ({"a": "one", "b": "two", "c": "three"}, "no sample for answer 'c'"),
        ([{"id": "a", "answer": "one"}, "two"], "no answer for sample 'b'"),
        ([{"id": "a", "answer": "1"}, {"id": "a", "answer": "2"}, {"id": "b", "answer": "3"}], "stands twice"),
        ({"a": "one", "b": 4}, "answer to 'b': answer: is a number"),
    ],
)
def test_answers_that_do_not_fit_are_named(answers: object, told: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read_material(ASKED, answers)
    assert told in str(caught.value)


def test_an_answer_of_none_is_a_failure_of_the_app_and_no_zero() -> None:
    evaluation = evaluate(ASKED, {"a": RIGHT, "b": None}, judge="offline", metrics="faithfulness", min_coverage=0.5)
    failed = evaluation.results[1]["faithfulness"]
    assert (failed.status, failed.score, failed.passed) == ("failed", None, None)
    assert failed.reason is not None
    assert NO_ANSWER in failed.reason
    assert evaluation.faithfulness == 1.0


def test_a_missing_cell_of_a_column_is_a_failure_too() -> None:
    found = read_material(ASKED, np.array([RIGHT, float("nan")], dtype=object)).answers
    assert [(one.answer is None, one.failure) for one in found] == [(False, None), (True, NO_ANSWER)]


def test_a_single_answer_to_a_single_sample() -> None:
    assert read_material(ASKED[0], Answer(text="one")).answers[0].answer == Answer(text="one")


def test_a_sample_without_an_answer_among_others_that_have_one_is_a_failure_and_counts() -> None:
    evaluation = evaluate([{**ASKED[0], "answer": RIGHT}, ASKED[1]], judge="offline", metrics="faithfulness")
    assert [result["faithfulness"].status for result in evaluation] == ["scored", "failed"]
    with pytest.raises(NotScoredError, match="1 of 2 samples only"):
        evaluation.faithfulness  # noqa: B018


def test_without_answers_only_what_reads_no_answer_is_scored() -> None:
    known = {"contexts": [{"id": "x", "text": PASSAGE}], "gold_passage_ids": ["x"], "unanswerable_keys": ["giá"]}
    asked = [{**each, **known} for each in ASKED]
    metrics = [
        "faithfulness",
        "context_relevance",
        "answer_relevance",
        "retrieval_recall@3",
        "audit.abstention_correct",
    ]
    evaluation = evaluate(asked, judge="offline", metrics=metrics)
    statuses = {result.metric: result.status for result in evaluation.results[0]}
    assert statuses == {
        "faithfulness": "not_applicable",
        "context_relevance": "scored",
        "answer_relevance": "not_applicable",
        "retrieval_recall@3": "scored",
        "audit.abstention_correct": "not_applicable",
    }
    assert evaluation.results[0].answer is None
    assert evaluation.records[0].answer_digest is None

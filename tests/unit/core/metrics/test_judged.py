"""Answer correctness, passage relevance by two judges, and rubrics."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.judging import ScriptedJudge
from tests.unit.core.metrics.cases import answer, metric, passages, result, sample, score


def correctness(answer_in: list[list[int]], reference: list[tuple[int, bool]], **more: Any) -> dict[str, Any]:
    return {
        "answer": [
            {"source": 1, "claim": f"a{index}", "in_references": found} for index, found in enumerate(answer_in)
        ],
        "answer_no_claim": [2] if answer_in else [1, 2],
        "reference": [{"source": source, "claim": "r", "in_answer": found} for source, found in reference],
        "reference_no_claim": [],
        **more,
    }


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (correctness([[1], [1]], [(1, True)]), 1.0),
        (correctness([[1], []], [(1, True)]), 2 / 3),  # P 1/2, R 1
        (correctness([[1], []], [(1, True), (1, False), (1, False)]), 0.4),  # P 1/2, R 1/3
        (correctness([[], []], [(1, False)]), 0.0),
        (correctness([], [(1, False)]), 0.0),
        (correctness([[1]], [], reference_no_claim=[1]), 0.0),
    ],
)
def test_correctness_is_the_f1_of_claims(reply: dict[str, Any], expected: float) -> None:
    found = score("answer_correctness", sample(reference=["Một."]), answer(), {"correctness": reply}, calls=1)
    assert found.value == pytest.approx(expected)


def test_correctness_takes_the_best_alternative() -> None:
    reply = correctness([[2], [2]], [(1, False), (2, True)])
    found = score("answer_correctness", sample(reference=["Một.", "二。"]), answer(), {"correctness": reply})
    assert found.value == 1.0


def test_correctness_where_neither_side_claims_anything() -> None:
    reply = correctness([], [], reference_no_claim=[1])
    found = score("answer_correctness", sample(reference=["未提及。"]), answer(), {"correctness": reply})
    assert (found.value, found.flags) == (1.0, ("no_claims",))


def test_correctness_of_a_blank_answer_is_0_without_a_call() -> None:
    found = score("answer_correctness", sample(reference=["Một."]), answer(" "), calls=0)
    assert (found.value, found.flags) == (0.0, ("empty_answer",))


def grades(*values: int) -> dict[str, Any]:
    return {"grades": [{"passage": number, "grade": grade} for number, grade in enumerate(values, 1)]}


BY_PASSAGES = {"type": "context_relevance", "method": "passages"}
THREE = sample(contexts=passages("a", "b", "c"))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((2, 2, 2), (2, 2, 2), 1.0),
        ((1, 1, 0), (1, 0, 0), 1 / 3),  # a mean of 1.0 is relevant, 0.5 is not
        ((2, 0, 1), (0, 2, 0), 2 / 3),
        ((0, 0, 0), (0, 0, 0), 0.0),
    ],
)
def test_passages_are_relevant_by_the_mean_of_two_judges(
    first: tuple[int, ...], second: tuple[int, ...], expected: float
) -> None:
    script = {"passages_a": grades(*first), "passages_b": grades(*second)}
    found = score(BY_PASSAGES, THREE, answer(), script, calls=2)
    assert found.value == pytest.approx(expected)
    assert len(found.judgment_keys) == 2


def test_grades_may_come_in_any_order() -> None:
    turned = {"grades": list(reversed(grades(2, 0, 0)["grades"]))}
    found = score(BY_PASSAGES, THREE, answer(), {"passages_a": turned, "passages_b": grades(2, 0, 0)})
    assert found.details["passages"] == [
        {"id": "p1", "rank": 1, "grades": [2, 2], "relevant": True},
        {"id": "p2", "rank": 2, "grades": [0, 0], "relevant": False},
        {"id": "p3", "rank": 3, "grades": [0, 0], "relevant": False},
    ]


def test_a_panel_pairs_each_models_two_gradings() -> None:
    script = {
        "passages_a": [grades(2, 0, 0), grades(0, 0, 0)],
        "passages_b": [grades(2, 0, 0), grades(2, 2, 2)],
    }
    found = score(BY_PASSAGES, THREE, answer(), script, panel=2, calls=4)
    assert found.value == pytest.approx((1 / 3 + 1) / 2)


def test_the_method_decides_the_tasks_and_the_fingerprint() -> None:
    assert metric(BY_PASSAGES).id == metric("context_relevance").id
    assert metric(BY_PASSAGES).task_names == ("passages_a", "passages_b")
    assert metric(BY_PASSAGES).settings_digest != metric("context_relevance").settings_digest


POLITE = {"type": "rubric", "name": "lịch-sự", "criterion": "Is it polite?", "steps": ["rude", "plain", "polite"]}


@pytest.mark.parametrize(("given", "expected"), [(0, 0.0), (1, 0.5), (2, 1.0)])
def test_a_rubric_is_rescaled(given: int, expected: float) -> None:
    script = {"rubric:lịch-sự": {"reason": "vì lịch sự", "score": given}}
    found = score(POLITE, sample(), answer(), script, calls=1)
    assert (found.metric, found.value) == ("rubric:lịch-sự", expected)
    assert "vì lịch sự" in str(found.reason)


def test_a_rubric_shows_what_it_is_told_to_and_needs_it() -> None:
    shows = {**POLITE, "shows": ["contexts", "reference"]}
    judge = ScriptedJudge({"rubric:lịch-sự": {"reason": "r", "score": 1}})
    full = sample(contexts=passages("a"), reference=["Một. Hai."])
    result([metric(POLITE), metric(shows)], judge, full, answer())
    plain, shown = judge.asked
    assert "passages" not in plain.inputs
    assert plain.inputs["references"] == []
    assert shown.inputs["passages"] == [["a"]]
    assert shown.inputs["references"] == [["Một.", "Hai."]]
    assert score(shows, sample(), answer(), calls=0).status == "not_applicable"


def test_a_rubric_of_a_blank_answer_is_0_without_a_call() -> None:
    assert score(POLITE, sample(), answer(""), calls=0).value == 0.0


def test_a_rubrics_words_are_part_of_its_settings() -> None:
    other = {**POLITE, "criterion": "Is it short?"}
    assert metric(POLITE).settings_digest != metric(other).settings_digest
    assert metric(POLITE).settings_digest == metric({**POLITE, "threshold": 0.9}).settings_digest

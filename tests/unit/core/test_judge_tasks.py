"""What a reply must cover to be accepted: every numbered item once, and nothing that was not asked about."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ragguard.core.answer_tasks import abstention_task, rubric_task
from ragguard.core.passage_tasks import citations_task, grades_tasks
from ragguard.core.reference_tasks import alternative_of, correctness_task, reference_lines, reference_task
from ragguard.core.samples import Passage, Sample
from ragguard.core.tasks import Task, claims_task, questions_task, sentences_task

PASSAGES = (Passage(id="p1", text="Một. Hai.", rank=1), Passage(id="p2", text="三。", rank=2))
SAMPLE = Sample(id="s", question="q", reference=["Alpha one. Beta two.", " ", "Gamma."])
REFERENCES = reference_lines(SAMPLE)


def problems(task: Task, reply: dict[str, Any]) -> list[str]:
    return task.reply.model_validate(reply).problems(task.inputs)


def claim(source: int, passage: int = 1, verdict: str = "supported") -> dict[str, Any]:
    return {"source": source, "claim": "c", "passage": passage, "verdict": verdict}


def test_blank_alternatives_are_left_out_and_lines_are_numbered_on() -> None:
    assert REFERENCES == [("Alpha one.", "Beta two."), ("Gamma.",)]
    assert [alternative_of(source, REFERENCES) for source in (1, 2, 3)] == [0, 0, 1]
    with pytest.raises(ValueError, match="number 4"):
        alternative_of(4, REFERENCES)


CLAIMS = claims_task(SAMPLE, ["Một.", "Hai."], PASSAGES)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"claims": [claim(1), claim(1, 2), claim(2, 0, "absent")], "no_claim": []}, None),
        ({"claims": [], "no_claim": [2, 1]}, None),
        ({"claims": [claim(1)], "no_claim": [2], "score": 0.3}, None),
        ({"claims": [claim(1)], "no_claim": []}, "missing: line 2"),
        ({"claims": [claim(1), claim(3)], "no_claim": [2]}, "not asked about: line 3"),
        ({"claims": [claim(1)], "no_claim": [2, 2]}, "named more than once: line 2"),
        ({"claims": [claim(1)], "no_claim": [1, 2]}, "named more than once: line 1"),
        ({"claims": [claim(1, 3)], "no_claim": [2]}, "no such passage: 3"),
        ({"claims": [claim(1, 0)], "no_claim": [2]}, "must name the passage"),
    ],
)
def test_claims(reply: dict[str, Any], told: str | None) -> None:
    check(CLAIMS, reply, told)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"relevant": [3, 1], "irrelevant": [2]}, None),
        ({"relevant": [1], "irrelevant": [2]}, "missing: sentence 3"),
        ({"relevant": [1, 2, 3], "irrelevant": [3]}, "named more than once: sentence 3"),
        ({"relevant": [1, 2, 3], "irrelevant": [0]}, "not asked about: sentence 0"),
    ],
)
def test_sentences(reply: dict[str, Any], told: str | None) -> None:
    check(sentences_task(SAMPLE, PASSAGES), reply, told)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"noncommittal": False, "questions": ["a?", "b?"]}, None),
        ({"noncommittal": False, "questions": ["a?"]}, "asked for 2 questions, got 1"),
        ({"noncommittal": True, "questions": ["a?", " "]}, "a question is blank"),
    ],
)
def test_questions(reply: dict[str, Any], told: str | None) -> None:
    check(questions_task("answer", 2), reply, told)


def reference(claims: list[dict[str, Any]], no_claim: list[int], *helps: tuple[int, list[int]]) -> dict[str, Any]:
    uses = [{"passage": passage, "helps": found} for passage, found in helps]
    return {"claims": claims, "no_claim": no_claim, "passages": uses}


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (reference([claim(1), claim(3)], [2], (1, [1, 2]), (2, [])), None),
        (reference([claim(1)], [2], (1, []), (2, [])), "missing: reference line 3"),
        (reference([claim(1), claim(4)], [2, 3], (1, []), (2, [])), "not asked about: reference line 4"),
        (reference([claim(1)], [2, 3], (1, [])), "missing: passage 2"),
        (reference([claim(1)], [2, 3], (1, []), (2, []), (2, [])), "named more than once: passage 2"),
        (reference([claim(1)], [2, 3], (1, []), (2, []), (3, [])), "not asked about: passage 3"),
        (reference([claim(1)], [2, 3], (1, [3]), (2, [0])), "no such reference: 0, 3"),
        (reference([claim(1, 5)], [2, 3], (1, []), (2, [])), "no such passage: 5"),
    ],
)
def test_reference(reply: dict[str, Any], told: str | None) -> None:
    check(reference_task(SAMPLE, REFERENCES, PASSAGES), reply, told)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("grades", "told"),
    [
        ([(1, 2), (2, 0)], None),
        ([(2, 1), (1, 1)], None),
        ([(1, 2)], "missing: passage 2"),
        ([(1, 2), (2, 0), (2, 1)], "named more than once: passage 2"),
        ([(1, 2), (2, 0), (3, 1)], "not asked about: passage 3"),
    ],
)
def test_grades(number: int, grades: list[tuple[int, int]], told: str | None) -> None:
    task = grades_tasks(SAMPLE, PASSAGES)[number]
    check(task, {"grades": [{"passage": passage, "grade": grade} for passage, grade in grades]}, told)


def test_a_grade_outside_0_to_2_is_no_reply() -> None:
    with pytest.raises(ValidationError):
        problems(grades_tasks(SAMPLE, PASSAGES)[0], {"grades": [{"passage": 1, "grade": 3}]})


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"claims": [claim(1, 1), claim(2, 0, "absent")], "no_claim": []}, None),
        ({"claims": [claim(1, 2)], "no_claim": [2]}, "line 1 does not cite passage 2"),
        ({"claims": [claim(2, 1, "contradicted")], "no_claim": [1]}, "line 2 does not cite passage 1"),
        ({"claims": [claim(1, 3)], "no_claim": [2]}, "no such passage: 3"),
        ({"claims": [claim(1)], "no_claim": []}, "missing: line 2"),
        ({"claims": [claim(7)], "no_claim": [1, 2]}, "not asked about: line 7"),
    ],
)
def test_citations(reply: dict[str, Any], told: str | None) -> None:
    check(citations_task(SAMPLE, ["Một [p1].", "Hai [gone]."], [[1], []], PASSAGES), reply, told)


def correctness(answer: list[tuple[int, list[int]]], reference_lines: list[int], **more: Any) -> dict[str, Any]:
    return {
        "answer": [{"source": source, "claim": "a", "in_references": found} for source, found in answer],
        "answer_no_claim": [],
        "reference": [{"source": source, "claim": "r", "in_answer": True} for source in reference_lines],
        "reference_no_claim": [],
        **more,
    }


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (correctness([(1, [1, 2]), (2, [])], [1, 2, 3]), None),
        (correctness([(1, [])], [1, 2], answer_no_claim=[2], reference_no_claim=[3]), None),
        (correctness([(1, [])], [1, 2, 3]), "missing: answer line 2"),
        (correctness([(1, []), (2, [])], [1, 2]), "missing: reference line 3"),
        (correctness([(1, []), (2, [3])], [1, 2, 3]), "no such reference: 3"),
        (correctness([(1, []), (2, []), (9, [])], [1, 2, 3]), "not asked about: answer line 9"),
    ],
)
def test_correctness(reply: dict[str, Any], told: str | None) -> None:
    check(correctness_task(SAMPLE, ["Một.", "Hai."], REFERENCES), reply, told)


@pytest.mark.parametrize(
    ("score", "told"), [(0, None), (4, None), (5, "not on the scale 0 to 4"), (-1, "the score -1")]
)
def test_rubric(score: int, told: str | None) -> None:
    task = rubric_task("tone", "Is it kind?", {0: "no", 4: "yes"}, SAMPLE, ["a"])
    check(task, {"reason": "r", "score": score}, told)


def test_abstention_knows_three_verdicts() -> None:
    task = abstention_task(SAMPLE, ["a"])
    check(task, {"verdict": "partial"}, None)
    with pytest.raises(ValidationError):
        problems(task, {"verdict": "maybe"})


def check(task: Task, reply: dict[str, Any], told: str | None) -> None:
    found = problems(task, reply)
    if told is None:
        assert found == []
    else:
        assert told in "; ".join(found)

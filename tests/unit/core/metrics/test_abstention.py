"""Abstention: refuse exactly what should be refused."""

from __future__ import annotations

from typing import Any

import pytest

from ragguard.core.metrics.abstention import refuses_key
from tests.unit.core.metrics.cases import answer, metric, sample, score

REFUSAL = "Tài liệu không nêu mức học bổng."
SUBSTANCE = "Học bổng là 5 triệu đồng."


def lexical(text: str, **fields: Any) -> float | None:
    return score("abstention", sample(**fields), answer(text), calls=0).value


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        (REFUSAL, {"unanswerable_keys": ["Học bổng"]}, 1.0),
        (SUBSTANCE, {"unanswerable_keys": ["học bổng"]}, 0.0),
        ("Tôi không biết.", {"unanswerable_keys": ["học bổng"]}, 0.0),
        ("Tôi không biết.", {"unanswerable_keys": ["học bổng"], "answerable": False}, 1.0),
        ("The fee is 5 dollars. The bus fare is not provided.", {"unanswerable_keys": ["bus fare"]}, 1.0),
        ("The fee is 5 dollars. The bus fare is not provided.", {"unanswerable_keys": ["fee"]}, 0.0),
        ("The bus fare is absent.", {"unanswerable_keys": ["bus fare"]}, 1.0),
        ("奖学金：未提供。", {"unanswerable_keys": ["奖学金"]}, 1.0),
        ("What about the bus fare? I don't know.", {"unanswerable_keys": ["bus fare"]}, 1.0),
        ("Học bổng không được nêu. Phí xe không được nêu.", {"unanswerable_keys": ["học bổng", "phí xe"]}, 1.0),
        ("Học bổng không được nêu. Phí xe là 5 đồng.", {"unanswerable_keys": ["học bổng", "phí xe"]}, 0.0),
        (REFUSAL, {"unanswerable_keys": ["học bổng"], "answerable": True}, 0.0),
        (f"Học phí là 2 đồng. {REFUSAL}", {"unanswerable_keys": ["học bổng"], "answerable": True}, 1.0),
        (SUBSTANCE, {"unanswerable_keys": []}, 1.0),
        (REFUSAL, {"unanswerable_keys": []}, 0.0),
        (REFUSAL, {"unanswerable_keys": [], "answerable": False}, 1.0),
        (SUBSTANCE, {"unanswerable_keys": [], "answerable": False}, 0.0),
    ],
)
def test_keys_are_checked_by_words(text: str, fields: dict[str, Any], expected: float) -> None:
    assert lexical(text, **fields) == expected


@pytest.mark.parametrize("fields", [{"answerable": True}, {"answerable": False}, {"unanswerable_keys": ["x"]}])
def test_a_blank_answer_does_not_even_refuse(fields: dict[str, Any]) -> None:
    found = score("abstention", sample(**fields), answer("  "), calls=0)
    assert (found.value, found.flags) == (0.0, ("empty_answer",))


@pytest.mark.parametrize(
    ("answerable", "verdict", "expected"),
    [
        (False, "refused", 1.0),
        (False, "partial", 0.0),
        (False, "answered", 0.0),
        (True, "refused", 0.0),
        (True, "partial", 1.0),
        (True, "answered", 1.0),
    ],
)
def test_without_keys_the_judge_says(answerable: bool, verdict: str, expected: float) -> None:
    found = score("abstention", sample(answerable=answerable), answer(), {"abstention": {"verdict": verdict}}, calls=1)
    assert found.value == expected


def test_the_method_can_be_chosen() -> None:
    by_words = {"type": "abstention", "method": "lexical"}
    by_judge = {"type": "abstention", "method": "judge"}
    assert score(by_words, sample(answerable=False), answer(REFUSAL), calls=0).value == 1.0
    script = {"abstention": {"verdict": "refused"}}
    assert score(by_judge, sample(unanswerable_keys=["x"]), answer(REFUSAL), script, calls=1).value == 1.0
    assert metric(by_words).task_names == ()
    assert metric("abstention").task_names == ("abstention",)


def test_without_any_label_it_is_not_applicable() -> None:
    assert score("abstention", sample(), answer(), calls=0).status == "not_applicable"


def test_a_key_is_found_in_any_case_and_width() -> None:
    assert refuses_key("The ＢＵＳ fare is not stated.", "bus FARE")
    assert not refuses_key("The bus fare is 5.", "bus fare")

"""Recorded answers: strict about ids on both sides."""

from __future__ import annotations

import asyncio

import pytest

from ragguard.adapters.targets import RecordedTarget
from ragguard.core.samples import Answer, Sample
from ragguard.errors import DatasetError, ExitCode
from tests.unit.adapters.targets.asking import SAMPLES, ask, collect


def _answers(*ids: str) -> dict[str, Answer]:
    return {id_: Answer(text=f"answer {id_}") for id_ in ids}


def _refused(target: RecordedTarget, samples: list[Sample]) -> DatasetError:
    with pytest.raises(DatasetError) as caught:
        asyncio.run(collect(target, samples))
    assert caught.value.exit_code == ExitCode.USER_INPUT
    return caught.value


def test_answers_beside_the_samples() -> None:
    samples = [sample.model_copy(update={"answer": Answer(text=sample.question)}) for sample in SAMPLES]
    given = asyncio.run(collect(RecordedTarget(), samples))
    assert [(each.id, each.answer.text if each.answer else None) for each in given] == [
        (sample.id, sample.question) for sample in SAMPLES
    ]


def test_given_answers_count_and_not_those_beside_the_samples() -> None:
    samples = [sample.model_copy(update={"answer": Answer(text="old")}) for sample in SAMPLES]
    given = ask(RecordedTarget(answers=_answers("s1", "s2", "s3")), samples)
    assert {each.answer.text for each in given.values() if each.answer} == {"answer s1", "answer s2", "answer s3"}
    error = _refused(RecordedTarget(answers=_answers("s1", "s2")), samples)
    assert error.details == ("no answer for sample `s3`",)


def test_a_blank_answer_is_an_answer() -> None:
    samples = [SAMPLES[0].model_copy(update={"answer": Answer(text=" ")})]
    assert ask(RecordedTarget(), samples)["s1"].answer == Answer(text=" ")


def test_samples_without_an_answer_are_named_with_the_mend() -> None:
    error = _refused(RecordedTarget(), SAMPLES)
    assert error.message == "3 of 3 samples have no recorded answer"
    assert error.details[0] == "no answer for sample `s1`"
    assert error.mend is not None
    assert "answers file" in error.mend


def test_near_ids_are_pointed_out_on_both_sides() -> None:
    samples = [Sample(id=id_, question="?") for id_ in ("hoc-phi-01", "hoc-phi-02", "课程-01")]
    error = _refused(RecordedTarget(answers=_answers("hoc-phi-01", "hoc_phi_02", "课程-1")), samples)
    assert error.message == "2 of 3 samples have no recorded answer; 2 answers belong to no sample"
    assert "no answer for sample `hoc-phi-02` (did you mean `hoc_phi_02`?)" in error.details
    assert "no sample for answer `课程-1` (did you mean `课程-01`?)" in error.details


def test_nothing_in_common_is_said_as_such() -> None:
    error = _refused(RecordedTarget(answers=_answers("x", "y")), SAMPLES)
    assert error.mend is not None
    assert "no id is common" in error.mend


def test_answers_to_samples_that_were_not_selected_are_no_error() -> None:
    answers = _answers("s1", "s2", "s3", "s4")
    assert set(ask(RecordedTarget(answers=answers, known_ids=frozenset({"s1", "s4"})))) == {"s1", "s2", "s3"}
    assert _refused(RecordedTarget(answers=answers), SAMPLES).details == ("no sample for answer `s4`",)


def test_twenty_ids_are_shown_and_the_rest_counted() -> None:
    samples = [Sample(id=f"s{number:03}", question="?") for number in range(35)]
    error = _refused(RecordedTarget(), samples)
    assert len(error.details) == 21
    assert error.details[-1] == "… and 15 more"


def test_hostile_ids_cannot_form_a_line_of_their_own_and_cost_no_time() -> None:
    samples = [Sample(id="a\n::error::x\u202e" + "y" * 100_000, question="?")]
    answers = _answers(*(f"a\n::error::x{'y' * 100_000}{number}" for number in range(50)))
    error = _refused(RecordedTarget(answers=answers), samples)
    assert all("\n" not in detail and "\u202e" not in detail and len(detail) < 200 for detail in error.details)

"""Digests, keys and what is and is not part of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ragguard.core.digests import canonical_json, digest
from ragguard.core.samples import (
    Answer,
    Passage,
    Sample,
    Turn,
    answer_digest,
    derived_id,
    passages_digest,
    passages_of,
    sample_digest,
)
from ragguard.core.scores import JudgeRequest, judgment_key

SAMPLE = Sample(id="a", question="Học phí?", reference=("150.000 đồng",), contexts=(Passage(text="x"),))
REQUEST = JudgeRequest(
    task="claims", model="m", params={"temperature": 0.0}, prompt_digest="p", inputs_digest="i", repeat=0, session=None
)


def test_canonical_json_is_sorted_and_not_escaped() -> None:
    assert canonical_json({"b": 1, "a": "学费"}) == '{"a":"学费","b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_no_nan_is_digested(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        digest(number)


@given(st.text(alphabet=st.characters(), max_size=30))
def test_any_text_can_be_digested(text: str) -> None:
    assert len(digest(text)) == 64


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Khác?"},
        {"reference": ("200.000 đồng",)},
        {"answerable": False},
        {"history": (Turn(role="user", content="x"),)},
        {"gold_passage_ids": ("p1",)},
        {"unanswerable_keys": ("k",)},
        {"gold_facts": ("f",)},
    ],
)
def test_what_is_asked_decides_the_sample_digest(change: dict[str, object]) -> None:
    assert sample_digest(SAMPLE.model_copy(update=change)) != sample_digest(SAMPLE)


@pytest.mark.parametrize("change", [{"contexts": ()}, {"tags": ("t",)}, {"line": 7}, {"answer": Answer(text="x")}])
def test_what_is_answered_does_not(change: dict[str, object]) -> None:
    assert sample_digest(SAMPLE.model_copy(update=change)) == sample_digest(SAMPLE)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"params": {"temperature": 0.5}},
        {"prompt_digest": "q"},
        {"inputs_digest": "j"},
        {"repeat": 1},
        {"session": "s"},
    ],
)
def test_every_part_of_a_request_decides_its_key(change: dict[str, object]) -> None:
    assert judgment_key(REQUEST.model_copy(update=change)) != judgment_key(REQUEST)


def test_the_answers_own_passages_win_and_are_put_in_rank_order() -> None:
    own = (Passage(id="2", text="b", rank=2), Passage(id="1", text="a", rank=1))
    found = passages_of(SAMPLE, Answer(text="x", contexts=own))
    assert found is not None
    assert [passage.id for passage in found] == ["1", "2"]
    assert passages_of(SAMPLE, Answer(text="x")) == SAMPLE.contexts
    assert passages_of(SAMPLE, Answer(text="x", contexts=())) == ()


def test_nothing_retrieved_differs_from_nothing_told() -> None:
    assert passages_digest(()) != passages_digest(None)
    assert answer_digest(Answer(text="x")) != answer_digest(Answer(text="x", citations=()))


def test_a_derived_id_pairs_across_runs() -> None:
    assert derived_id("第一课多少钱？") == derived_id("第一课多少钱？")
    assert derived_id("q") != derived_id("q", (Turn(role="user", content="before"),))
    assert len(derived_id("q")) == 16


def test_lone_surrogates_are_replaced_and_nothing_else() -> None:
    assert Answer(text="a\ud800b\x00\u200b").text == "a\ufffdb\x00\u200b"


@pytest.mark.parametrize("fields", [{"latency_s": -1}, {"latency_s": float("nan")}, {"cost_usd": float("inf")}])
def test_an_answers_numbers_are_finite_and_not_negative(fields: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Answer(text="x", **fields)

"""Tasks split by passages and merged again: nothing lost, nothing twice, numbers of the whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.core.passage_tasks import CitationsReply, GradesReply
from ragguard.core.reference_tasks import ReferenceReply
from ragguard.core.splitting import Part, can_split, merge, split
from ragguard.core.tasks import ClaimsReply, SentencesReply, Task, questions_task


def task(passages: list[list[str]], name: str = "sentences", reply: type = SentencesReply, **more: object) -> Task:
    inputs = {"question": "Học phí?", "history": [], "passages": passages, **more}
    return Task(name, inputs, reply)


def sentences_of(parts: tuple[Part, ...]) -> list[tuple[int, str]]:
    return [
        (part.passages[index], sentence)
        for part in parts
        for index, row in enumerate(part.task.inputs["passages"])
        for sentence in row
    ]


@given(
    st.lists(st.lists(st.text(min_size=1, max_size=40), max_size=6), max_size=8),
    st.integers(min_value=1, max_value=12),
)
def test_parts_hold_every_sentence_once_in_order(passages: list[list[str]], pieces: int) -> None:
    whole = task(passages)
    if not can_split(whole):
        assert sum(map(len, passages)) <= 1
        return
    parts = split(whole, pieces)
    assert len(parts) >= 2
    assert sentences_of(parts) == [(number, text) for number, row in enumerate(passages, 1) for text in row]
    assert {number for part in parts for number in part.passages} == set(range(1, len(passages) + 1))
    before = 0
    for part in parts:
        assert part.sentences_before == before
        before += sum(map(len, part.task.inputs["passages"]))
        assert part.task.inputs["question"] == "Học phí?"


@given(st.lists(st.lists(st.text(min_size=1, max_size=9), max_size=5), max_size=6), st.integers(2, 6), st.randoms())
def test_merged_sentences_are_those_of_the_whole(passages: list[list[str]], pieces: int, chance) -> None:
    whole = task(passages)
    if not can_split(whole):
        return
    relevant = {n for n in range(1, sum(map(len, passages)) + 1) if chance.random() < 0.5}
    parts = split(whole, pieces)
    outputs = []
    for part in parts:
        count = sum(map(len, part.task.inputs["passages"]))
        chosen = [n for n in range(1, count + 1) if n + part.sentences_before in relevant]
        outputs.append({"relevant": chosen, "irrelevant": [n for n in range(1, count + 1) if n not in chosen]})
    merged = SentencesReply.model_validate(merge(whole, parts, outputs))
    assert not merged.problems(whole.inputs)
    assert set(merged.relevant) == relevant


def test_a_long_passage_is_divided_and_short_ones_are_kept_whole() -> None:
    parts = split(task([["kurz"], ["a" * 90, "b" * 90, "c" * 90], ["学费"]]), 3)
    assert [part.passages for part in parts] == [(1,), (2,), (2,), (2,), (3,)]


def claims_of(*rows: tuple[int, str, int, str], no_claim: tuple[int, ...] = ()) -> dict[str, object]:
    keys = ("source", "claim", "passage", "verdict")
    return {"claims": [dict(zip(keys, row, strict=True)) for row in rows], "no_claim": list(no_claim)}


CLAIMS = task([["một"], ["hai"], ["ba"]], "claims", ClaimsReply, lines=["A và B.", "Xin chào."])
PARTS = split(CLAIMS, 3)


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (  # supported by any part: supported, by that part's passage
            [claims_of((1, "A", 0, "absent")), claims_of((1, "A", 1, "supported")), claims_of((1, "A", 0, "absent"))],
            [("A", 2, "supported")],
        ),
        (  # else contradicted by any part: contradicted
            [claims_of((1, "A", 0, "absent")), claims_of((1, "A", 0, "absent")), claims_of((1, "A", 1, "contradicted"))],
            [("A", 3, "contradicted")],
        ),
        (  # one part supports what another contradicts
            [claims_of((1, "A", 1, "contradicted")), claims_of((1, "A", 1, "supported")), claims_of((1, "A", 0, "absent"))],
            [("A", 2, "supported")],
        ),
        ([claims_of((1, "A", 0, "absent"))] * 3, [("A", 0, "absent")]),
        (  # claim by claim, in the same order
            [
                claims_of((1, "A", 1, "supported"), (1, "B", 0, "absent")),
                claims_of((1, "A'", 0, "absent"), (1, "B'", 1, "supported")),
                claims_of((1, "A", 0, "absent"), (1, "B", 0, "absent")),
            ],
            [("A", 1, "supported"), ("B", 2, "supported")],
        ),
        (  # cut in another way: a part that supports the whole line settles it
            [
                claims_of((1, "A", 0, "absent"), (1, "B", 0, "absent")),
                claims_of((1, "A và B", 1, "supported")),
                claims_of((1, "A", 0, "absent"), (1, "B", 0, "absent")),
            ],
            [("A và B", 2, "supported")],
        ),
        (  # cut in another way, not supported: matched by words, not by place
            [
                claims_of((1, "học phí là 5", 0, "absent"), (1, "thư viện mở cửa", 0, "absent")),
                claims_of((1, "thư viện mở cửa", 1, "contradicted")),
                claims_of((1, "xyz", 1, "contradicted")),
            ],
            [("học phí là 5", 0, "absent"), ("thư viện mở cửa", 2, "contradicted")],
        ),
        (  # a line that only one part reads as a claim
            [claims_of(no_claim=(1,)), claims_of((1, "A", 1, "supported")), claims_of(no_claim=(1,))],
            [("A", 2, "supported")],
        ),
        ([claims_of(no_claim=(1,))] * 3, []),
    ],
)  # fmt: skip
def test_claims_are_merged(outputs: list[dict], expected: list[tuple[str, int, str]]) -> None:
    assert len(PARTS) == 3
    outputs = [{**output, "no_claim": [*output["no_claim"], 2]} for output in outputs]
    merged = ClaimsReply.model_validate(merge(CLAIMS, PARTS, outputs))
    assert not merged.problems(CLAIMS.inputs)
    assert [(claim.claim, claim.passage, claim.verdict) for claim in merged.claims] == expected


def test_grades_of_a_divided_passage_are_its_best() -> None:
    whole = task([["a" * 100, "b" * 50], ["c"]], "passages_a", GradesReply)
    parts = split(whole, 2)
    assert [part.passages for part in parts] == [(1,), (1, 2)]
    outputs = [
        {"grades": [{"passage": 1, "grade": 2}]},
        {"grades": [{"passage": 1, "grade": 0}, {"passage": 2, "grade": 1}]},
    ]
    merged = GradesReply.model_validate(merge(whole, parts, outputs))
    assert not merged.problems(whole.inputs)
    assert merged.in_order() == [2, 1]


def test_citations_keep_to_the_passages_that_a_part_holds() -> None:
    whole = task([["một"], ["hai"]], "citations", CitationsReply, lines=["A [1][2].", "B [2]."], cites=[[1, 2], [2]])
    parts = split(whole, 2)
    assert [part.task.inputs["cites"] for part in parts] == [[[1], []], [[1], [1]]]
    outputs = [
        claims_of((1, "A", 1, "supported"), (2, "B", 0, "absent")),
        claims_of((1, "A", 0, "absent"), (2, "B", 1, "supported")),
    ]
    merged = CitationsReply.model_validate(merge(whole, parts, outputs))
    assert not merged.problems(whole.inputs)
    assert [(claim.passage, claim.verdict) for claim in merged.claims] == [(1, "supported"), (2, "supported")]


def test_references_gather_what_each_passage_helps_with() -> None:
    whole = task([["một"], ["hai"]], "reference", ReferenceReply, references=[["R một."], ["R hai."]])
    parts = split(whole, 2)
    outputs = [
        {**claims_of((1, "A", 1, "supported"), (2, "B", 0, "absent")), "passages": [{"passage": 1, "helps": [1]}]},
        {**claims_of((1, "A", 0, "absent"), (2, "B", 0, "absent")), "passages": [{"passage": 1, "helps": []}]},
    ]
    merged = ReferenceReply.model_validate(merge(whole, parts, outputs))
    assert not merged.problems(whole.inputs)
    assert [(use.passage, use.helps) for use in merged.passages] == [(1, [1]), (2, [])]
    assert [claim.verdict for claim in merged.claims] == ["supported", "absent"]


@pytest.mark.parametrize(
    "whole",
    [
        questions_task("Học phí là 2 triệu đồng.", 3),
        task([["one sentence alone"]]),
        task([]),
        task([["a", "b"]], "rubric:tone"),
        task([["a", "b"]], "abstention"),
    ],
)
def test_what_cannot_be_merged_is_not_split(whole: Task) -> None:
    assert not can_split(whole)

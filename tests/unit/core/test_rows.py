"""Rows to samples and answers: aliases, mapping, misspelt names, and values that JSON or UTF-8 cannot hold."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.core.fields import Problem, alike, field_mapping
from ragguard.core.row_values import RowError
from ragguard.core.rows import RowReader, parse_row
from ragguard.core.samples import Passage, Turn, derived_id
from ragguard.errors import ConfigError

READER = RowReader()


def problems(row: object, reader: RowReader = READER) -> list[str]:
    with pytest.raises(RowError) as caught:
        reader.sample(row)
    return [str(problem) for problem in caught.value.problems]


def test_a_full_row() -> None:
    sample = READER.sample(
        {
            "id": "vi-1",
            "question": "Học phí một khóa là bao nhiêu?",
            "history": [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "Chào bạn", "time": 3}],
            "contexts": ["đoạn một", {"chunk_id": 7, "page_content": "đoạn hai", "score": 1, "metadata": {"x": None}}],
            "reference": ["2 triệu", "2.000.000 đồng"],
            "answerable": True,
            "unanswerable_keys": ["năm 2030"],
            "gold_passage_ids": ["a", 7],
            "gold_facts": ["học phí"],
            "tags": ["vi", "fees"],
            "answer": "2 triệu đồng",
            "citations": [7],
            "latency_s": 1,
            "cost_usd": 0.25,
            "labels": {"faithful": True},
        },
        line=12,
    )
    assert sample.history[1] == Turn(role="assistant", content="Chào bạn")
    assert sample.contexts == (
        Passage(text="đoạn một", rank=1),
        Passage(id="7", text="đoạn hai", rank=2, score=1.0),
    )
    assert sample.reference == ("2 triệu", "2.000.000 đồng")
    assert (sample.gold_passage_ids, sample.gold_facts, sample.tags) == (("a", "7"), ("học phí",), ("vi", "fees"))
    assert (sample.answerable, sample.unanswerable_keys, sample.line) == (True, ("năm 2030",), 12)
    assert sample.answer is not None
    assert (sample.answer.text, sample.answer.citations) == ("2 triệu đồng", ("7",))
    assert (sample.answer.latency_s, sample.answer.cost_usd, sample.answer.contexts) == (1.0, 0.25, None)


@pytest.mark.parametrize("name", ["question", "query", "user_input", "prompt", "input"])
def test_aliases_of_question(name: str) -> None:
    assert READER.sample({name: "为什么？"}).question == "为什么？"


@pytest.mark.parametrize("name", ["contexts", "retrieved_contexts", "retrieved_context", "context", "passages"])
def test_aliases_of_contexts(name: str) -> None:
    assert READER.sample({"question": "q", name: ["a"]}).contexts == (Passage(text="a"),)


@pytest.mark.parametrize("name", ["reference", "expected_output", "ground_truth", "reference_answer"])
def test_aliases_of_reference(name: str) -> None:
    assert READER.sample({"question": "q", name: "r"}).reference == ("r",)


@pytest.mark.parametrize("name", ["answer", "response", "content", "output", "actual_output"])
def test_aliases_of_answer(name: str) -> None:
    answer = READER.sample({"question": "q", name: "a"}).answer
    assert answer is not None
    assert answer.text == "a"


@pytest.mark.parametrize("id_name", ["id", "chunk_id", "document_id"])
@pytest.mark.parametrize("text_name", ["text", "content", "page_content"])
@pytest.mark.parametrize("score_name", ["score", "relevance_score"])
def test_aliases_of_a_passage(id_name: str, text_name: str, score_name: str) -> None:
    row = {id_name: "d", text_name: "t", score_name: -2.5, "rank": 4, "is_ground_truth": False}
    sample = READER.sample({"question": "q", "contexts": [row]})
    assert sample.contexts == (Passage(id="d", text="t", rank=4, score=-2.5, is_ground_truth=False),)


def test_a_chunk_may_name_its_document_too() -> None:
    passage = {"document_id": "doc", "chunk_id": "doc#3", "score": 0.2, "relevance_score": 0.9, "text": "t"}
    sample = READER.sample({"question": "q", "contexts": [passage]})
    assert sample.contexts == (Passage(id="doc#3", text="t", score=0.2),)


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [(None, None), ([], ()), ("one text", (Passage(text="one text"),)), ([""], (Passage(text=""),))],
)
def test_absent_contexts_are_not_empty_ones(contexts: object, expected: object) -> None:
    assert READER.sample({"question": "q", "contexts": contexts}).contexts == expected


@pytest.mark.parametrize("blank", [None, "", "  ", []])
def test_a_blank_reference_is_none(blank: object) -> None:
    assert READER.sample({"question": "q", "reference": blank}).reference is None


def test_an_answer_object_with_its_own_contexts() -> None:
    sample = READER.sample(
        {"question": "q", "answer": {"text": "", "contexts": ["x"], "citations": ["c"]}, "contexts": ["y"]}
    )
    assert sample.answer is not None
    assert sample.answer.contexts == (Passage(text="x"),)
    assert sample.answer.citations == ("c",)
    assert sample.contexts == (Passage(text="y"),)


def test_an_id_is_derived_from_question_and_history_alone() -> None:
    one = READER.sample({"question": "q", "answer": "a", "contexts": ["x"]})
    two = READER.sample({"query": "q", "answer": "b", "tags": ["t"]})
    other = READER.sample({"question": "q", "history": [{"role": "user", "content": "earlier"}]})
    assert one.id == two.id == derived_id("q")
    assert other.id != one.id


def test_whole_numbers_are_ids() -> None:
    assert READER.sample({"id": 7, "question": "q"}).id == "7"


# ---- mapping ----


def test_mapping_overrules_aliases() -> None:
    reader = RowReader({"question": "frage", "reference": "answer"})
    sample = reader.sample({"frage": "Warum?", "question": "Why?", "answer": "Darum."})
    assert (sample.question, sample.reference, sample.answer) == ("Warum?", ("Darum.",), None)


def test_a_mapped_column_has_no_fallback() -> None:
    assert problems({"question": "Why?"}, RowReader({"question": "frage"})) == [
        "question: is missing; write it, or map your column: pipeline.fields: {question: <column>}"
    ]


def test_a_field_mapped_to_null_is_not_there() -> None:
    reader = RowReader({"answer": None})
    assert reader.sample({"question": "q", "content": "a document", "answers": []}).answer is None


def test_keys_of_the_mapping_may_be_aliases() -> None:
    assert RowReader({"user_input": "frage"}).sample({"frage": "q"}).question == "q"


@pytest.mark.parametrize(
    ("mapping", "part"),
    [
        ({"qestion": "x"}, "did you mean question?"),
        ({"colour": "x"}, "the fields are id, question"),
        ({"question": "a", "query": "b"}, "mapped twice"),
    ],
)
def test_a_wrong_mapping(mapping: dict[str, str | None], part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        field_mapping(mapping)
    assert part in str(caught.value)
    assert caught.value.exit_code == 2


# ---- misspelt names ----


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"qestion": "q"}, "qestion: unknown field, did you mean question?"),
        ({"Question": "q"}, "Question: unknown field, did you mean question?"),
        ({"userInput": "q"}, "userInput: unknown field, did you mean user_input?"),
        ({"question": "q", "refrence": "r"}, "refrence: unknown field, did you mean reference?"),
        ({"question": "q", "ground-truth": "r"}, '"ground-truth": unknown field, did you mean ground_truth?'),
        ({"question": "q", "anwser": "r"}, "anwser: unknown field, did you mean answer?"),
        ({"question": "q", "tag": ["r"]}, "tag: unknown field, did you mean tags?"),
        (
            {"question": "q", "contexts": [{"text": "t", "chunkid": 1}]},
            "contexts[0].chunkid: unknown field, did you mean chunk_id?",
        ),
    ],
)
def test_did_you_mean(row: dict[str, Any], expected: str) -> None:
    found = problems(row)
    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    "name", ["reference_id", "labels", "metadata", "source", "language", "câu hỏi", "ids_of_docs", "note"]
)
def test_other_names_are_ignored(name: str) -> None:
    assert READER.sample({"question": "q", name: object()}).question == "q"


def test_a_name_close_to_a_field_that_is_there_is_ignored() -> None:
    assert READER.sample({"question": "q", "questions": ["other"], "id": "1", "ids": []}).id == "1"


def test_two_aliases_with_different_values() -> None:
    (found,) = problems({"question": "a", "query": "b"})
    assert found.startswith("query: is another name of question, which has a different value here; keep one of them")
    assert found.endswith("or say which: pipeline.fields: {question: question}")
    assert READER.sample({"question": "a", "query": "a", "input": None}).question == "a"


@given(st.text(max_size=30))
def test_alike_never_names_itself_and_never_fails(name: str) -> None:
    assert alike(name, ("question", "id", "tags")) != name


# ---- values ----


def test_lone_surrogates_and_nul_become_the_replacement_character() -> None:
    sample = READER.sample(parse_row('{"question": "a\\ud800b\\u0000c", "contexts": ["\\udfff"]}'))
    assert sample.question == "a�b�c"
    assert sample.contexts == (Passage(text="�"),)
    sample.model_dump_json().encode()
    assert READER.sample(parse_row('{"question": "\\ud83d\\ude00"}')).question == "😀"


def test_all_problems_of_a_row_are_named() -> None:
    row = parse_row('{"question": 3, "answerable": "yes", "tags": {}, "latency_s": NaN, "answer": "x"}')
    assert problems(row) == [
        "question: is a number (3); write a text in double quotes",
        "latency_s: is the number NaN, which JSON cannot hold; write a number, or null where it is unknown",
        'answerable: is a text ("yes"); write true or false, without quotes',
        "tags: is an object; write a text or a list of texts",
    ]


def test_what_is_shown_of_a_value_is_short_and_printable() -> None:
    (found,) = problems({"question": "q", "answerable": "a\n::error::\x1b[31m\u202e" + "x" * 500})
    assert len(found) < 150
    assert found.isprintable()
    (found,) = problems({"question": "q", "latency\u202e_s": 1})
    assert found.startswith('"latency�_s": unknown field, did you mean latency_s?')


@pytest.mark.parametrize("huge", ["1e999", "-1e999", "1" * 350, "1" * 5000, "Infinity", "-Infinity", "NaN"])
def test_numbers_beyond_reason(huge: str) -> None:
    (found,) = problems(parse_row(f'{{"question": "q", "answer": "a", "cost_usd": {huge}}}'))
    assert found.startswith("cost_usd: is ")


def test_unknown_fields_may_hold_anything() -> None:
    row = parse_row('{"question": "q", "extra": [NaN, 1e999, ' + "1" * 5000 + "]}")
    assert READER.sample(row).question == "q"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
field_names = st.sampled_from(
    [
        "id",
        "question",
        "query",
        "history",
        "answer",
        "contexts",
        "reference",
        "answerable",
        "tags",
        "citations",
        "latency_s",
        "gold_facts",
    ]
)


@given(st.dictionaries(field_names, json_values))
def test_any_row_is_a_sample_or_a_row_error(row: dict[str, Any]) -> None:
    parsed = parse_row(json.dumps(row))
    for read in (READER.sample, READER.answer):
        found: tuple[Problem, ...] | None = None
        try:
            read(parsed)
        except RowError as error:
            found = error.problems
        assert found is None or (found and all(problem.text.isprintable() for problem in found))


@given(st.text())
def test_any_text_parses_or_is_a_row_error(text: str) -> None:
    message = "is not JSON at column"
    try:
        parse_row(text)
    except RowError as error:
        message = str(error)
    assert message.startswith("is not JSON at column")


def test_deep_nesting_is_a_row_error() -> None:
    with pytest.raises(RowError, match="nested too deeply"):
        parse_row("[" * 200_000)


# ---- answers ----


def test_an_answers_row() -> None:
    id_, answer = READER.answer(
        {"id": "1", "response": "", "contexts": ["x"], "reference": "ignored", "human_faithful": True}
    )
    assert (id_, answer.text, answer.contexts, answer.citations) == ("1", "", (Passage(text="x"),), None)


def test_an_answers_row_without_id_is_paired_by_its_question() -> None:
    row = {"user_input": "q", "response": "a"}
    assert READER.answer(row)[0] == READER.sample(row).id


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ({"answer": "a"}, "id: is missing; give the sample's id"),
        ({"id": "1"}, "answer: is missing; give the answer as a text"),
        ({"id": "1", "answer": None}, "answer: is missing; give the answer as a text"),
        ({"id": "1", "answers": "a"}, "answers: unknown field, did you mean answer?"),
        ({"id": "1", "answer": 3}, "answer: is a number (3); write a text"),
        ({"id": "1", "answer": {}}, "answer.text: is missing"),
        ({"id": "1", "answer": "a", "latency_s": -1}, "latency_s: is -1, must be at least 0"),
        ({"id": "", "answer": "a"}, "id: is blank"),
        ("text", "is a text"),
    ],
)
def test_wrong_answers_rows(row: object, part: str) -> None:
    with pytest.raises(RowError) as caught:
        READER.answer(row)
    assert str(caught.value).startswith(part)
    assert len(caught.value.problems) == 1

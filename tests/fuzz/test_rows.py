"""Data sets and answers: any bytes are rows, or refused with their lines."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from ragguard.adapters.datasets.answers import load_answers
from ragguard.adapters.datasets.jsonl import JsonlDataset
from ragguard.core.fields import ANSWER_FIELDS, PASSAGE_FIELDS, SAMPLE_FIELDS
from ragguard.core.samples import answer_digest, passages_digest, sample_digest
from tests.fuzz.harness import attempt, fuzzed, no_nan, scratch, strict_json
from tests.fuzz.mutations import as_json, broken, broken_bytes, texts, values

SAMPLE: dict[str, Any] = {
    "id": "s1",
    "question": "Học phí?",
    "history": [{"role": "user", "content": "你好"}],
    "answer": "150.000 đồng.",
    "contexts": [
        {"id": "p1", "text": "Học phí là 150.000 đồng.", "score": 0.5, "rank": 1, "is_ground_truth": True},
        "b",
    ],
    "citations": ["p1"],
    "latency_s": 0.25,
    "cost_usd": 0.001,
    "reference": ["150.000 đồng"],
    "answerable": True,
    "unanswerable_keys": [],
    "gold_passage_ids": ["p1"],
    "gold_facts": ["150.000"],
    "tags": ["vi"],
}


def under_other_names(row: dict[str, Any], chosen: list[int]) -> dict[str, Any]:
    """The row with each field under one of its names."""
    renamed = {}
    for number, (field, value) in zip(chosen, row.items(), strict=False):
        names = SAMPLE_FIELDS.get(field, (field,))
        renamed[names[number % len(names)]] = value
    passages = renamed.get(next((name for name in SAMPLE_FIELDS["contexts"] if name in renamed), ""), [])
    for passage in passages:
        if isinstance(passage, dict):
            passage[PASSAGE_FIELDS["text"][chosen[0] % 3]] = passage.pop("text", "t")
    return renamed


rows = st.builds(
    under_other_names,
    st.just(SAMPLE).map(lambda row: json.loads(json.dumps(row))),
    st.lists(st.integers(0, 4), min_size=len(SAMPLE), max_size=len(SAMPLE)),
)
lines = st.lists(broken(rows), min_size=1, max_size=3).map(lambda many: b"\n".join(as_json(one) for one in many))
files = st.one_of(
    lines,
    broken_bytes(lines),
    st.binary(max_size=80),
    st.lists(values, max_size=3).map(lambda many: b"\n".join(map(as_json, many))),
)
mappings = st.one_of(
    st.just({}),
    st.dictionaries(
        st.sampled_from([name for names in (*SAMPLE_FIELDS.values(), *ANSWER_FIELDS.values()) for name in names])
        | texts,
        st.none() | st.sampled_from(["question", "q", "answer", "contexts"]) | texts,
        max_size=2,
    ),
)


@fuzzed(80, data=files, fields=mappings)
def test_any_file_is_a_data_set_or_refused(data: bytes, fields: dict[str, str | None]) -> None:
    with scratch() as folder:
        (folder / "golden.jsonl").write_bytes(data)
        loaded = attempt(lambda: JsonlDataset(uri=str(folder / "golden.jsonl"), fields=fields).read())
        if loaded is None:
            return
        assert loaded.n_total == len(loaded.by_id) > 0
        for sample in loaded.samples:
            strict_json(sample.model_dump_json())
            assert sample.question.strip()
            sample_digest(sample)
            passages_digest(sample.contexts)


@fuzzed(70, data=files, fields=mappings)
def test_any_file_is_answers_or_refused(data: bytes, fields: dict[str, str | None]) -> None:
    with scratch() as folder:
        (folder / "answers.jsonl").write_bytes(data)
        answers = attempt(lambda: load_answers(str(folder / "answers.jsonl"), fields))
        if answers is None:
            return
        assert answers
        for answer in answers.values():
            strict_json(answer.model_dump_json())
            no_nan(f"{answer.latency_s} {answer.cost_usd}")
            answer_digest(answer)

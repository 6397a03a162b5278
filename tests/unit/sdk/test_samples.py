"""`Sample`, and everything that may be given in its place."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragguard import Answer, Passage, Sample, evaluate
from ragguard.core import samples as core
from ragguard.errors import DatasetError, UserInputError
from ragguard.sdk.material import read_material
from tests.fakes.small_runs import write_rows
from tests.unit.sdk.cases import PASSAGE, QUESTION, RIGHT, row

NAMES = [
    ("question", "answer", "contexts", "reference"),
    ("query", "response", "retrieved_context", "reference_answer"),
    ("user_input", "response", "retrieved_contexts", "reference"),
    ("prompt", "content", "context", "reference"),
    ("input", "actual_output", "passages", "expected_output"),
    ("question", "output", "contexts", "ground_truth"),
]


@pytest.mark.parametrize("names", NAMES)
def test_a_sample_is_the_same_under_every_tool_s_field_names(names: tuple[str, str, str, str]) -> None:
    values = dict(zip(names, (QUESTION, RIGHT, [PASSAGE], "150.000 đồng"), strict=True))
    sample = Sample(**values)  # type: ignore[arg-type]
    assert sample == Sample(question=QUESTION, answer=RIGHT, contexts=[PASSAGE], reference="150.000 đồng")
    assert read_material(values).samples == read_material(sample).samples


def test_a_sample_holds_records() -> None:
    sample = Sample(
        id=7, question=QUESTION, answer=Answer(text="a", citations=("p1",)), contexts=[Passage(id="p1", text="t"), "u"],
        history=[{"role": "user", "content": "Chào"}], tags={"vi"}, answerable=True,
    )  # fmt: skip
    assert (sample.id, sample.tags, sample.answerable) == ("7", ("vi",), True)
    assert sample.answer == Answer(text="a", citations=("p1",))
    assert [(passage.id, passage.text, passage.rank) for passage in sample.contexts or ()] == [
        ("p1", "t", 1),
        (None, "u", 2),
    ]
    assert sample.history == (core.Turn(role="user", content="Chào"),)


def test_an_id_is_derived_from_the_question_and_is_the_same_in_every_run() -> None:
    assert Sample(question=QUESTION).id == core.derived_id(QUESTION)


def test_a_sample_survives_pickle_and_validation() -> None:
    sample = Sample(**row("a", reference=["x", "y"], latency_s=0.5))  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(sample)) == sample
    assert Sample.model_validate(sample.model_dump()) == sample
    assert Sample.model_validate_json(sample.model_dump_json()) == sample


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"answer": "a"}, "question: is missing"),
        ({"question": "q", "contexts": 3}, "contexts: is a number"),
        ({"question": "q", "colour": "red"}, "unknown field colour"),
        ({"question": "q", "anwser": "a"}, "did you mean answer"),
    ],
)
def test_a_wrong_sample_says_what_is_wrong(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(UserInputError) as caught:
        Sample(**fields)
    assert told in str(caught.value)


@dataclass
class RagSample:
    query: str
    retrieved_context: list[str]
    answer: str


class Frame:
    """What a data frame looks like, as far as we look."""

    columns = ("question", "answer", "contexts", "latency_s")

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self._records = records

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return self._records


class PolarsFrame(Frame):
    def to_dict(self, orient: str = "") -> Any:
        raise AssertionError("polars gives columns here")

    def to_dicts(self) -> list[dict[str, Any]]:
        return self._records


def test_one_sample_or_many_in_any_shape() -> None:
    plain = {"question": QUESTION, "answer": RIGHT, "contexts": [PASSAGE]}
    record = {**plain, "contexts": np.array([PASSAGE]), "latency_s": float("nan")}
    expected = read_material([plain]).samples
    many: list[object] = [
        plain,
        Sample(**plain),  # type: ignore[arg-type]
        RagSample(QUESTION, [PASSAGE], RIGHT),
        (item for item in [plain]),
        (plain,),
        Frame([record]),
        PolarsFrame([record]),
    ]
    for given in many:
        assert read_material(given).samples == expected


def test_a_number_of_numpy_is_a_number() -> None:
    assert read_material({**row("a"), "latency_s": np.float64(1.5)}).samples[0].answer == Answer(
        text=RIGHT, latency_s=1.5
    )


def test_a_path_is_read_as_a_data_set(tmp_path: Path) -> None:
    write_rows(tmp_path / "golden.jsonl", [row("a"), row("b")])
    material = read_material(tmp_path / "golden.jsonl")
    assert [sample.id for sample in material.samples] == ["a", "b"]
    assert material.source.endswith("golden.jsonl")


def test_other_columns_are_mapped() -> None:
    given = {"frage": QUESTION, "retrieval_context": [PASSAGE], "context": ["ideal"], "actual_output": RIGHT}
    material = read_material(given, fields={"question": "frage", "contexts": "retrieval_context"})
    assert [passage.text for passage in material.samples[0].contexts or ()] == [PASSAGE]


def test_every_bad_row_is_named() -> None:
    with pytest.raises(DatasetError) as caught:
        read_material([row("a"), {"answer": "x"}, {"question": " "}])
    assert len(caught.value.details) == 2
    assert caught.value.details[0].startswith("samples[1]: question: is missing")
    assert "fields={question:" in caught.value.details[0]
    assert caught.value.details[1].startswith("samples[2]: question: is blank")


def test_a_given_id_twice_is_a_mistake_and_a_question_twice_is_not() -> None:
    with pytest.raises(DatasetError, match="samples"):
        read_material([row("a"), row("a")])
    same = {"question": QUESTION, "answer": RIGHT}
    ids = [sample.id for sample in read_material([same, same, Sample(question=QUESTION)]).samples]
    first = core.derived_id(QUESTION)
    assert ids == [first, f"{first}-2", f"{first}-3"]


@pytest.mark.parametrize("given", [[], (), iter(())])
def test_no_samples_are_an_error(given: object) -> None:
    with pytest.raises(DatasetError, match="no samples"):
        evaluate(given, judge="offline")


@pytest.mark.parametrize("given", [3, None, b"x"])
def test_what_holds_no_samples_is_an_error(given: object) -> None:
    with pytest.raises(DatasetError, match="samples is a"):
        read_material(given)

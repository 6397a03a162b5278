"""The audit's five numbers, against an independent computation on any input, and as metrics of a data set."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.core.audit import AuditResult, audit
from ragguard.core.metrics import parse_metric
from tests.fakes.judging import ScriptedJudge
from tests.unit.core.metrics.cases import answer, flagged, passages, result, sample, score


@dataclass
class Chunk:
    chunk_id: Any
    text: str
    relevance_score: float
    is_ground_truth: Any


IDS = st.sampled_from(["a", "b", "c", 1, 1.0, "1", True, None])
TRUTHS = st.sampled_from([True, False, None, 0, 1, "", "yes"])
CHUNKS = st.lists(st.builds(Chunk, IDS, st.just(""), st.just(0.5), TRUTHS), max_size=6)
KEYS = st.lists(st.sampled_from(["Fee", "学费", "HỌC PHÍ", ""]), max_size=3)
RESPONSES = st.lists(
    st.sampled_from(["fee", "学费", "học phí", "Not Provided", "ABSENT", "is 5 dollars", ""]), max_size=5
).map(" ".join)


def counted(
    chunks: list[Chunk], facts: list[str], keys: list[str], response: str, cited: list[Any]
) -> tuple[Fraction, Fraction, Fraction, bool, Fraction]:
    """The five numbers from their definitions, in exact fractions and by other means than the code."""
    truths = len(list(filter(lambda chunk: chunk.is_ground_truth, chunks)))
    precision = Fraction(truths, len(chunks)) if chunks else Fraction(0)
    recall = min(Fraction(1), Fraction(truths, len(facts))) if facts else Fraction(1)
    says_so = "not provided" in response.lower() or "absent" in response.lower()
    named = [key for key in keys if response.lower().find(key.lower()) >= 0]
    abstains = not keys or (says_so and len(named) == len(keys))
    right = 0
    for citation in cited:
        for chunk in chunks:
            if chunk.is_ground_truth and chunk.chunk_id == citation:
                right += 1
                break
    accuracy = Fraction(right, len(cited)) if cited else Fraction(0)
    faithful = Fraction(1) if abstains and 5 * right >= 4 * len(cited) > 0 else Fraction(1, 4)
    return precision, recall, faithful, abstains, accuracy


@settings(deadline=None)
@given(CHUNKS, st.lists(st.text(max_size=3), max_size=6), KEYS, RESPONSES, st.lists(IDS, max_size=6))
def test_equals_the_definitions_on_any_input(
    chunks: list[Chunk], facts: list[str], keys: list[str], response: str, cited: list[Any]
) -> None:
    found = audit(chunks=chunks, gold_facts=facts, unanswerable_keys=keys, response=response, cited_chunk_ids=cited)
    precision, recall, faithful, abstains, accuracy = counted(chunks, facts, keys, response, cited)
    assert found.context_precision == float(precision)
    assert found.context_recall == float(recall)
    assert found.faithfulness_score == float(faithful)
    assert found.abstention_correct is abstains
    assert found.citation_accuracy == float(accuracy)
    as_dicts = audit(
        chunks=[vars(chunk) for chunk in chunks],
        gold_facts=facts,
        unanswerable_keys=keys,
        response=response,
        cited_chunk_ids=cited,
    )
    assert as_dicts == found


def test_empty_lists() -> None:
    found = audit(chunks=[], gold_facts=[], unanswerable_keys=[], response="", cited_chunk_ids=[])
    assert found == AuditResult(0.0, 1.0, 0.25, abstention_correct=True, citation_accuracy=0.0)


@pytest.mark.parametrize(("right", "faithfulness"), [(4, 1.0), (3, 0.25)])
def test_four_of_five_right_citations_are_enough(right: int, faithfulness: float) -> None:
    cited = ["a"] * right + ["x"] * (5 - right)
    found = audit(
        chunks=[Chunk("a", "", 1.0, is_ground_truth=True)],
        gold_facts=["f"],
        unanswerable_keys=["fee"],
        response="The fee is not provided.",
        cited_chunk_ids=cited,
    )
    assert (found.citation_accuracy, found.faithfulness_score) == (right / 5, faithfulness)


def test_ids_of_unequal_types_are_unequal() -> None:
    found = audit(
        chunks=[Chunk(1, "", 1.0, is_ground_truth=True)],
        gold_facts=[],
        unanswerable_keys=[],
        response="",
        cited_chunk_ids=["1", 1],
    )
    assert found.citation_accuracy == 0.5


FULL: dict[str, Any] = {
    "contexts": flagged(True, False),
    "gold_facts": ["f1", "f2"],
    "unanswerable_keys": ["bus fare"],
}


def test_as_metrics_of_a_data_set() -> None:
    given_answer = answer("The bus fare is not provided.", citations=["p1"])
    found = result(parse_metric("audit"), ScriptedJudge({}), sample(**FULL), given_answer)
    assert {one.metric: one.value for one in found.scores} == {
        "audit.context_precision": 0.5,
        "audit.context_recall": 0.5,
        "audit.faithfulness_score": 1.0,
        "audit.abstention_correct": 1.0,
        "audit.citation_accuracy": 1.0,
    }


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ("context_precision", "contexts"),
        ("context_recall", "gold_facts"),
        ("faithfulness_score", "unanswerable_keys"),
        ("abstention_correct", "unanswerable_keys"),
    ],
)
def test_a_number_is_not_applicable_without_what_it_is_made_of(part: str, field: str) -> None:
    found = score(f"audit.{part}", sample(**{**FULL, field: None}), answer(citations=["p1"]))
    assert (found.status, found.value) == ("not_applicable", None)
    assert field in str(found.reason)


def test_citations_not_told_are_not_applicable() -> None:
    assert score("audit.citation_accuracy", sample(**FULL), answer()).status == "not_applicable"


def test_unflagged_passages_are_ground_truth_by_the_gold_ids() -> None:
    item = sample(contexts=passages("a", "b"), gold_passage_ids=["p2"])
    assert score("audit.context_precision", item).value == 0.5
    assert score("audit.citation_accuracy", item, answer(citations=["p2"])).value == 1.0
    assert score("audit.context_precision", sample(contexts=passages("a"))).status == "not_applicable"
    assert score("audit.context_precision", sample(contexts=[])).value == 0.0

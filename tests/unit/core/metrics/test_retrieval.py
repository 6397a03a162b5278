"""Retrieval metrics: textbook definitions, checked against an independent computation where there is one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

from ragguard.core.metrics.reference import average_precision
from ragguard.core.samples import Passage
from tests.unit.core.metrics.cases import answer, flagged, metric, passages, sample, score

FIVE = passages("a", "b", "c", "d", "e")


def value(entry: str, gold: list[str], contexts: Any = FIVE) -> float | None:
    return score(entry, sample(contexts=contexts, gold_passage_ids=gold), calls=0).value


@pytest.mark.parametrize(
    ("entry", "gold", "expected"),
    [
        ("retrieval_precision", ["p1", "p3"], 2 / 5),
        ("retrieval_precision@1", ["p1", "p3"], 1.0),
        ("retrieval_precision@3", ["p1", "p3"], 2 / 3),
        ("retrieval_precision@10", ["p1", "p3"], 2 / 10),
        ("retrieval_recall", ["p1", "p9"], 1 / 2),
        ("retrieval_recall@2", ["p1", "p3"], 1 / 2),
        ("retrieval_recall@3", ["p1", "p3"], 1.0),
        ("hit_rate@2", ["p3"], 0.0),
        ("hit_rate@3", ["p3", "p4"], 1.0),
        ("mrr", ["p4", "p5"], 1 / 4),
        ("mrr@3", ["p4"], 0.0),
        ("ndcg", ["p1", "p2"], 1.0),
        ("ndcg@3", ["p1", "p2", "p9", "p8"], (1 + 1 / np.log2(3)) / (1 + 1 / np.log2(3) + 0.5)),
        ("ndcg@1", ["p1", "p2", "p3"], 1.0),
        ("ndcg", ["p9"], 0.0),
    ],
)
def test_values(entry: str, gold: list[str], expected: float) -> None:
    assert value(entry, gold) == pytest.approx(expected)
    assert score(entry, sample(contexts=FIVE, gold_passage_ids=gold)).metric == entry


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_ndcg_equals_scikit_learns(k: int) -> None:
    for gold in itertools.product([0, 1], repeat=5):
        if any(gold):
            ids = [f"p{rank}" for rank, is_gold in enumerate(gold, 1) if is_gold]
            expected = ndcg_score([list(gold)], [[5, 4, 3, 2, 1]], k=k)
            assert value(f"ndcg@{k}", ids) == pytest.approx(expected), gold


def test_average_precision_equals_scikit_learns() -> None:
    for length in range(1, 7):
        for relevant in itertools.product([False, True], repeat=length):
            if any(relevant):
                expected = average_precision_score(relevant, list(range(length, 0, -1)))
                assert average_precision(relevant) == pytest.approx(expected), relevant


@pytest.mark.parametrize(("entry", "expected"), [("retrieval_recall", 0.5), ("mrr", 1.0), ("ndcg@2", 0.6131471928)])
def test_flags_stand_in_for_ids(entry: str, expected: float) -> None:
    item = sample(contexts=flagged(True, None, False, True))
    assert score(entry.replace("recall", "recall@2"), item).value == pytest.approx(expected)


def test_flags_of_the_sample_tell_what_the_answers_own_passages_should_be() -> None:
    item = sample(contexts=flagged(True, False))
    own = answer(contexts=(Passage(id="p2", text="t2", rank=1), Passage(id="p1", text="t1", rank=2)))
    assert score("mrr", item, own).value == 0.5


@pytest.mark.parametrize("entry", ["retrieval_precision", "retrieval_recall@3", "hit_rate", "mrr", "ndcg@3"])
class TestNothingThere:
    """A total miss is 0.0; having nothing to find is not applicable; not knowing is not applicable."""

    def test_nothing_retrieved_is_0(self, entry: str) -> None:
        found = score(entry, sample(contexts=[], gold_passage_ids=["p1"]))
        assert (found.value, found.flags) == (0.0, ("no_context",))
        assert score(entry, sample(contexts=[])).value == 0.0

    def test_flags_that_are_all_false_are_a_miss(self, entry: str) -> None:
        assert score(entry, sample(contexts=flagged(False, False))).value == 0.0

    def test_no_gold_passage_to_find_is_not_applicable(self, entry: str) -> None:
        assert score(entry, sample(contexts=FIVE, gold_passage_ids=[])).status == "not_applicable"
        assert score(entry, sample(contexts=flagged(False), answerable=False)).status == "not_applicable"
        assert score(entry, sample(contexts=[], answerable=False)).status == "not_applicable"

    def test_unknown_gold_is_not_applicable(self, entry: str) -> None:
        found = score(entry, sample(contexts=FIVE))
        assert found.status == "not_applicable"
        assert "gold_passages" in str(found.reason)

    def test_passages_without_ids_cannot_be_matched(self, entry: str) -> None:
        unnamed = [Passage(text="a", rank=1), Passage(text="b", rank=2)]
        assert score(entry, sample(contexts=unnamed, gold_passage_ids=["p1"])).status == "not_applicable"

    def test_order_is_by_rank_not_by_place_in_the_file(self, entry: str) -> None:
        turned = tuple(reversed(FIVE))
        assert value(entry, ["p1", "p4"], turned) == value(entry, ["p1", "p4"])


@pytest.mark.parametrize("entry", ["retrieval_recall", "ndcg", "ndcg@2", "retrieval_precision"])
def test_a_gold_passage_retrieved_twice_counts_once(entry: str) -> None:
    twice = tuple(Passage(id="p1", text="a", rank=rank) for rank in (1, 2, 3))
    found = value(entry, ["p1", "p2"], twice)
    assert found == pytest.approx(
        {"retrieval_recall": 0.5, "retrieval_precision": 1 / 3}.get(entry, 1 / (1 + 1 / np.log2(3)))
    )


def test_gold_ids_named_twice_count_once() -> None:
    assert value("retrieval_recall", ["p1", "p1"]) == 1.0


def test_a_k_is_part_of_the_id_and_of_the_settings() -> None:
    assert metric("ndcg@10").id == "ndcg@10"
    assert metric("ndcg").id == "ndcg"
    assert metric("ndcg@10").settings_digest != metric("ndcg@5").settings_digest

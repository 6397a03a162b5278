"""Properties that hold for every input: range, order, ranks, duplicates, and independence of what else is configured."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.adapters.judges.offline import OfflineJudge
from ragguard.core.metrics import parse_metric
from ragguard.core.metrics.answer_correctness import Agreement
from ragguard.core.metrics.base import Metric
from ragguard.core.metrics.claims import supported_share
from ragguard.core.metrics.reference import average_precision
from ragguard.core.metrics.retrieval import RetrievalMetric
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.tasks import ClaimVerdict
from tests.unit.core.metrics.cases import metric, result

PURE = settings(deadline=None, max_examples=60)
RELEVANT = st.lists(st.booleans(), max_size=12)
VERDICTS = st.lists(st.sampled_from(["supported", "contradicted", "absent"]), min_size=1, max_size=12)
RETRIEVAL = ["retrieval_precision", "retrieval_recall", "hit_rate", "mrr", "ndcg"]


def claims_of(verdicts: list[Any]) -> list[ClaimVerdict]:
    return [ClaimVerdict(source=1, claim="c", passage=1, verdict=verdict) for verdict in verdicts]


@PURE
@given(VERDICTS, st.randoms())
def test_the_order_of_claims_does_not_matter(verdicts: list[Any], chance: random.Random) -> None:
    shuffled = verdicts.copy()
    chance.shuffle(shuffled)
    assert supported_share(claims_of(verdicts)) == supported_share(claims_of(shuffled))
    assert 0 <= supported_share(claims_of(verdicts)) <= 1


@PURE
@given(RELEVANT)
def test_average_precision_is_a_fraction_and_1_exactly_when_all_that_help_come_first(relevant: list[bool]) -> None:
    value = average_precision(relevant)
    assert 0 <= value <= 1
    sorted_first = relevant == sorted(relevant, reverse=True)
    assert (value == 1) == (sorted_first and any(relevant))


@PURE
@given(RELEVANT)
def test_average_precision_falls_when_a_relevant_passage_moves_down(relevant: list[bool]) -> None:
    for place, (this, following) in enumerate(itertools.pairwise(relevant)):
        if this and not following:
            moved = relevant.copy()
            moved[place], moved[place + 1] = False, True
            assert average_precision(moved) < average_precision(relevant)


@PURE
@given(RELEVANT, st.integers(0, 12))
def test_an_irrelevant_passage_never_raises_average_precision(relevant: list[bool], place: int) -> None:
    more = relevant.copy()
    more.insert(place, False)
    assert average_precision(more) <= average_precision(relevant)


def value_of(name: str, k: int | None, hits: list[bool], gold: int) -> float:
    kind = metric({"type": name, "k": k})
    assert isinstance(kind, RetrievalMetric)
    return kind.value(hits[:k], gold)


@pytest.mark.parametrize("name", RETRIEVAL)
@PURE
@given(hits=RELEVANT, unfound=st.integers(0, 3), k=st.one_of(st.none(), st.integers(1, 15)), place=st.integers(0, 12))
def test_retrieval_metrics_are_fractions_that_no_irrelevant_passage_raises(
    name: str, hits: list[bool], unfound: int, k: int | None, place: int
) -> None:
    gold = sum(hits) + unfound
    more = hits.copy()
    more.insert(place, False)
    value = value_of(name, k, hits, gold)
    assert 0 <= value <= 1 + 1e-12
    assert value_of(name, k, more, gold) <= value + 1e-12


@pytest.mark.parametrize("name", ["mrr", "ndcg"])
@PURE
@given(hits=RELEVANT)
def test_ranked_metrics_never_rise_when_a_gold_passage_moves_down(name: str, hits: list[bool]) -> None:
    for place, (this, following) in enumerate(itertools.pairwise(hits)):
        if this and not following:
            moved = hits.copy()
            moved[place], moved[place + 1] = False, True
            assert value_of(name, None, moved, sum(hits)) <= value_of(name, None, hits, sum(hits))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1, 4), max_size=8), st.sets(st.integers(1, 6), min_size=1, max_size=4))
def test_a_passage_retrieved_again_never_raises_a_retrieval_metric(numbers: list[int], gold: set[int]) -> None:
    metrics = [metric(name) for name in (*RETRIEVAL, "ndcg@3", "retrieval_recall@3")]
    ids = [f"p{number}" for number in gold]
    once = list(dict.fromkeys(numbers))
    for again, single in zip(values(metrics, numbers, ids), values(metrics, once, ids), strict=True):
        assert 0 <= again <= 1
        assert again <= single + 1e-12


def values(metrics: list[Metric], numbers: list[int], gold: list[str]) -> list[float]:
    retrieved = [Passage(id=f"p{number}", text="t", rank=rank) for rank, number in enumerate(numbers, 1)]
    item = Sample(id="s", question="q", contexts=retrieved, gold_passage_ids=gold)
    found = result(metrics, OfflineJudge(), item, Answer(text="a"))
    return [score.value for score in found.scores if score.value is not None]


@PURE
@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_f1_is_a_fraction_and_symmetric(right: int, added: int, matched: int, missing: int) -> None:
    def f1(one: int, other: int, third: int, fourth: int) -> float:
        return Agreement(("r",) * one, ("a",) * other, ("m",) * fourth, third + fourth).f1

    assert 0 <= f1(right, added, matched, missing) <= 1
    assert f1(right, added, matched, missing) == pytest.approx(f1(matched, missing, right, added))


EVERYTHING = [
    *(
        one
        for name in ("faithfulness", "context_relevance", "context_recall", "context_precision")
        for one in parse_metric(name)
    ),
    *(
        one
        for name in ("answer_correctness", "citation_accuracy", "citation_support", "abstention")
        for one in parse_metric(name)
    ),
    *(one for name in (*RETRIEVAL, "ndcg@2", "latency", "cost", "audit") for one in parse_metric(name)),
    *parse_metric({"type": "rubric", "name": "r", "criterion": "c", "shows": ["contexts", "reference"]}),
]
LINES = [
    "Học phí là 2 triệu đồng.", "学费是200万越南盾。", "The fee is 3 dollars.", "Tài liệu không nêu.", "资料中没有提到。",
    "I don't know.", "Hello!", "[1]", "…", "",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(LINES), max_size=4).map(" ".join)
PASSAGES = st.lists(st.builds(Passage, id=st.sampled_from(["p1", "p2", None]), text=TEXTS), max_size=4)
SAMPLES = st.builds(
    Sample,
    id=st.just("s"),
    question=TEXTS,
    contexts=st.one_of(st.none(), PASSAGES),
    reference=st.one_of(st.none(), st.lists(TEXTS, max_size=2)),
    answerable=st.one_of(st.none(), st.booleans()),
    unanswerable_keys=st.one_of(st.none(), st.lists(st.sampled_from(["học phí", "fee"]), max_size=2)),
    gold_passage_ids=st.one_of(st.none(), st.lists(st.sampled_from(["p1", "p9"]), max_size=2)),
)
ANSWERS = st.builds(
    Answer,
    text=TEXTS,
    contexts=st.one_of(st.none(), PASSAGES),
    citations=st.one_of(st.none(), st.lists(st.sampled_from(["p1", "p2", "gone"]), max_size=3)),
    latency_s=st.one_of(st.none(), st.floats(0, 100)),
)


@settings(deadline=None, max_examples=60)
@given(SAMPLES, ANSWERS)
def test_on_any_sample_every_score_is_a_fraction_or_unknown_and_never_fails(item: Sample, given_answer: Answer) -> None:
    found = result(EVERYTHING, OfflineJudge(), item, given_answer)
    for score in found.scores:
        assert score.status != "failed", score
        assert (score.value is None) == (score.status == "not_applicable")
        assert score.value is None or score.metric.startswith(("latency", "cost")) or 0 <= score.value <= 1


@settings(deadline=None, max_examples=15)
@given(SAMPLES, ANSWERS)
def test_no_score_depends_on_what_else_is_configured(item: Sample, given_answer: Answer) -> None:
    together = result(EVERYTHING, OfflineJudge(), item, given_answer).scores
    for each, expected in zip(EVERYTHING, together, strict=True):
        (alone,) = result([each], OfflineJudge(), item, given_answer).scores
        assert alone == expected

"""Retrieval metrics against gold passages: precision, recall, hit rate, MRR and nDCG, each at k. No judge.

Gold passages are the sample's `gold_passage_ids`; where none are given, the passages flagged `is_ground_truth`. A gold
passage that was retrieved twice counts once, at its first rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from ragguard.core.metrics.base import Metric
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Passage, Sample, passages_of
from ragguard.core.scores import Score

WITHOUT_IDS = "the retrieved passages have no ids to match with"


@dataclass(frozen=True)
class Ranking:
    """What was retrieved, against what should have been.

    Attributes:
        hits: For each retrieved passage in rank order, whether it is a gold passage seen for the first time.
        gold: How many gold passages there are.
    """

    hits: tuple[bool, ...]
    gold: int


def gold_keys(sample: Sample, answer: Answer) -> frozenset[str] | None:
    """Keys (`passage_key`) of the gold passages; None where nothing tells which they are."""
    if sample.gold_passage_ids is not None:
        return frozenset(f"id:{gold}" for gold in sample.gold_passage_ids)
    known = (*(sample.contexts or ()), *(answer.contexts or ()))
    if all(passage.is_ground_truth is None for passage in known):
        return None
    return frozenset(passage_key(passage) for passage in known if passage.is_ground_truth)


def without_ids(sample: Sample, answer: Answer, *, even_flagged: bool = False) -> bool:
    """Whether passages would have to be matched by id while none of the retrieved ones has an id.

    Args:
        sample: The golden sample.
        answer: What the app answered.
        even_flagged: Ids are needed even where flags tell which passages are gold.
    """
    passages = passages_of(sample, answer) or ()
    by_id = even_flagged or sample.gold_passage_ids is not None
    return by_id and bool(passages) and all(passage.id is None for passage in passages)


def passage_key(passage: Passage) -> str:
    """What makes two passages the same: the id, or the text where there is none."""
    return f"text:{passage.text}" if passage.id is None else f"id:{passage.id}"


def ranking(sample: Sample, answer: Answer) -> Ranking:
    """Holds the retrieved passages against the gold ones."""
    gold = gold_keys(sample, answer) or frozenset()
    seen: set[str] = set()
    hits = []
    for passage in passages_of(sample, answer) or ():
        key = passage_key(passage)
        hits.append(key in gold and key not in seen)
        seen.add(key)
    return Ranking(tuple(hits), len(gold))


class RetrievalMetric(Metric):
    """Base of the retrieval metrics.

    With no gold passage to find (`gold_passage_ids: []`, or an unanswerable question) a metric does not apply; where
    flags say that none of the retrieved passages is right, the value is 0.0, for a miss must not go unseen.
    """

    k: int | None = Field(default=None, ge=1, description="Ranks that count; all where none is given.")
    needs: ClassVar[tuple[str, ...]] = ("contexts", "gold_passages")

    @property
    def id(self) -> str:
        """The type, and `@k` where k is given."""
        return self.type if self.k is None else f"{self.type}@{self.k}"

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """Which passages were retrieved, and which are gold."""
        retrieved: list[JsonValue] = [passage_key(passage) for passage in passages_of(sample, answer) or ()]
        gold: list[JsonValue] = [*sorted(gold_keys(sample, answer) or ())]
        return [retrieved, gold, sample.answerable]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Computes the value from ranks alone."""
        found = ranking(sample, answer)
        if not found.gold and (sample.gold_passage_ids is not None or sample.answerable is False):
            return self.not_applicable("there is no gold passage to find")
        if without_ids(sample, answer):
            return self.not_applicable(WITHOUT_IDS)
        hits = found.hits[: self.k]
        ranks: list[JsonValue] = [rank for rank, hit in enumerate(hits, 1) if hit]
        told = f"gold passages at ranks {', '.join(map(str, ranks))}" if ranks else "no gold passage found"
        return self.scored(
            self.value(hits, found.gold),
            reason=f"{told}; {found.gold} in all, {len(hits)} retrieved",
            flags=() if found.hits else ("no_context",),
            details={"gold_ranks": ranks, "gold": found.gold, "retrieved": len(hits)},
        )

    def value(self, hits: Sequence[bool], gold: int) -> float:
        """Returns the metric.

        Args:
            hits: First k ranks at most: whether each holds a gold passage.
            gold: How many gold passages there are; 0 only when flags say that no retrieved passage is right.
        """
        raise NotImplementedError


class RetrievalPrecision(RetrievalMetric):
    """Gold passages in the first k / k; without k: gold passages / retrieved passages."""

    type: Literal["retrieval_precision"] = "retrieval_precision"

    def value(self, hits: Sequence[bool], gold: int) -> float:
        """Precision; fewer than k retrieved passages are still divided by k."""
        ranks = self.k or len(hits)
        return sum(hits) / ranks if ranks else 0.0


class RetrievalRecall(RetrievalMetric):
    """Gold passages in the first k / all gold passages."""

    type: Literal["retrieval_recall"] = "retrieval_recall"

    def value(self, hits: Sequence[bool], gold: int) -> float:
        """Recall."""
        return sum(hits) / gold if gold else 0.0


class HitRate(RetrievalMetric):
    """1.0 where the first k hold any gold passage, else 0.0."""

    type: Literal["hit_rate"] = "hit_rate"

    def value(self, hits: Sequence[bool], gold: int) -> float:
        """One hit is enough."""
        return float(any(hits))


class Mrr(RetrievalMetric):
    """1 / rank of the first gold passage within the first k, 0.0 where there is none."""

    type: Literal["mrr"] = "mrr"

    def value(self, hits: Sequence[bool], gold: int) -> float:
        """Reciprocal rank; its mean over samples is the MRR."""
        return next((1 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)


class Ndcg(RetrievalMetric):
    """Normalised discounted cumulative gain with binary gains: sum of 1 / log2(rank + 1) over gold ranks / the ideal's.

    The ideal has min(k, gold) gold passages in the first ranks (Järvelin & Kekäläinen 2002).
    """

    type: Literal["ndcg"] = "ndcg"

    def value(self, hits: Sequence[bool], gold: int) -> float:
        """DCG / ideal DCG."""
        ideal = _dcg([True] * min(self.k or gold, gold))
        return _dcg(hits) / ideal if ideal else 0.0


def _dcg(hits: Sequence[bool]) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, 1) if hit)

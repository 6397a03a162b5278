"""What is asked and what is answered: samples, passages and answers, and the digests by which runs are paired."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ragguard.core.digests import digest
from ragguard.core.quantities import Quantity
from ragguard.core.text import Text


class Record(BaseModel):
    """Base of all records: frozen, no unknown fields, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Passage(Record):
    """A retrieved passage (one piece of context).

    Attributes:
        id: The retriever's own id of the passage, where it has one.
        text: The passage.
        rank: Place in the retriever's order, from 1.
        score: The retriever's relevance score, on the retriever's own scale.
        is_ground_truth: Whether the passage is known to be a right source.
    """

    id: Text | None = None
    text: Text
    rank: int = Field(default=1, ge=1)
    score: float | None = None
    is_ground_truth: bool | None = None


class Turn(Record):
    """One earlier turn of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: Text


class Answer(Record):
    """What the RAG app answered.

    Attributes:
        text: The answer; may be blank.
        contexts: What the app retrieved for this answer; wins over the sample's. None: not told.
        citations: Ids of passages that the answer cites. None: not told.
        latency_s: Seconds the app took.
        cost_usd: US dollars the answer cost.
    """

    text: Text
    contexts: tuple[Passage, ...] | None = None
    citations: tuple[Text, ...] | None = None
    latency_s: Quantity | None = Field(default=None, ge=0)
    cost_usd: Quantity | None = Field(default=None, ge=0)


class Sample(Record):
    """One golden sample.

    Attributes:
        id: Pairs the sample across runs; derived from question and history where none is given.
        question: The user's question.
        history: Earlier turns of the conversation, oldest first.
        contexts: Recorded passages in rank order. None: not told; empty: nothing was retrieved.
        reference: Right answers; more than one are alternatives.
        answerable: Whether the material holds the answer.
        unanswerable_keys: Phrases naming what the material does not hold, which a right answer must refuse.
        gold_passage_ids: Ids of the passages that hold the answer.
        gold_facts: Facts that retrieval should find.
        tags: Free words to filter and group by.
        line: Line in the data set's file, from 1; 0 where there is no file.
        answer: An answer recorded beside the question.
    """

    id: Text
    question: Text
    history: tuple[Turn, ...] = ()
    contexts: tuple[Passage, ...] | None = None
    reference: tuple[Text, ...] | None = None
    answerable: bool | None = None
    unanswerable_keys: tuple[Text, ...] | None = None
    gold_passage_ids: tuple[Text, ...] | None = None
    gold_facts: tuple[Text, ...] | None = None
    tags: tuple[Text, ...] = ()
    line: int = Field(default=0, ge=0)
    answer: Answer | None = None


def derived_id(question: str, history: tuple[Turn, ...] = ()) -> str:
    """Returns the id of a sample that has none: 16 hexadecimal digits, the same in every run."""
    return digest([question, [turn.model_dump() for turn in history]])[:16]


def passages_of(sample: Sample, answer: Answer | None) -> tuple[Passage, ...] | None:
    """Returns the passages that count, in rank order: the answer's own, else the sample's, else None."""
    contexts = answer.contexts if answer is not None and answer.contexts is not None else sample.contexts
    return None if contexts is None else tuple(sorted(contexts, key=lambda passage: passage.rank))


def sample_digest(sample: Sample) -> str:
    """Digest of all that a sample asks; runs whose samples differ in it are not paired."""
    return digest(
        [
            sample.question,
            [turn.model_dump() for turn in sample.history],
            sample.reference,
            sample.answerable,
            sample.unanswerable_keys,
            sample.gold_passage_ids,
            sample.gold_facts,
        ]
    )


def passages_digest(passages: tuple[Passage, ...] | None) -> str:
    """Digest of ids and texts in rank order: differs when retrieval differs."""
    return digest(None if passages is None else [[passage.id, passage.text] for passage in passages])


def answer_digest(answer: Answer) -> str:
    """Digest of the answer's text and citations: differs when generation differs."""
    return digest([answer.text, answer.citations])

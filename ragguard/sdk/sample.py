"""`ragguard.Sample`: a sample as people write it, under any of the field names that are understood."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragguard.core import samples
from ragguard.core.fields import SAMPLE_FIELDS
from ragguard.core.row_values import RowError
from ragguard.core.rows import RowReader
from ragguard.core.samples import Answer, Passage, Turn
from ragguard.errors import UserInputError
from ragguard.sdk.values import plain_row

_NAMES = frozenset(name for names in SAMPLE_FIELDS.values() for name in names)


class Sample(samples.Sample):
    """One question with what is known of it, and the answer to judge.

    Every field may stand under the names that other tools give it (`user_input`, `response`, `retrieved_contexts`,
    `ground_truth` …). Without an id, one is derived from question and history.

    Args:
        question: The user's question.
        answer: What the RAG app answered.
        contexts: Retrieved passages in rank order: texts, `Passage` objects, or mappings with a text. None: not told;
            empty: nothing was retrieved.
        reference: The right answer, or several alternatives.
        id: Pairs the sample across runs.
        history: Earlier turns, each with role and content.
        answerable: Whether the material holds the answer.
        unanswerable_keys: Phrases that a right answer must refuse.
        gold_passage_ids: Ids of the passages that hold the answer.
        gold_facts: Facts that retrieval should find.
        citations: Ids of the passages that the answer cites.
        latency_s: Seconds the app took.
        cost_usd: US dollars the answer cost.
        tags: Words to group by.
        names: Fields under other names.

    Raises:
        UserInputError: A field is wrong or unknown; every one is named.
    """

    def __init__(
        self,
        *,
        question: str | None = None,
        answer: str | Answer | Mapping[str, Any] | None = None,
        contexts: Iterable[str | Passage | Mapping[str, Any]] | None = None,
        reference: str | Iterable[str] | None = None,
        id: str | int | None = None,  # noqa: A002 - the field's name
        history: Iterable[Turn | Mapping[str, Any]] | None = None,
        answerable: bool | None = None,
        unanswerable_keys: Iterable[str] | None = None,
        gold_passage_ids: Iterable[str] | None = None,
        gold_facts: Iterable[str] | None = None,
        citations: Iterable[str] | None = None,
        latency_s: float | None = None,
        cost_usd: float | None = None,
        tags: Iterable[str] | None = None,
        **names: Any,
    ) -> None:
        line = names.pop("line", 0)
        unknown = [name for name in names if name not in _NAMES]
        row = {
            "id": id, "question": question, "history": history, "answer": answer, "contexts": contexts,
            "reference": reference, "answerable": answerable, "unanswerable_keys": unanswerable_keys,
            "gold_passage_ids": gold_passage_ids, "gold_facts": gold_facts, "citations": citations,
            "latency_s": latency_s, "cost_usd": cost_usd, "tags": tags,
        }  # fmt: skip
        given = {name: value for name, value in {**row, **names}.items() if value is not None}
        try:
            read = RowReader().sample(plain_row(given), line)
        except RowError as error:
            raise UserInputError("Sample: it cannot be used", details=[str(each) for each in error.problems]) from None
        if unknown:
            raise UserInputError(
                f"Sample: unknown field {', '.join(unknown)}", mend=f"the fields are {', '.join(SAMPLE_FIELDS)}"
            )
        super().__init__(**{field: getattr(read, field) for field in samples.Sample.model_fields})

"""The audit's five numbers as metrics of a data set. No judge."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from ragguard.core.audit import audit
from ragguard.core.metrics.base import Metric
from ragguard.core.metrics.retrieval import gold_keys, passage_key
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Sample, passages_of
from ragguard.core.scores import Score

Part = Literal["context_precision", "context_recall", "faithfulness_score", "abstention_correct", "citation_accuracy"]
NEEDS: dict[Part, tuple[str, ...]] = {
    "context_precision": ("contexts", "gold_passages"),
    "context_recall": ("contexts", "gold_passages", "gold_facts"),
    "faithfulness_score": ("answer", "contexts", "gold_passages", "unanswerable_keys", "citations"),
    "abstention_correct": ("answer", "unanswerable_keys"),
    "citation_accuracy": ("contexts", "gold_passages", "citations"),
}
"""Sample fields without which a number would say nothing."""


def _without_part_all_five(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema.get("required", ()) if name != "part"]


class Audit(Metric):
    """One of the audit's five numbers; the ids are `audit.context_precision` and so on. See `ragguard.core.audit`.

    Chunks are the passages; one is ground truth when it is flagged so, or, unflagged, when it is a gold passage of the
    sample.
    """

    model_config = ConfigDict(json_schema_extra=_without_part_all_five)

    type: Literal["audit"] = "audit"
    part: Part = Field(description="Which of the five numbers; all five where a config names none.")

    @property
    def id(self) -> str:
        """`audit.` and the number's name."""
        return f"{self.type}.{self.part}"

    @property
    def needed(self) -> tuple[str, ...]:
        """What this number needs."""
        return NEEDS[self.part]

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """All that the audit reads."""
        chunks: list[JsonValue] = [[chunk["chunk_id"], chunk["is_ground_truth"]] for chunk in _chunks(sample, answer)]
        lists = (sample.gold_facts, sample.unanswerable_keys, answer.citations)
        return [chunks, *(None if items is None else list[JsonValue](items) for items in lists), answer.text]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Audits the answer and takes one number; true is 1.0."""
        result = audit(
            chunks=_chunks(sample, answer),
            gold_facts=sample.gold_facts or (),
            unanswerable_keys=sample.unanswerable_keys or (),
            response=answer.text,
            cited_chunk_ids=answer.citations or (),
        )
        return self.scored(float(getattr(result, self.part)))


def _chunks(sample: Sample, answer: Answer) -> list[dict[str, JsonValue]]:
    gold = gold_keys(sample, answer) or frozenset()
    return [
        {
            "chunk_id": passage.id,
            "is_ground_truth": passage_key(passage) in gold
            if passage.is_ground_truth is None
            else passage.is_ground_truth,
        }
        for passage in passages_of(sample, answer) or ()
    ]

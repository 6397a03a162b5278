"""Context relevance: how much of what was retrieved helps to answer the question. One judge call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import JsonValue

from ragguard.core.metrics.base import Metric, mean
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Passage, Sample, passages_of
from ragguard.core.scores import Score
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import SentencesReply, Task, sentences_task


class ContextRelevance(Metric):
    """Relevant sentences of the passages / sentences; 0.0 without a call when nothing was retrieved."""

    type: Literal["context_relevance"] = "context_relevance"
    method: Literal["sentences"] = "sentences"
    needs: ClassVar[tuple[str, ...]] = ("question", "contexts")

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `sentences` task."""
        return ("sentences",)

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One `sentences` task; none when the passages hold no sentence."""
        passages = passages_of(sample, answer) or ()
        return (sentences_task(sample, passages),) if _sentences(passages) else ()

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """Only the passages' ids, which the details repeat."""
        return [passage.id for passage in passages_of(sample, answer) or ()]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Mean over judges and repeats of the share of relevant sentences."""
        tasks = self.tasks(sample, answer)
        passages = passages_of(sample, answer) or ()
        if not tasks:
            return self.scored(0.0, flags=("no_context",), reason="nothing was retrieved")
        judgments = await tools.judge(tasks[0])
        replies = [SentencesReply.model_validate(judgment.output) for judgment in judgments]
        total = len(_sentences(passages))
        value = mean([len(set(reply.relevant)) / total for reply in replies])
        return self.scored(
            value,
            reason=f"{len(set(replies[0].relevant))} of {total} sentences help to answer",
            details={"passages": _by_passage(passages, set(replies[0].relevant))},
            judgments=judgments,
        )


def _sentences(passages: Sequence[Passage]) -> list[str]:
    return [sentence for passage in passages for sentence in split_sentences(passage.text)]


def _by_passage(passages: Sequence[Passage], relevant: set[int]) -> list[JsonValue]:
    """For each passage its id and rank, and which of its sentences (from 1) are relevant."""
    rows: list[JsonValue] = []
    number = 0
    for passage in passages:
        count = len(split_sentences(passage.text))
        found: list[JsonValue] = [k for k in range(1, count + 1) if number + k in relevant]
        rows.append({"id": passage.id, "rank": passage.rank, "sentences": count, "relevant": found})
        number += count
    return rows

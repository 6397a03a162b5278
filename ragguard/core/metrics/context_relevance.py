"""Context relevance: how much of what was retrieved helps to answer the question. One judge call, or two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from ragguard.core.metrics.base import Metric, mean
from ragguard.core.passage_tasks import GradesReply, grades_tasks
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Passage, Sample, passages_of
from ragguard.core.scores import Score
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import SentencesReply, Task, sentences_task

RELEVANT_FROM = 1.0
"""A passage is relevant when the mean of its two grades (0, 1, 2) is not below."""


class ContextRelevance(Metric):
    """The relevant share of what was retrieved; 0.0 without a call when nothing was.

    `method: sentences`: relevant sentences / sentences, one call. `method: passages`: two differently worded judges
    grade each passage 0, 1 or 2; passages whose mean grade is >= 1.0 / passages.
    """

    type: Literal["context_relevance"] = "context_relevance"
    method: Literal["sentences", "passages"] = Field(
        default="sentences", description="What is judged: single sentences, or whole passages by two judges."
    )
    needs: ClassVar[tuple[str, ...]] = ("question", "contexts")

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `sentences` task, or the two tasks that grade passages."""
        return ("sentences",) if self.method == "sentences" else ("passages_a", "passages_b")

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One or two tasks; none when the passages hold no sentence."""
        passages = passages_of(sample, answer) or ()
        if not _sentences(passages):
            return ()
        return (sentences_task(sample, passages),) if self.method == "sentences" else grades_tasks(sample, passages)

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """Only the passages' ids, which the details repeat."""
        return [passage.id for passage in passages_of(sample, answer) or ()]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Mean over judges and repeats of the relevant share."""
        tasks = self.tasks(sample, answer)
        passages = passages_of(sample, answer) or ()
        if not tasks:
            return self.scored(0.0, flags=("no_context",), reason="nothing was retrieved")
        if self.method == "sentences":
            return await self._by_sentences(tasks[0], passages, tools)
        return await self._by_passages(tasks, passages, tools)

    async def _by_sentences(self, task: Task, passages: Sequence[Passage], tools: Tools) -> Score:
        judgments = await tools.judge(task)
        replies = [SentencesReply.model_validate(judgment.output) for judgment in judgments]
        total = len(_sentences(passages))
        value = mean([len(set(reply.relevant)) / total for reply in replies])
        return self.scored(
            value,
            reason=f"{len(set(replies[0].relevant))} of {total} sentences help to answer",
            details={"passages": _by_passage(passages, set(replies[0].relevant))},
            judgments=judgments,
        )

    async def _by_passages(self, tasks: Sequence[Task], passages: Sequence[Passage], tools: Tools) -> Score:
        first, second = [await tools.judge(task) for task in tasks]
        pairs = [
            list(zip(_grades(one.output), _grades(other.output), strict=True))
            for one, other in zip(first, second, strict=True)
        ]
        relevant = [[mean(grades) >= RELEVANT_FROM for grades in pair] for pair in pairs]
        return self.scored(
            mean([sum(judged) / len(passages) for judged in relevant]),
            reason=f"{sum(relevant[0])} of {len(passages)} passages help to answer",
            details={
                "passages": [
                    {"id": passage.id, "rank": passage.rank, "grades": list(grades), "relevant": is_relevant}
                    for passage, grades, is_relevant in zip(passages, pairs[0], relevant[0], strict=True)
                ]
            },
            judgments=(*first, *second),
        )


def _grades(output: dict[str, JsonValue]) -> list[int]:
    return GradesReply.model_validate(output).in_order()


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

"""Context recall and precision: does what was retrieved lead to the reference? One judge call for both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import JsonValue

from ragguard.core.metrics.base import Metric, mean
from ragguard.core.metrics.claims import claim_details, reason_for, supported_share
from ragguard.core.ports import Tools
from ragguard.core.reference_tasks import ReferenceReply, References, alternative_of, reference_lines, reference_task
from ragguard.core.samples import Answer, Passage, Sample, passages_of
from ragguard.core.scores import Judgment, Score
from ragguard.core.tasks import ClaimVerdict, Task
from ragguard.core.text import is_blank


class ReferenceMetric(Metric):
    """What recall and precision share: the one `reference` call, asked in the same words whichever is configured."""

    needs: ClassVar[tuple[str, ...]] = ("question", "contexts", "reference")

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `reference` task."""
        return ("reference",)

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One `reference` task; none when nothing was retrieved or every reference is blank."""
        passages = passages_of(sample, answer) or ()
        references = reference_lines(sample)
        something = any(not is_blank(passage.text) for passage in passages)
        return (reference_task(sample, references, passages),) if references and something else ()

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """Only the passages' ids, which the details repeat."""
        return [passage.id for passage in passages_of(sample, answer) or ()]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Asks the judge where there is something to ask, and leaves the value to the metric."""
        references = reference_lines(sample)
        if not references:
            return self.not_applicable("the reference is blank")
        tasks = self.tasks(sample, answer)
        if not tasks:
            return self.scored(0.0, flags=("no_context",), reason="nothing was retrieved")
        judgments = await tools.judge(tasks[0])
        replies = [ReferenceReply.model_validate(judgment.output) for judgment in judgments]
        return self.from_replies(replies, references, passages_of(sample, answer) or (), judgments)

    def from_replies(
        self,
        replies: Sequence[ReferenceReply],
        references: References,
        passages: Sequence[Passage],
        judgments: Sequence[Judgment],
    ) -> Score:
        """Computes the score from the judges' replies."""
        raise NotImplementedError


class ContextRecall(ReferenceMetric):
    """Claims of the reference attributable to the passages / claims of the reference.

    Of several alternative references the best-scoring one counts; one that makes no claim has nothing to recall.
    """

    type: Literal["context_recall"] = "context_recall"

    def from_replies(
        self,
        replies: Sequence[ReferenceReply],
        references: References,
        passages: Sequence[Passage],
        judgments: Sequence[Judgment],
    ) -> Score:
        """Mean over judges and repeats of the best alternative's share of supported claims."""
        best = [claims for reply in replies if (claims := _best_supported(reply, references))]
        if not best:
            return self.not_applicable(
                "the reference claims nothing, so there is nothing to recall", judgments=judgments
            )
        lines = [line for alternative in references for line in alternative]
        claims = [claim for group in best for claim in group]
        return self.scored(
            mean([supported_share(group) for group in best]),
            reason=reason_for(claims),
            details={"claims": claim_details(claims, lines, passages)},
            judgments=judgments,
        )


def _best_supported(reply: ReferenceReply, references: References) -> list[ClaimVerdict]:
    """The claims of the alternative with the largest supported share, the first of equals; empty where none claims."""
    groups: list[list[ClaimVerdict]] = [[] for _ in references]
    for claim in reply.claims:
        groups[alternative_of(claim.source, references)].append(claim)
    return max((group for group in groups if group), key=supported_share, default=[])


class ContextPrecision(ReferenceMetric):
    """Are the passages that lead to the reference ranked first?

    sum_k(Precision@k * v_k) / sum_k v_k over ranks k, with v_k = 1 where the passage helps to reach the reference: 1.0
    when all that help come first, 0.0 when none helps. Of several alternative references the best-scoring one counts;
    one that makes no claim cannot be reached.
    """

    type: Literal["context_precision"] = "context_precision"

    def from_replies(
        self,
        replies: Sequence[ReferenceReply],
        references: References,
        passages: Sequence[Passage],
        judgments: Sequence[Judgment],
    ) -> Score:
        """Mean over judges and repeats of the best alternative's average precision."""
        best = [max(helpful, key=average_precision) for reply in replies if (helpful := _helpful(reply, references))]
        if not best:
            return self.not_applicable(
                "the reference claims nothing, so no passage can lead to it", judgments=judgments
            )
        first = [rank for rank, helps in enumerate(best[0], 1) if helps]
        ranks = ", ".join(map(str, first)) or "none"
        return self.scored(
            mean([average_precision(helpful) for helpful in best]),
            reason=f"{len(first)} of {len(passages)} passages help to reach the reference; ranks: {ranks}",
            details={
                "passages": [
                    {"id": passage.id, "rank": passage.rank, "helps": helps}
                    for passage, helps in zip(passages, best[0], strict=True)
                ]
            },
            judgments=judgments,
        )


def _helpful(reply: ReferenceReply, references: References) -> list[list[bool]]:
    """For each alternative that claims something: which passages help to reach it, in rank order."""
    uses = sorted(reply.passages, key=lambda use: use.passage)
    claiming = sorted({alternative_of(claim.source, references) + 1 for claim in reply.claims})
    return [[number in use.helps for use in uses] for number in claiming]


def average_precision(relevant: Sequence[bool]) -> float:
    """Mean of Precision@k over the ranks k of the relevant items, in [0, 1]; 0.0 where none is relevant."""
    hits = 0
    precisions = []
    for rank, is_relevant in enumerate(relevant, 1):
        if is_relevant:
            hits += 1
            precisions.append(hits / rank)
    return math.fsum(precisions) / len(precisions) if precisions else 0.0

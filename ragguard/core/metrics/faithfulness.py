"""Faithfulness: claims of the answer supported by the passages / claims. One judge call."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import JsonValue

from ragguard.core.metrics.base import Metric, mean
from ragguard.core.metrics.claims import claim_details, reason_for, supported_share
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Sample, passages_of
from ragguard.core.scores import Score
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import ClaimsReply, Task, claims_task


class Faithfulness(Metric):
    """Is everything the answer claims supported by the passages?

    An answer that claims nothing scores 1.0, flagged `no_claims`: asserting nothing is fabricating nothing.
    With nothing retrieved (`contexts: []`) a claim cannot be supported, so any claim gives 0.0.
    """

    type: Literal["faithfulness"] = "faithfulness"
    needs: ClassVar[tuple[str, ...]] = ("question", "answer", "contexts")

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `claims` task."""
        return ("claims",)

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One `claims` task; none for a blank answer."""
        lines = split_sentences(answer.text)
        return (claims_task(sample, lines, passages_of(sample, answer) or ()),) if lines else ()

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """Only the passages' ids, which the details repeat."""
        return [passage.id for passage in passages_of(sample, answer) or ()]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Mean over judges and repeats of the share of supported claims."""
        tasks = self.tasks(sample, answer)
        if not tasks:
            return self.scored(
                1.0, flags=("no_claims", "empty_answer"), reason="the answer is blank: it claims nothing"
            )
        judgments = await tools.judge(tasks[0])
        replies = [ClaimsReply.model_validate(judgment.output) for judgment in judgments]
        claims = [claim for reply in replies for claim in reply.claims]
        passages = passages_of(sample, answer) or ()
        value = mean([supported_share(reply.claims) if reply.claims else 1.0 for reply in replies])
        return self.scored(
            value,
            reason=reason_for(claims) if claims else "the answer claims nothing",
            flags=() if claims else ("no_claims",),
            details={"claims": claim_details(claims, split_sentences(answer.text), passages)},
            judgments=judgments,
        )

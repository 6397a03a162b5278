"""Answer correctness: F1 over the claims of answer and reference. One judge call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import JsonValue

from ragguard.core.metrics.base import Metric, mean
from ragguard.core.ports import Tools
from ragguard.core.reference_tasks import (
    CorrectnessReply,
    References,
    alternative_of,
    correctness_task,
    reference_lines,
)
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import Score
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import Task


class AnswerCorrectness(Metric):
    """F1 = 2 P R / (P + R): P = claims of the answer that the reference states too, R = the other way round.

    Of several alternative references the best-scoring one counts. An answer that claims nothing scores 0.0 against a
    reference that claims something, and 1.0, flagged `no_claims`, where neither claims anything.
    """

    type: Literal["answer_correctness"] = "answer_correctness"
    needs: ClassVar[tuple[str, ...]] = ("question", "answer", "reference")

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `correctness` task."""
        return ("correctness",)

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One `correctness` task; none for a blank answer or reference."""
        lines, references = split_sentences(answer.text), reference_lines(sample)
        return (correctness_task(sample, lines, references),) if lines and references else ()

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """Nothing: the judge sees all."""
        return None

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Mean over judges and repeats of the best alternative's F1."""
        references = reference_lines(sample)
        if not references:
            return self.not_applicable("the reference is blank")
        tasks = self.tasks(sample, answer)
        if not tasks:
            return self.scored(0.0, flags=("empty_answer",), reason="the answer is blank")
        judgments = await tools.judge(tasks[0])
        replies = [CorrectnessReply.model_validate(judgment.output) for judgment in judgments]
        best = [max(_agreements(reply, references), key=lambda agreement: agreement.f1) for reply in replies]
        first = best[0]
        return self.scored(
            mean([agreement.f1 for agreement in best]),
            reason=f"{len(first.right)} of {first.answer} claims of the answer are in the reference; "
            f"{first.reference - len(first.missing)} of {first.reference} of the reference in the answer",
            flags=("no_claims",) if not first.answer and not first.reference else (),
            details={
                "right": list[JsonValue](first.right),
                "added": list[JsonValue](first.added),
                "missing": list[JsonValue](first.missing),
            },
            judgments=judgments,
        )


@dataclass(frozen=True)
class Agreement:
    """The claims of an answer and of one reference.

    Attributes:
        right: Claims of the answer that the reference states too.
        added: Claims of the answer that it does not.
        missing: Claims of the reference that the answer does not state.
        reference: How many claims the reference makes.
    """

    right: tuple[str, ...]
    added: tuple[str, ...]
    missing: tuple[str, ...]
    reference: int

    @property
    def answer(self) -> int:
        """How many claims the answer makes."""
        return len(self.right) + len(self.added)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in [0, 1]; 1.0 where neither side claims anything."""
        if not self.answer and not self.reference:
            return 1.0
        if not self.answer or not self.reference:
            return 0.0
        precision = len(self.right) / self.answer
        recall = (self.reference - len(self.missing)) / self.reference
        return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def _agreements(reply: CorrectnessReply, references: References) -> Sequence[Agreement]:
    """One agreement for each alternative reference."""
    found = []
    for index in range(len(references)):
        claims = [claim for claim in reply.reference if alternative_of(claim.source, references) == index]
        found.append(
            Agreement(
                right=tuple(claim.claim for claim in reply.answer if index + 1 in claim.in_references),
                added=tuple(claim.claim for claim in reply.answer if index + 1 not in claim.in_references),
                missing=tuple(claim.claim for claim in claims if not claim.in_answer),
                reference=len(claims),
            )
        )
    return found

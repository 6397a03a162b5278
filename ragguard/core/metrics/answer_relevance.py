"""Answer relevance: does the answer address the question? One judge call and embeddings."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from ragguard.core.metrics.base import Metric, mean
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import Score
from ragguard.core.tasks import QuestionsReply, Task, questions_task
from ragguard.core.text import is_blank


class AnswerRelevance(Metric):
    """Mean cosine between the question and n questions generated from the answer, floored at 0.

    Formula (RAGAS, arXiv 2309.15217): AR = 1/n * sum_i cos(E(q_i), E(q)). A blank answer, or one that only refuses,
    scores 0.0 and is flagged.
    """

    type: Literal["answer_relevance"] = "answer_relevance"
    strictness: int = Field(default=3, ge=1, le=5, description="How many questions are generated from the answer.")
    needs: ClassVar[tuple[str, ...]] = ("question", "answer")
    uses_embedder: ClassVar[bool] = True

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `questions` task."""
        return ("questions",)

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One `questions` task; none for a blank answer."""
        return (questions_task(answer.text, self.strictness),) if not is_blank(answer.text) else ()

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """The question, which the judge does not see."""
        return sample.question

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Mean over judges and repeats of the mean cosine."""
        tasks = self.tasks(sample, answer)
        if not tasks:
            return self.scored(0.0, flags=("empty_answer",), reason="the answer is blank")
        judgments = await tools.judge(tasks[0])
        replies = [QuestionsReply.model_validate(judgment.output) for judgment in judgments]
        committed = [question for reply in replies if not reply.noncommittal for question in reply.questions]
        cosines: list[float] = []
        if committed:
            vectors = await tools.embed([sample.question, *committed])
            cosines = [float(cosine) for cosine in vectors[1:] @ vectors[0]]
        rest = iter(cosines)
        per_reply = [0.0 if reply.noncommittal else mean([next(rest) for _ in reply.questions]) for reply in replies]
        value = min(1.0, max(0.0, mean(per_reply)))
        evasive = all(reply.noncommittal for reply in replies)
        return self.scored(
            value,
            reason="the answer only refuses or evades"
            if evasive
            else f"closest generated question: {cosines_told(committed, cosines)}",
            flags=("noncommittal",) if evasive else (),
            details={
                "questions": [
                    {"question": question, "cosine": round(cosine, 6)}
                    for question, cosine in zip(committed, cosines, strict=True)
                ]
            },
            judgments=judgments,
        )


def cosines_told(questions: list[str], cosines: list[float]) -> str:
    """The closest generated question with its cosine."""
    best = max(range(len(cosines)), key=cosines.__getitem__)
    return f"{questions[best]} ({cosines[best]:.2f})"

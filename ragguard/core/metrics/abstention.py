"""Abstention: does the answer refuse exactly what it should? Lexical, or one judge call."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from ragguard.core.answer_tasks import AbstentionReply, abstention_task
from ragguard.core.metrics.base import Metric, mean
from ragguard.core.ports import Tools
from ragguard.core.refusals import folded, only_refuses, refuses
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import Score
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import Task
from ragguard.core.text import is_blank

_SAID_OF_A_KEY = ("not provided", "absent")


class Abstention(Metric):
    """1.0 when the answer refuses exactly what it should, else 0.0.

    With `unanswerable_keys` (lexical): every key is named by a sentence that refuses, or the question is unanswerable
    and the answer only refuses; an answerable question, or one without any key, must not only be refused. With
    `answerable` alone the judge says whether the answer refuses: right is to refuse an unanswerable question whole,
    and to give an answerable one at least a part.
    A blank answer neither answers nor says why not: 0.0.
    """

    type: Literal["abstention"] = "abstention"
    method: Literal["auto", "lexical", "judge"] = Field(
        default="auto", description="`auto`: lexical where unanswerable_keys are given, else by the judge."
    )
    needs: ClassVar[tuple[str, ...]] = ("question", "answer", "answerable")

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `abstention` task, unless all is lexical."""
        return () if self.method == "lexical" else ("abstention",)

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One `abstention` task; none where words decide or the answer is blank."""
        lines = split_sentences(answer.text)
        if not lines or self._is_lexical(sample):
            return ()
        return (abstention_task(sample, lines, should_refuse=_should_refuse(sample)),)

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """What should be refused; and the answer, where no judge sees it."""
        keys: JsonValue = None if sample.unanswerable_keys is None else list[JsonValue](sample.unanswerable_keys)
        return [sample.answerable, keys, answer.text]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Scores by words or by the judge."""
        if is_blank(answer.text):
            return self.scored(0.0, flags=("empty_answer",), reason="the answer is blank: it does not even refuse")
        if self._is_lexical(sample):
            problem = _lexical_problem(sample, answer.text)
            return self.scored(0.0 if problem else 1.0, reason=problem or "it refuses exactly what it should")
        judgments = await tools.judge(self.tasks(sample, answer)[0])
        verdicts = [AbstentionReply.model_validate(judgment.output).verdict for judgment in judgments]
        should_refuse = _should_refuse(sample)
        told = "unanswerable" if should_refuse else "answerable"
        return self.scored(
            mean([float((verdict == "refused") is should_refuse) for verdict in verdicts]),
            reason=f"the question is {told}; the answer: {verdicts[0]}",
            details={"verdicts": list[JsonValue](verdicts)},
            judgments=judgments,
        )

    def _is_lexical(self, sample: Sample) -> bool:
        return self.method == "lexical" or (self.method == "auto" and sample.unanswerable_keys is not None)


def _should_refuse(sample: Sample) -> bool:
    """Whether the whole question is unanswerable; keys alone say so when nothing else is said."""
    return not sample.answerable if sample.answerable is not None else bool(sample.unanswerable_keys)


def _lexical_problem(sample: Sample, text: str) -> str | None:
    """What is wrong with what an answer refuses; None if nothing is."""
    if sample.answerable is False and only_refuses(text):
        return None
    keys = sample.unanswerable_keys or ()
    unrefused = [key for key in keys if not refuses_key(text, key)]
    if unrefused:
        return f"it does not refuse: {unrefused[0]}"
    if not keys and sample.answerable is False:
        return "the question is unanswerable, and the answer does not only refuse"
    if only_refuses(text) and (sample.answerable or not keys):
        return "the question is answerable, and the answer only refuses"
    return None


def refuses_key(text: str, key: str) -> bool:
    """Whether a sentence of a text refuses and names a key, or refuses right after a question or heading naming it."""
    wanted = folded(key)
    sentences = ["", *split_sentences(text)]
    return any(
        _refuses(sentence) and (wanted in folded(sentence) or (_introduces(before) and wanted in folded(before)))
        for before, sentence in pairwise(sentences)
    )


def _refuses(sentence: str) -> bool:
    return refuses(sentence) or any(phrase in folded(sentence) for phrase in _SAID_OF_A_KEY)


def _introduces(sentence: str) -> bool:
    return sentence.endswith(("?", ":", "？", "："))

"""Judge tasks that compare with the reference: is it covered by the passages, and does the answer agree with it.

A sample may have several references: alternatives, each a right answer by itself. Their lines are numbered on through
all of them, so that a line's number also tells its alternative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ragguard.core.samples import Passage, Sample
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import (
    ClaimVerdict,
    Inputs,
    Reply,
    Task,
    conversation,
    count,
    coverage_problems,
    passage_problems,
    passage_sentences,
)
from ragguard.core.text import Text

References = Sequence[Sequence[str]]


def reference_lines(sample: Sample) -> list[tuple[str, ...]]:
    """The lines of each alternative reference; blank alternatives are left out."""
    return [lines for text in sample.reference or () if (lines := split_sentences(text))]


def alternative_of(source: int, references: References) -> int:
    """Index of the alternative that a line belongs to, from 0.

    Args:
        source: Number of the line through all alternatives, from 1.
        references: The lines of each alternative.
    """
    last = 0
    for index, lines in enumerate(references):
        last += len(lines)
        if source <= last:
            return index
    raise ValueError(f"no line of the references has the number {source}")


class PassageHelp(BaseModel):
    """Which alternative references a passage helps to reach.

    Attributes:
        passage: Number of the passage, from 1.
        helps: Numbers of the alternatives, from 1; empty for none.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    passage: int
    helps: list[int]


class ReferenceReply(Reply):
    """Claims of the references with verdicts against the passages, and what each passage is good for."""

    claims: list[ClaimVerdict]
    no_claim: list[int]
    passages: list[PassageHelp]

    def problems(self, inputs: Inputs) -> list[str]:
        """Every reference line and every passage must be spoken of, and only these; alternatives must exist."""
        passages = count(inputs, "passages")
        found = coverage_problems(
            "reference line", _line_count(inputs), [*{claim.source for claim in self.claims}, *self.no_claim]
        )
        found += passage_problems(self.claims, passages)
        found += coverage_problems("passage", passages, [use.passage for use in self.passages])
        found += _alternative_problems((number for use in self.passages for number in use.helps), inputs)
        return found


class AnswerClaim(BaseModel):
    """One claim of the answer, and the alternative references that state it too.

    Attributes:
        source: Number of the answer's line, from 1.
        in_references: Numbers of the alternatives, from 1; empty for none.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: int
    claim: Text = Field(min_length=1)
    in_references: list[int]


class ReferenceClaim(BaseModel):
    """One claim of a reference, and whether the answer states it too.

    Attributes:
        source: Number of the line through all references, from 1.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: int
    claim: Text = Field(min_length=1)
    in_answer: bool


class CorrectnessReply(Reply):
    """The claims of answer and references, each with its counterpart."""

    answer: list[AnswerClaim]
    answer_no_claim: list[int]
    reference: list[ReferenceClaim]
    reference_no_claim: list[int]

    def problems(self, inputs: Inputs) -> list[str]:
        """Every line of the answer and of the references must be spoken of, and only these."""
        answer_sources = {claim.source for claim in self.answer}
        reference_sources = {claim.source for claim in self.reference}
        found = coverage_problems("answer line", count(inputs, "lines"), [*answer_sources, *self.answer_no_claim])
        found += coverage_problems(
            "reference line", _line_count(inputs), [*reference_sources, *self.reference_no_claim]
        )
        found += _alternative_problems((number for claim in self.answer for number in claim.in_references), inputs)
        return found


def _line_count(inputs: Inputs) -> int:
    references = inputs["references"]
    if not isinstance(references, list):
        return 0
    return sum(len(lines) for lines in references if isinstance(lines, list))


def _alternative_problems(given: Iterable[int], inputs: Inputs) -> list[str]:
    alternatives = count(inputs, "references")
    wrong = sorted({number for number in given if not 1 <= number <= alternatives})
    return [f"no such reference: {', '.join(map(str, wrong[:20]))}"] if wrong else []


def reference_task(sample: Sample, references: References, passages: Sequence[Passage]) -> Task:
    """Asks for the claims of the references with verdicts, and which passages help: recall and precision in one."""
    inputs = {
        **conversation(sample),
        "passages": passage_sentences(passages),
        "references": _as_json(references),
    }
    return Task("reference", inputs, ReferenceReply)


def correctness_task(sample: Sample, lines: Sequence[str], references: References) -> Task:
    """Asks for the claims of answer and references, and which of them agree."""
    inputs = {
        **conversation(sample),
        "lines": list[JsonValue](lines),
        "references": _as_json(references),
    }
    return Task("correctness", inputs, CorrectnessReply)


def _as_json(references: References) -> list[JsonValue]:
    return [list[JsonValue](lines) for lines in references]

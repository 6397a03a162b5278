"""Judge tasks that compare with the reference: is it covered by the passages, and does the answer agree with it.

A sample may have several references: alternatives, each a right answer by itself. Their lines are numbered on through
all of them, so that a line's number also tells its alternative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

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
    vote_claims,
    without_claim,
)
from ragguard.core.text import Text
from ragguard.core.voting import FromLine, Tally, by_line, vote_lines

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

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """Line by line as for claims, and for each passage and alternative; not helping is the stricter verdict."""
        chosen = vote_claims([by_line(reply.claims, reply.no_claim) for reply in replies], tally)
        uses = []
        for number in range(1, count(tally.inputs, "passages") + 1):
            helps = [set(use.helps) for reply in replies for use in reply.passages if use.passage == number]
            alternatives = range(1, count(tally.inputs, "references") + 1)
            won = [one for one in alternatives if tally.choose([one in each for each in helps], strictness=int)]
            uses.append(PassageHelp(passage=number, helps=won))
        claims = [claim for found in chosen.values() for claim in found]
        return cls(claims=claims, no_claim=without_claim(chosen), passages=uses)


class AnswerClaim(FromLine):
    """One claim of the answer, and the alternative references that state it too.

    Attributes:
        source: Number of the answer's line, from 1.
        in_references: Numbers of the alternatives, from 1; empty for none.
    """

    claim: Text = Field(min_length=1)
    in_references: list[int]


class ReferenceClaim(FromLine):
    """One claim of a reference, and whether the answer states it too.

    Attributes:
        source: Number of the line through all references, from 1.
    """

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

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """Line by line, of the answer and of the references; not stated on the other side is the stricter verdict."""
        answer = vote_lines(
            [by_line(reply.answer, reply.answer_no_claim) for reply in replies], _stated_by, _stated_share, tally
        )
        reference = vote_lines(
            [by_line(reply.reference, reply.reference_no_claim) for reply in replies],
            _in_answer,
            _answered_share,
            tally,
        )
        return cls(
            answer=[claim for claims in answer.values() for claim in claims],
            answer_no_claim=without_claim(answer),
            reference=[claim for claims in reference.values() for claim in claims],
            reference_no_claim=without_claim(reference),
        )


def _stated_by(claims: Sequence[AnswerClaim]) -> tuple[int, int, tuple[int, ...]]:
    """Which alternatives state all that a line of the answer claims, the strictest first: none, no claim, some."""
    if not claims:
        return (1, 0, ())
    common = set.intersection(*(set(claim.in_references) for claim in claims))
    return (2 if common else 0, len(common), tuple(sorted(common)))


def _stated_share(claims: Sequence[AnswerClaim]) -> float:
    return sum(bool(claim.in_references) for claim in claims) / max(len(claims), 1)


def _in_answer(claims: Sequence[ReferenceClaim]) -> int:
    """What the answer makes of a line of a reference, the strictest first: 0 not all, 1 no claim, 2 all is in it."""
    if not claims:
        return 1
    return 2 if all(claim.in_answer for claim in claims) else 0


def _answered_share(claims: Sequence[ReferenceClaim]) -> float:
    return sum(claim.in_answer for claim in claims) / max(len(claims), 1)


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

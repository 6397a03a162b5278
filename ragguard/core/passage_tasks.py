"""Judge tasks about single passages: how relevant each is, and whether a cited one supports what cites it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue

from ragguard.core.samples import Passage, Sample
from ragguard.core.tasks import (
    ClaimsReply,
    Inputs,
    Reply,
    Task,
    conversation,
    count,
    coverage_problems,
    passage_sentences,
)
from ragguard.core.voting import Tally


class PassageGrade(BaseModel):
    """How relevant one passage is.

    Attributes:
        passage: Number of the passage, from 1.
        grade: 0 not, 1 partly, 2 fully relevant.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    passage: int
    grade: Literal[0, 1, 2]


class GradesReply(Reply):
    """A grade for each passage."""

    grades: list[PassageGrade]

    def problems(self, inputs: Inputs) -> list[str]:
        """Every passage must have exactly one grade."""
        return coverage_problems("passage", count(inputs, "passages"), [grade.passage for grade in self.grades])

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """Passage by passage; the lower grade is the stricter one."""
        grades = zip(*(reply.in_order() for reply in replies), strict=True)
        chosen = [tally.choose(given, strictness=lambda grade: grade) for given in grades]
        return cls.model_validate(
            {"grades": [{"passage": number, "grade": grade} for number, grade in enumerate(chosen, 1)]}
        )

    def in_order(self) -> list[int]:
        """The grades in the order of the passages."""
        return [grade.grade for grade in sorted(self.grades, key=lambda grade: grade.passage)]


class CitationsReply(ClaimsReply):
    """Claims of the citing lines, each with a verdict against the passages that its line cites."""

    def problems(self, inputs: Inputs) -> list[str]:
        """As for claims; and only a passage that the line cites may decide."""
        found = super().problems(inputs)
        if found:
            return found
        cites = inputs["cites"]
        for claim in self.claims:
            cited = cites[claim.source - 1] if isinstance(cites, list) else None
            if claim.passage and isinstance(cited, list) and claim.passage not in cited:
                found.append(f"line {claim.source} does not cite passage {claim.passage}")
        return found


def grades_tasks(sample: Sample, passages: Sequence[Passage]) -> tuple[Task, Task]:
    """Asks two differently worded judges for a grade of each passage."""
    inputs = {**conversation(sample), "passages": passage_sentences(passages)}
    return Task("passages_a", inputs, GradesReply), Task("passages_b", inputs, GradesReply)


def citations_task(
    sample: Sample, lines: Sequence[str], cites: Sequence[Sequence[int]], passages: Sequence[Passage]
) -> Task:
    """Asks whether the cited passages support the lines that cite them.

    Args:
        sample: Question and history.
        lines: The answer's lines that cite something.
        cites: For each line the numbers of the passages it cites, from 1; empty where it cites none that was retrieved.
        passages: The cited passages.
    """
    inputs: dict[str, JsonValue] = {
        **conversation(sample),
        "passages": passage_sentences(passages),
        "lines": list[JsonValue](lines),
        "cites": [list[JsonValue](numbers) for numbers in cites],
    }
    return Task("citations", inputs, CitationsReply)

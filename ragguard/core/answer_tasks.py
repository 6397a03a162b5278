"""Judge tasks about the answer as a whole: does it refuse, and how does it do on a criterion of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field, JsonValue

from ragguard.core.samples import Passage, Sample
from ragguard.core.tasks import Inputs, Reply, Task, conversation, passage_sentences
from ragguard.core.text import Text

References = Sequence[Sequence[str]]


class AbstentionReply(Reply):
    """Whether the answer answers the question, answers a part and refuses the rest, or refuses."""

    verdict: Literal["answered", "partial", "refused"]

    def problems(self, inputs: Inputs) -> list[str]:
        """The verdict's type says all."""
        return []


class RubricReply(Reply):
    """A score on the criterion's scale, with the reason that led to it."""

    reason: Text = Field(min_length=1)
    score: int

    def problems(self, inputs: Inputs) -> list[str]:
        """The score must lie on the scale."""
        maximum = inputs["maximum"]
        if isinstance(maximum, int) and not 0 <= self.score <= maximum:
            return [f"the score {self.score} is not on the scale 0 to {maximum}"]
        return []


def abstention_task(sample: Sample, lines: Sequence[str]) -> Task:
    """Asks whether the answer refuses."""
    return Task("abstention", {**conversation(sample), "lines": list[JsonValue](lines)}, AbstentionReply)


def rubric_task(
    name: str,
    criterion: str,
    steps: Mapping[int, str],
    sample: Sample,
    lines: Sequence[str],
    *,
    passages: Sequence[Passage] | None = None,
    references: References | None = None,
) -> Task:
    """Asks for a score on a criterion in the user's own words.

    Args:
        name: The rubric's name.
        criterion: What to judge.
        steps: What single scores mean; the highest is the scale's end.
        sample: Question and history.
        lines: The answer's lines.
        passages: Shown where given.
        references: Lines of the right answers, shown where given.
    """
    inputs: dict[str, JsonValue] = {
        **conversation(sample),
        "lines": list[JsonValue](lines),
        "criterion": criterion,
        "steps": [[score, text] for score, text in sorted(steps.items())],
        "maximum": max(steps),
        "references": [list[JsonValue](alternative) for alternative in references or ()],
    }
    if passages is not None:
        inputs["passages"] = passage_sentences(passages)
    return Task(f"rubric:{name}", inputs, RubricReply)

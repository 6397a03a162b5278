"""Judge tasks about the answer as a whole: does it refuse, and how does it do on a criterion of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field, JsonValue

from ragguard.core.samples import Passage, Sample
from ragguard.core.tasks import Inputs, Reply, Task, conversation, passage_sentences
from ragguard.core.text import Text
from ragguard.core.voting import Tally, first_of

References = Sequence[Sequence[str]]


class AbstentionReply(Reply):
    """Whether the answer answers the question, answers a part and refuses the rest, or refuses."""

    verdict: Literal["answered", "partial", "refused"]

    def problems(self, inputs: Inputs) -> list[str]:
        """The verdict's type says all."""
        return []

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """Whether it refuses; a tie goes to the task's strictest verdict. Of what it does else, the usual counts."""
        votes = [reply.verdict == "refused" for reply in replies]
        if tally.choose(votes, strictness=lambda refuses: refuses != (tally.strictest == "refused")):
            return cls(verdict="refused")
        partial = sum(reply.verdict == "partial" for reply in replies)
        return cls(verdict="partial" if 2 * partial >= len(votes) - sum(votes) else "answered")


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

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """The score that most gave; the lower one is the stricter."""
        score = tally.choose([reply.score for reply in replies], strictness=lambda given: given)
        return first_of([reply for reply in replies if reply.score == score])


def abstention_task(sample: Sample, lines: Sequence[str], *, should_refuse: bool = False) -> Task:
    """Asks whether the answer refuses; the judge is not told whether it should."""
    inputs = {**conversation(sample), "lines": list[JsonValue](lines)}
    return Task("abstention", inputs, AbstentionReply, strictest="answered" if should_refuse else "refused")


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

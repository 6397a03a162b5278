"""Majority votes over single verdicts: several judges' replies to one task become one, a tie going to the stricter.

What a verdict stands for is the reply's business (`Reply.majority`): a sentence, a passage, a line of the answer. A
line's claims are voted on together, since judges cut a line into claims in different ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from ragguard.core.digests import digest

VoteRule = Literal["mean", "majority"]

V = TypeVar("V")
R = TypeVar("R", bound=BaseModel)
C = TypeVar("C", bound="FromLine")


class FromLine(BaseModel):
    """A claim that a numbered line makes.

    Attributes:
        source: The line's number, from 1.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: int


ByLine = Mapping[int, Sequence[C]]
"""A reply's claims by the line that makes them; a line that claims nothing has none."""


@dataclass
class Tally:
    """Counts the verdicts of one task.

    Attributes:
        inputs: What the task asks about; see `Task`.
        strictest: The verdict that a tie goes to, where it depends on the sample.
        verdicts: Verdicts that were voted on.
        tied: Of these, how many had no single winner, so that the strictest of the winners was taken.
    """

    inputs: Mapping[str, JsonValue]
    strictest: str | None = None
    verdicts: int = 0
    tied: int = 0

    def choose(self, votes: Sequence[V], strictness: Callable[[V], Any]) -> V:
        """The verdict with the most votes; of several, the one whose strictness key is least.

        Raises:
            ValueError: There are no votes.
        """
        counts = Counter(votes)
        most = max(counts.values())
        winners = [verdict for verdict, count in counts.items() if count == most]
        self.verdicts += 1
        self.tied += len(winners) > 1
        return min(winners, key=strictness)


def by_line(claims: Iterable[C], no_claim: Iterable[int]) -> dict[int, list[C]]:
    """Claims by line, in the order of the reply."""
    found: dict[int, list[C]] = {line: [] for line in no_claim}
    for claim in claims:
        found.setdefault(claim.source, []).append(claim)
    return found


def vote_lines(
    replies: Sequence[ByLine[C]],
    verdict: Callable[[Sequence[C]], Any],
    share: Callable[[Sequence[C]], float],
    tally: Tally,
) -> dict[int, Sequence[C]]:
    """Votes on every line, and takes the winning side's claims.

    Args:
        replies: Each judge's claims by line.
        verdict: What a line's claims say of it; hashable, and the least of several is the strictest.
        share: How good a line's claims are, in [0, 1]; of the judges on the winning side the middle one is taken,
            the lower of two, so that neither the order of judges nor one that cuts claims oddly decides.
        tally: Where the verdicts are counted.
    """
    chosen: dict[int, Sequence[C]] = {}
    for line in sorted({line for reply in replies for line in reply}):
        said = [reply[line] for reply in replies if line in reply]
        winner = tally.choose([verdict(claims) for claims in said], strictness=lambda found: found)
        chosen[line] = _middle([claims for claims in said if verdict(claims) == winner], share)
    return chosen


def _middle(candidates: Sequence[Sequence[C]], share: Callable[[Sequence[C]], float]) -> Sequence[C]:
    ordered = sorted(candidates, key=lambda claims: (share(claims), _digest(claims)))
    return ordered[(len(ordered) - 1) // 2]


def _digest(claims: Sequence[BaseModel]) -> str:
    return digest([claim.model_dump(mode="json") for claim in claims])


def first_of(replies: Sequence[R]) -> R:
    """One of several replies, the same whatever their order."""
    return min(replies, key=lambda reply: digest(reply.model_dump(mode="json")))

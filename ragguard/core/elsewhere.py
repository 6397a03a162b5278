"""How a bench is built a second time in other processes, and how they share its limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ragguard.core.scores import Judgment

if TYPE_CHECKING:
    from ragguard.core.evaluation import Bench


@dataclass(frozen=True)
class Paid:
    """What judge calls took: calls, tokens, US dollars; dollars are None where a price is unknown."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0

    def __add__(self, other: Paid) -> Paid:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Paid(self.calls + other.calls, self.tokens + other.tokens, usd)

    @classmethod
    def of(cls, judgments: Iterable[Judgment]) -> Paid:
        """What judgments took that were called for, neither cached nor carried over."""
        paid = cls()
        for judgment in judgments:
            if judgment.source == "called":
                tokens = (judgment.prompt_tokens or 0) + (judgment.completion_tokens or 0)
                paid += cls(judgment.attempts, tokens, judgment.cost_usd)
        return paid


class OpenBench(Protocol):
    """A bench in the process that built it."""

    bench: Bench

    @property
    def paid(self) -> Paid:
        """What its calls took so far, and what earlier tries of the same part had paid."""
        ...

    async def aclose(self) -> None:
        """Frees connections."""
        ...


class BenchPart(Protocol):
    """Settings of one process's bench, with its part of the limits; plain data that can be sent."""

    def open(self, paid: Paid) -> OpenBench:
        """Builds the bench.

        Args:
            paid: What an earlier try of the same part has taken of its budget.
        """
        ...


class BenchKit(Protocol):
    """The settings from which a bench is built elsewhere; it keeps the run's budget."""

    @property
    def most_parts(self) -> int | None:
        """Into how many parts the limits can be divided so that each can still call; None: any number."""
        ...

    def part(self, number: int, of: int) -> BenchPart:
        """The settings for one of several processes that run at once; together they keep every limit.

        Args:
            number: From 0.
            of: How many there are.
        """
        ...

    def book(self, paid: Paid) -> None:
        """Books what was paid elsewhere on the run's budget."""
        ...

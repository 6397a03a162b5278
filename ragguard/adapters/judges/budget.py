"""The run's budget: a ledger that is asked before a call is sent, so that the budget is never passed.

A call reserves the most it may take; what it did not take is given back when it is settled. While other calls are
still out, a call that does not fit waits for them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field

from ragguard.errors import BudgetError


class Budget(BaseModel):
    """What a run may take at most; None: no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    max_usd: float | None = Field(default=None, gt=0, description="US dollars, by LiteLLM's price list.")
    max_calls: int | None = Field(default=None, ge=1, description="Calls sent to judges, repeated ones included.")
    max_tokens: int | None = Field(default=None, ge=1, description="Tokens of prompts and replies.")


@dataclass(frozen=True)
class Amount:
    """Calls, tokens and US dollars; dollars are None where the price is unknown."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0

    def __add__(self, other: Amount) -> Amount:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Amount(self.calls + other.calls, self.tokens + other.tokens, usd)

    def __sub__(self, other: Amount) -> Amount:
        usd = None if self.usd is None or other.usd is None else self.usd - other.usd
        return Amount(self.calls - other.calls, self.tokens - other.tokens, usd)


@dataclass
class Ledger:
    """What was spent and what is reserved by calls that are still out; one for all judges of a run.

    Attributes:
        budget: The limits.
        spent: What was settled.
    """

    budget: Budget = field(default_factory=Budget)
    spent: Amount = Amount()
    _reserved: Amount = Amount()
    _out: int = 0
    _closed: str | None = None
    _settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def reserve(self, most: Amount) -> None:
        """Reserves what a call may take at most; what does not fit waits for the calls that are still out.

        They may make room; and if they do not, what they were paid for is kept before the run ends.

        Raises:
            BudgetError: It does not fit, and no call is out any more.
        """
        while (limit := self._passed(self.spent + self._reserved + most)) or self._closed:
            if not self._out:
                self._closed = self._closed or limit  # nothing smaller is sent now, only to be cut off
                raise BudgetError(
                    f"the budget is spent: {self._closed}, spent so far: {self._told()}",
                    mend="raise `budget` or lower `sample_budget`; what is done is kept",
                )
            await self._settled.wait()
        self._reserved += most
        self._out += 1

    def settle(self, most: Amount, spent: Amount) -> None:
        """Books what a call really took, and gives the rest of its reservation back."""
        self._reserved -= most
        self._out -= 1
        self.spent += spent
        settled, self._settled = self._settled, asyncio.Event()
        settled.set()

    def _passed(self, amount: Amount) -> str | None:
        budget = self.budget
        if budget.max_calls is not None and amount.calls > budget.max_calls:
            return f"max_calls is {budget.max_calls}"
        if budget.max_tokens is not None and amount.tokens > budget.max_tokens:
            return (
                f"max_tokens is {budget.max_tokens:,}, and the next call may take {amount.tokens - self.spent.tokens:,}"
            )
        if budget.max_usd is not None and amount.usd is not None and amount.usd > budget.max_usd + 1e-9:
            return f"max_usd is {budget.max_usd:g}"
        return None

    def _told(self) -> str:
        usd = "cost unknown" if self.spent.usd is None else f"{self.spent.usd:.4f} USD"
        return f"{self.spent.calls} calls, {self.spent.tokens:,} tokens, {usd}"

"""How many calls of one judge are out at once, and how many are sent in a minute."""

from __future__ import annotations

import asyncio
from collections import deque

from aiolimiter import AsyncLimiter

_TPM_SLICE_S = 15.0
_LOWERED_TO = 0.7
_CAREFUL = 0.1


class Slots:
    """A limit of calls at once that adapts (additive increase, multiplicative decrease), first come, first served.

    Attributes:
        limit: The limit now.
        in_flight: Calls that hold a slot.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = 1.0
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._lowered_at = -1.0
        self._step = 1.0

    @property
    def waiting(self) -> int:
        """Calls that wait for a slot."""
        return len(self._waiting)

    async def acquire(self) -> None:
        """Waits for a slot."""
        if self.in_flight < int(self.limit) and not self._waiting:
            self.in_flight += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()  # the slot came in the same moment
            raise

    def release(self) -> None:
        """Gives a slot back."""
        self.in_flight -= 1
        self._wake()

    def open(self) -> None:
        """Raises the limit to the most, once the first call has succeeded."""
        self.limit = float(self._most)
        self._wake()

    def raise_limit(self) -> None:
        """One success: the limit grows by one for each full round of calls, and slowly at first after it was lowered.

        Just below the limit at which a provider refuses, every probe costs a pause.
        """
        self.limit = min(float(self._most), self.limit + self._step / self.limit)
        self._step = min(1.0, self._step * (1 + _CAREFUL / self.limit))
        self._wake()

    def lower(self, started_at: float, now: float) -> None:
        """One sign of overload; calls that had started before the limit was last lowered tell nothing new."""
        if started_at >= self._lowered_at:
            self.limit = max(1.0, self.limit * _LOWERED_TO)
            self._step = _CAREFUL
            self._lowered_at = now

    def _wake(self) -> None:
        while self._waiting and self.in_flight < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)


class Pace:
    """Calls and tokens a minute."""

    def __init__(self, rpm: int | None, tpm: int | None) -> None:
        self._calls = _evenly(rpm) if rpm else None
        self._turn = asyncio.Lock()
        self._tokens = AsyncLimiter(max(1.0, tpm * _TPM_SLICE_S / 60), _TPM_SLICE_S) if tpm else None

    async def wait(self, tokens: int) -> None:
        """Waits until a call of so many tokens may be sent."""
        if self._calls:
            await self._calls.acquire()
        if self._tokens is None:
            return
        async with self._turn:  # the limiter serves small amounts first: large ones would wait for ever
            while tokens > 0:
                part = min(float(tokens), self._tokens.max_rate)
                await self._tokens.acquire(part)
                tokens -= int(part) or 1


def _evenly(rpm: int) -> AsyncLimiter:
    """Spread over the minute: a burst of a whole minute's calls is what providers refuse."""
    return AsyncLimiter(rpm / 60, 1.0) if rpm >= 60 else AsyncLimiter(1, 60.0 / rpm)

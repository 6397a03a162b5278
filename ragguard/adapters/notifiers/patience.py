"""How long a delivery may try, and what keeps it from arriving."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

TRIES = 4
PATIENCE_S = 180.0
_T = TypeVar("_T")


class DeliveryError(Exception):
    """Why something could not be delivered, in one line, with what mends it."""


class TryLaterError(DeliveryError):
    """It may be delivered later.

    Args:
        message: Why not now.
        after: Seconds to wait, as the other side says; None where it does not.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Patience:
    """The seconds that all deliveries of a run may wait together.

    Args:
        total_s: So many.
        sleep: Waits, and says whether it was woken to stop; a real clock by default.
    """

    def __init__(self, total_s: float = PATIENCE_S, sleep: Callable[[float], bool] | None = None) -> None:
        self._left = total_s
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait

    def stop(self) -> None:
        """Nobody waits any longer."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether nobody may wait any longer."""
        return self._stopped.is_set()

    def wait(self, seconds: float) -> bool:
        """Waits if there is so much left; else does not wait at all and returns False."""
        if self.stopped or seconds > self._left:
            return False
        self._left -= seconds
        return not self._sleep(seconds)


def persist(attempt: Callable[[], _T], patience: Patience) -> _T:
    """Tries until it is done, waiting as long as the other side asks, else 1, 2, 4 seconds.

    Args:
        attempt: May be called again after it failed half way.
        patience: What may be waited.

    Raises:
        DeliveryError: It cannot be done, or would take longer than may be waited.
    """
    for number in range(TRIES):
        try:
            return attempt()
        except TryLaterError as later:
            delay = float(2**number) if later.after is None else max(0.0, later.after)
            if number == TRIES - 1:
                raise DeliveryError(f"{later} ({TRIES} tries)") from later
            if not patience.wait(delay):
                raise DeliveryError(f"{later}; asked to wait {delay:,.0f} s, longer than a delivery may") from later
    raise AssertionError("unreachable")

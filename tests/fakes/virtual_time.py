"""An event loop whose clock jumps to the next timer, so that tests of waiting need no waiting and are exact."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Time stands still while anything can run, and jumps when nothing can. No real I/O happens in it."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            # The nanosecond makes up for rounding: a timer that is due must find its time has come.
            self._now = max(self._now, self._scheduled[0].when()) + 1e-9  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine in virtual time, which starts at 0."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)

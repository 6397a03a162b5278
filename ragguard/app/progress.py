"""Progress that never stalls silently: a bar on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from tqdm import tqdm

from ragguard.core.runs import Usage
from ragguard.core.text import harmless

EVERY_S = 10.0
_REDRAW_S = 0.5


class Progress(Protocol):
    """What the pipeline tells while it works."""

    def start(self, phase: str, total: int) -> None:
        """A phase begins with so many items to do."""
        ...

    def advance(self, usage: Callable[[], Usage] | None = None) -> None:
        """One item is done; usage so far, where it is known."""
        ...

    def say(self, message: str) -> None:
        """One line for the reader."""
        ...

    def stop(self) -> None:
        """The phase ends."""
        ...


class Silent:
    """Says nothing."""

    def start(self, phase: str, total: int) -> None:
        """Does nothing."""

    def advance(self, usage: Callable[[], Usage] | None = None) -> None:
        """Does nothing."""

    def say(self, message: str) -> None:
        """Does nothing."""

    def stop(self) -> None:
        """Does nothing."""


class Bar:
    """A bar on a terminal.

    Args:
        stream: Where to.
        clean: Makes foreign words fit to be shown.
    """

    def __init__(self, stream: TextIO, clean: Callable[[str], str] = harmless) -> None:
        self._stream = stream
        self._clean = clean
        self._bar: tqdm[Any] | None = None
        self._told = 0.0

    def start(self, phase: str, total: int) -> None:
        """Draws a new bar."""
        self.stop()
        self._bar = tqdm(total=total, desc=phase, unit="sample", file=self._stream, dynamic_ncols=True, leave=False)

    def advance(self, usage: Callable[[], Usage] | None = None) -> None:
        """Moves the bar by one."""
        if self._bar is not None:
            if usage is not None and time.monotonic() - self._told >= _REDRAW_S:
                self._told = time.monotonic()
                self._bar.set_postfix_str(told(usage()), refresh=False)
            self._bar.update()

    def say(self, message: str) -> None:
        """Writes a line above the bar."""
        tqdm.write(self._clean(message), file=self._stream)

    def stop(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Lines:
    """One line when a phase begins, one every ten seconds, one when it ends.

    Args:
        stream: Where to.
        clock: Seconds; monotonic.
        clean: Makes foreign words fit to be shown.
    """

    def __init__(
        self, stream: TextIO, clock: Callable[[], float] = time.monotonic, clean: Callable[[str], str] = harmless
    ) -> None:
        self._stream = stream
        self._clean = clean
        self._clock = clock
        self._phase = ""
        self._total = self._done = self._told = 0
        self._started = self._last = 0.0
        self._usage: Callable[[], Usage] | None = None

    def start(self, phase: str, total: int) -> None:
        """Notes when the phase began."""
        self.stop()
        self._phase, self._total, self._done, self._told = phase, total, 0, -1
        self._started = self._last = self._clock()

    def advance(self, usage: Callable[[], Usage] | None = None) -> None:
        """Writes a line if the last one is ten seconds old."""
        self._done += 1
        self._usage = usage
        if self._clock() - self._last >= EVERY_S:
            self._line()

    def say(self, message: str) -> None:
        """Writes a line."""
        print(self._clean(message), file=self._stream, flush=True)

    def stop(self) -> None:
        """Writes the phase's last line, unless it stands there already."""
        if self._phase and self._told != self._done:
            self._line()
        self._phase = ""

    def _line(self) -> None:
        self._last, self._told = self._clock(), self._done
        seconds = self._last - self._started
        rate = self._done / seconds if seconds > 0 else 0.0
        left = f", {(self._total - self._done) / rate:.0f} s left" if rate and self._done < self._total else ""
        usage = f"; {told(self._usage())}" if self._usage is not None else ""
        self.say(f"{self._phase}: {self._done}/{self._total} in {seconds:.0f} s{left}{usage}")


def told(usage: Usage) -> str:
    """Usage in a few words; unknown cost is said to be unknown."""
    cost = "cost unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
    known = f", {usage.cached_calls} cached" if usage.cached_calls else ""
    known += f", {usage.carried_calls} carried over" if usage.carried_calls else ""
    return f"{usage.calls} calls{known}, {cost}"

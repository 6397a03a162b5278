"""Fits a report into its channel: shorter texts and fewer rows until it is small enough, never without saying so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ragguard.adapters.renderers.view import Room

Unit = Literal["characters", "bytes"]
SHORT, SHORTEST = 300, 120
_FEW_LINES = 5


@dataclass(frozen=True)
class Limit:
    """What a channel holds.

    Attributes:
        most: The platform's own limit; None for none.
        unit: What it counts. Characters are counted as UTF-16 does, which is never less than any platform counts.
        reserve: Kept free for what the sender adds, such as a marker.
    """

    most: int | None = None
    unit: Unit = "characters"
    reserve: int = 0

    def holds(self, text: str) -> bool:
        """Whether a text fits."""
        return self.most is None or size(text, self.unit) <= self.most - self.reserve


def size(text: str, unit: Unit) -> int:
    """The size of a text in bytes of UTF-8, or in UTF-16 units."""
    return len(text.encode()) if unit == "bytes" else len(text.encode("utf-16-le")) // 2


def fit(render: Callable[[Room], str], room: Room, limit: Limit, rows: tuple[int, int]) -> str:
    """Renders as much as fits.

    Args:
        render: Renders with some room.
        room: What to show at most.
        limit: What the channel holds.
        rows: How many samples and metrics there are.
    """
    for smaller in _shorter_texts(room):
        text = render(smaller)
        if limit.holds(text):
            return text
    smallest = replace(room, characters=SHORTEST, lines=_FEW_LINES)
    for kind, there in (("samples", rows[0]), ("metrics", rows[1])):
        allowed = getattr(room, kind)
        text, smallest = _fewest(render, smallest, kind, there if allowed is None else min(there, allowed), limit)
        if limit.holds(text):
            return text
    return cut_at_line(render(smallest), limit)


def _shorter_texts(room: Room) -> Iterator[Room]:
    yield room
    for most in (SHORT, SHORTEST):
        if room.characters is None or room.characters > most:
            yield replace(room, characters=most, lines=room.lines or _FEW_LINES)


def _fewest(render: Callable[[Room], str], room: Room, kind: str, most: int, limit: Limit) -> tuple[str, Room]:
    """The largest number of rows that fits, found by halving; no rows where not even that fits."""
    none_at_all = _with(room, kind, 0)
    text = render(none_at_all)
    if not limit.holds(text):
        return text, none_at_all
    fits, too_many = 0, most + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if limit.holds(render(_with(room, kind, middle))):
            fits = middle
        else:
            too_many = middle
    chosen = _with(room, kind, fits)
    return render(chosen), chosen


def _with(room: Room, kind: str, number: int) -> Room:
    return replace(room, samples=number) if kind == "samples" else replace(room, metrics=number)


def cut_at_line(text: str, limit: Limit) -> str:
    """The last resort, for a template of the user's own that is large by itself: whole lines, open folds closed."""
    lines = text.split("\n")
    while lines:
        lines = lines[: len(lines) * 9 // 10]
        missing = text.count("\n") + 1 - len(lines)
        kept = "\n".join(lines)
        folds = "</details>" * max(0, kept.count("<details") - kept.count("</details"))
        cut = f"{kept}\n\n{folds}\n\n… {missing:,} more lines are left out here: see the run's report.json\n"
        if limit.holds(cut):
            return cut
    return ""

"""Small plots as inline SVG: how values are spread, how pairs changed, how a metric went from run to run.

Colours come from the page's style sheet, so that a plot fits light and dark; each one says in words what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ragguard.adapters.renderers.escaping import page_line
from ragguard.adapters.renderers.words import Unit, plural, value_text

WIDTH, HEIGHT = 320, 132
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 8, 12, 20
_BINS = 10
_MOST_BARS = 240
_NO_CHANGE = 1e-9


@dataclass(frozen=True)
class Point:
    """One run in a trend."""

    label: str
    value: float


def _svg(label: str, parts: Sequence[Markup]) -> Markup:
    body = Markup("").join(parts)
    return Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, page_line(label), body
    )


def _rect(name: str, x: float, y: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
        name, x, y, max(width, 0.0), max(height, 0.0)
    )


def _line(name: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(name, x1, y1, x2, y2)


def _text(x: float, y: float, words: str, anchor: str = "middle") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, page_line(words))


def _top_of(unit: Unit, values: Sequence[float]) -> float:
    return 1.0 if unit == "fraction" else max(values, default=0.0) or 1.0


def distribution(
    metric: str, after: Sequence[float], before: Sequence[float], unit: Unit = "fraction"
) -> Markup | None:
    """Histogram of the samples' values in ten bins, this run's beside the baseline's; None without values."""
    if not after:
        return None
    top = _top_of(unit, [*after, *before])
    now, was = _histogram(after, top), _histogram(before, top)
    highest = max(*now, *was, 1)
    room, step = HEIGHT - _TOP - _BOTTOM, (WIDTH - _LEFT - _RIGHT) / _BINS
    parts = []
    for place in range(_BINS):
        x = _LEFT + place * step
        for name, counts, start in (("was", was, 0.08), ("now", now, 0.5)):
            height = room * counts[place] / highest
            if counts[place]:
                height = max(height, 1.5)
                parts.append(_rect(name, x + start * step, _TOP + room - height, 0.42 * step, height))
    base = HEIGHT - _BOTTOM
    parts.append(_line("axis", _LEFT, base, WIDTH - _RIGHT, base))
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = _LEFT + share * (WIDTH - _LEFT - _RIGHT)
        parts.append(_text(x, HEIGHT - 6, value_text(share * top, unit), anchor))
    beside = f", and of {plural(len(before), 'baseline sample')}" if before else ""
    return _svg(f"{metric}: how the values of {plural(len(after), 'sample')}{beside} are spread", parts)


def _histogram(values: Sequence[float], top: float) -> list[int]:
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, max(0, int(_BINS * value / top)))] += 1
    return counts


def changes_told(changes: Sequence[float], *, higher_is_better: bool = True) -> str:
    """How many pairs got worse, stayed, got better."""
    sign = 1 if higher_is_better else -1
    worse = sum(sign * change < -_NO_CHANGE for change in changes)
    better = sum(sign * change > _NO_CHANGE for change in changes)
    return f"{worse:,} worse, {len(changes) - worse - better:,} the same, {better:,} better"


def paired_changes(metric: str, changes: Sequence[float], *, higher_is_better: bool = True) -> Markup | None:
    """Each pair's change as a bar, the worst on the left; None without pairs."""
    if not changes:
        return None
    sign = 1 if higher_is_better else -1
    ordered = sorted(sign * change for change in changes)
    bars = _thinned(ordered)
    up, down = max(bars[-1], 0.0), max(-bars[0], 0.0)
    room = HEIGHT - _TOP - _BOTTOM
    scale = room / (up + down or 1.0)
    middle = _TOP + (up * scale if up + down else room / 2)
    step = (WIDTH - _LEFT - _RIGHT) / len(bars)
    gap = 0.15 if step > 3 else 0.0
    parts = []
    for place, change in enumerate(bars):
        height = scale * abs(change)
        if abs(change) > _NO_CHANGE:
            y = middle if change < 0 else middle - height
            name = "worse" if change < 0 else "better"
            parts.append(_rect(name, _LEFT + (place + gap) * step, y, step * (1 - 2 * gap), max(height, 1.0)))
    parts.append(_line("axis", _LEFT, middle, WIDTH - _RIGHT, middle))
    told = changes_told(changes, higher_is_better=higher_is_better)
    parts.append(_text(_LEFT, HEIGHT - 6, told, "start"))
    return _svg(f"{metric}: change of {plural(len(changes), 'pair')}, the worst first: {told}", parts)


def _thinned(ordered: Sequence[float]) -> list[float]:
    """At most so many bars, both ends kept."""
    if len(ordered) <= _MOST_BARS:
        return list(ordered)
    last = len(ordered) - 1
    return [ordered[round(place * last / (_MOST_BARS - 1))] for place in range(_MOST_BARS)]


def trend(metric: str, points: Sequence[Point], floor: float | None, unit: Unit = "fraction") -> Markup | None:
    """A metric over the runs, oldest first, this run last; None for fewer than two."""
    if len(points) < 2:
        return None
    values = [point.value for point in points] + ([floor] if floor is not None else [])
    low, high = min(values), max(values)
    pad = 0.12 * (high - low) or 0.02 * (abs(high) or 1.0)
    low, high = low - pad, high + pad
    room, across = HEIGHT - _TOP - _BOTTOM, WIDTH - _LEFT - _RIGHT - 52

    def spot(place: int, value: float) -> tuple[float, float]:
        x = _LEFT + across * place / (len(points) - 1)
        return x, _TOP + room * (1 - (value - low) / (high - low))

    spots = [spot(place, point.value) for place, point in enumerate(points)]
    path = " ".join(f"{'M' if place == 0 else 'L'}{x:.1f} {y:.1f}" for place, (x, y) in enumerate(spots))
    parts = []
    if floor is not None:
        y = spot(0, floor)[1]
        parts += [_line("floor", _LEFT, y, _LEFT + across, y), _text(WIDTH - _RIGHT, y + 4, "minimum", "end")]
    parts.append(Markup('<path class="trend" d="{}"/>').format(path))
    for point, (x, y) in zip(points, spots, strict=True):
        name = "this" if point is points[-1] else "past"
        parts.append(
            Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}: {}</title></circle>').format(
                name, x, y, 4 if name == "this" else 2.5, point.label, value_text(point.value, unit)
            )
        )
    parts += [_text(_LEFT, HEIGHT - 6, points[0].label, "start"), _text(_LEFT + across, HEIGHT - 6, "this run", "end")]
    last = points[-1].value
    if floor is None or abs(spot(0, floor)[1] - spots[-1][1]) > 12:
        parts.append(_text(WIDTH - _RIGHT, spots[-1][1] + 4, value_text(last, unit), "end"))
    first, now = value_text(points[0].value, unit), value_text(last, unit)
    return _svg(f"{metric} over {plural(len(points), 'run')}: from {first} to {now}", parts)


def finite(values: Sequence[float | None]) -> list[float]:
    """The values that are known."""
    return [value for value in values if value is not None and math.isfinite(value)]

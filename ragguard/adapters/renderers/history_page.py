"""One self-contained page with a plot of each metric over the stored runs; no script, no request."""

from __future__ import annotations

import html
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from ragguard.adapters.renderers.escaping import page_line
from ragguard.core.runs import MetricSummary, RunHead

_WIDTH, _HEIGHT, _EDGE = 720, 180, 36
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #66707f; --line: #2563eb; --band: #2563eb22;
  --bad: #c62828; --floor: #b26a00; --paper: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --line: #7aa7ff; --band: #7aa7ff33;
  --bad: #ff7b72; --floor: #f0b429; --paper: #14181f } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 48rem;
  margin: 2rem auto; padding: 0 1rem }
svg { width: 100%; height: auto }
text { font-size: 11px; fill: var(--soft) }
.mean { fill: none; stroke: var(--line); stroke-width: 2 }
.band { fill: var(--band) }
.floor { stroke: var(--floor); stroke-dasharray: 5 4 }
.ok { fill: var(--line) }
.failed { fill: var(--bad) }
figure { margin: 2rem 0 }
figcaption { font-weight: 600 }
"""


def history_page(suite: str, heads: Sequence[RunHead], accepted: AbstractSet[str]) -> str:
    """Renders the page.

    Args:
        suite: The suite's name.
        heads: Its runs, oldest first.
        accepted: Ids of the runs that may be a baseline; drawn filled.
    """
    metrics = dict.fromkeys(metric for head in heads for metric in head.metrics)
    plots = "\n".join(_plot(metric, heads, accepted) for metric in metrics) or "<p>No run is stored yet.</p>"
    name = _escaped(suite)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{name}: history</title><style>{_STYLE}</style></head><body>"
        f"<h1>{name}: {len(heads)} runs</h1>"
        "<p>Line: mean. Band: noise of the comparison. Dashed: minimum. Red: the metric failed.</p>"
        f"{plots}</body></html>\n"
    )


def _escaped(text: str) -> str:
    return html.escape(page_line(text))


def _plot(metric: str, heads: Sequence[RunHead], accepted: AbstractSet[str]) -> str:
    points = [(index, head, head.metrics[metric]) for index, head in enumerate(heads) if metric in head.metrics]
    known = [(index, head, summary) for index, head, summary in points if summary.mean is not None]
    if not known:
        return ""
    floors = [summary.slo_min for _, _, summary in known if summary.slo_min is not None]
    values = [value for _, _, summary in known for value in _extent(summary)] + floors
    low, high = min(values), max(values)
    room = (high - low) * 0.1 or 0.05
    scale = _Scale(len(heads), low - room, high + room)
    drawn = [_band(known, scale), _line(known, scale), *(_dot(one, scale, accepted) for one in known)]
    if floors:
        y = scale.y(floors[-1])
        drawn.insert(0, f'<line class="floor" x1="{_EDGE}" x2="{_WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}"/>')
    labels = f'<text x="2" y="{scale.y(high):.1f}">{high:.3f}</text><text x="2" y="{scale.y(low):.1f}">{low:.3f}</text>'
    name = _escaped(metric)
    return (
        f"<figure><figcaption>{name}: {known[-1][2].mean:.3f}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{name} over {len(known)} runs">'
        f"{labels}{''.join(drawn)}</svg></figure>"
    )


class _Scale:
    def __init__(self, count: int, low: float, high: float) -> None:
        self._count, self._low, self._high = count, low, high

    def x(self, index: int) -> float:
        return _EDGE + 12 + index * (_WIDTH - _EDGE - 28) / max(self._count - 1, 1)

    def y(self, value: float) -> float:
        return 10 + (self._high - value) / (self._high - self._low) * (_HEIGHT - 24)


_Point = tuple[int, RunHead, MetricSummary]


def _extent(summary: MetricSummary) -> list[float]:
    mean = summary.mean if summary.mean is not None else 0.0
    return [mean, *_bounds(summary)]


def _bounds(summary: MetricSummary) -> tuple[float, float] | tuple[()]:
    if summary.mean is None or summary.delta is None or summary.ci_low is None or summary.ci_high is None:
        return ()
    return summary.mean + summary.ci_low - summary.delta, summary.mean + summary.ci_high - summary.delta


def _band(points: Sequence[_Point], scale: _Scale) -> str:
    banded = [(index, bounds) for index, _, summary in points if (bounds := _bounds(summary))]
    if len(banded) < 2:
        return ""
    upper = [f"{scale.x(index):.1f},{scale.y(bounds[1]):.1f}" for index, bounds in banded]
    lower = [f"{scale.x(index):.1f},{scale.y(bounds[0]):.1f}" for index, bounds in reversed(banded)]
    return f'<polygon class="band" points="{" ".join(upper + lower)}"/>'


def _line(points: Sequence[_Point], scale: _Scale) -> str:
    drawn = " ".join(f"{scale.x(index):.1f},{scale.y(summary.mean or 0.0):.1f}" for index, _, summary in points)
    return f'<polyline class="mean" points="{drawn}"/>'


def _dot(point: _Point, scale: _Scale, accepted: AbstractSet[str]) -> str:
    index, head, summary = point
    kind = "failed" if summary.outcome in {"failed", "error"} else "ok"
    told = f"{head.run_id}: {summary.mean:.3f}, {summary.outcome}{', accepted' if head.run_id in accepted else ''}"
    radius = 4 if head.run_id in accepted else 2.5
    return (
        f'<circle class="{kind}" cx="{scale.x(index):.1f}" cy="{scale.y(summary.mean or 0.0):.1f}" r="{radius}">'
        f"<title>{_escaped(told)}</title></circle>"
    )

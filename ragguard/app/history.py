"""The metrics of a suite over its stored runs, and whether they decline slowly."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ragguard.core.baseline import is_accepted
from ragguard.core.ports import Store
from ragguard.core.runs import Event, MetricSummary, RunHead

_SPARKS = "▁▂▃▄▅▆▇█"
_BEGINS_ANEW = "not_comparable"
_NEWEST = 3
_LEAST_SPAN = 0.1


@dataclass(frozen=True)
class Decline:
    """A metric that sank little by little.

    Attributes:
        since: The run that it is held against: the pinned one, else the oldest shown.
        before: That run's mean.
        now: Median of the newest three runs' means.
        slope: Change a run, by the Theil-Sen estimator (the median slope over all pairs of runs).
    """

    metric: str
    since: str
    before: float
    now: float
    slope: float


@dataclass(frozen=True)
class History:
    """Stored runs of one suite.

    Attributes:
        heads: Oldest first.
        accepted: Ids of the runs that may be a baseline.
        declines: Metrics whose newest runs lie more than the tolerance under the run they are held against.
    """

    suite: str
    heads: tuple[RunHead, ...]
    accepted: frozenset[str]
    pinned: str | None
    declines: tuple[Decline, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics of the runs, in the order in which they first came."""
        return tuple(dict.fromkeys(metric for head in self.heads for metric in head.metrics))


def read_history(store: Store, suite: str, *, branch: str | None, limit: int, pinned: str | None) -> History:
    """Reads a suite's runs.

    Args:
        store: Where they are kept.
        suite: The suite.
        branch: Only runs of this branch.
        limit: The newest so many.
        pinned: The run that slow declines are held against.

    Raises:
        StoreError: The store cannot be read.
    """
    events = store.events(suite)
    heads = tuple(reversed(store.heads(suite, branch=branch, limit=limit)))
    held = store.head(pinned) if pinned is not None else None
    accepted = _accepted(heads, events)
    series = one_course(heads, accepted)
    if held is not None and series and series[0].outcome == _BEGINS_ANEW and held.created_at < series[0].created_at:
        held = None
    return History(suite, heads, accepted, pinned, tuple(declines(series, held)))


def _accepted(heads: Sequence[RunHead], events: Sequence[Event]) -> frozenset[str]:
    return frozenset(head.run_id for head in heads if is_accepted(head, events))


def one_course(heads: Sequence[RunHead], accepted: Collection[str]) -> Sequence[RunHead]:
    """The runs that can be held against each other, oldest first.

    One that could not be compared, such as one of other questions, tells nothing of the app's course; where somebody
    promoted it, the course begins anew with it.
    """
    course: list[RunHead] = []
    for head in heads:
        if head.outcome != _BEGINS_ANEW:
            course.append(head)
        elif head.run_id in accepted:
            course = [head]
    return course


def declines(heads: Sequence[RunHead], held: RunHead | None = None) -> Iterator[Decline]:
    """Finds metrics that sank little by little, so that no single run failed.

    Args:
        heads: Oldest first.
        held: The run to hold them against; the oldest where None.
    """
    whole = [head for head in heads if head.outcome != "error"]
    reference = held or (whole[0] if whole else None)
    if reference is None or len(whole) <= _NEWEST:
        return
    for metric, summary in reference.metrics.items():
        means = [value for head in whole if (value := _mean(head, metric)) is not None]
        if summary.mean is None or summary.aggregate != "mean" or len(means) <= _NEWEST:
            continue
        now = float(np.median(means[-_NEWEST:]))
        tolerance = summary.tolerance if summary.tolerance is not None else 0.02
        if summary.mean - now > tolerance + 1e-9:
            yield Decline(metric, reference.run_id, summary.mean, now, _theil_sen(means))


def _mean(head: RunHead, metric: str) -> float | None:
    summary = head.metrics.get(metric)
    return None if summary is None else summary.mean


def _theil_sen(values: Sequence[float]) -> float:
    """Median slope over all pairs (Sen 1968, JASA 63:1379); robust against single bad runs."""
    points = np.asarray(values)
    i, j = np.triu_indices(len(points), k=1)
    return float(np.median((points[j] - points[i]) / (j - i)))


def sparkline(values: Sequence[float | None], least_span: float = _LEAST_SPAN) -> str:
    """A line of blocks for a terminal; a blank where a value is unknown.

    Args:
        values: Oldest first.
        least_span: What the blocks span at least, down from the highest value, so that noise looks level.
    """
    known = [value for value in values if value is not None]
    if not known:
        return " " * len(values)
    high = max(known)
    low = min(*known, high - least_span) if least_span else min(known)
    width = high - low or 1.0
    top = len(_SPARKS) - 1
    return "".join(" " if value is None else _SPARKS[round((value - low) / width * top)] for value in values)


def noise_band(summary: MetricSummary) -> tuple[float, float] | None:
    """The one-sided 95 % bounds of a metric's change, laid around its mean; None where they are unknown."""
    if summary.mean is None or summary.delta is None or summary.ci_low is None or summary.ci_high is None:
        return None
    return summary.mean + (summary.ci_low - summary.delta), summary.mean + (summary.ci_high - summary.delta)


def history_lines(history: History) -> Iterator[str]:
    """The history for a terminal: a line a run, a sparkline a metric, what declines slowly."""
    if not history.heads:
        yield f"no run of suite {history.suite} is stored yet"
        return
    metrics = history.metrics
    yield "  ".join(
        [f"{'run':<27}", f"{'time':<16}", f"{'outcome':<14}", *(f"{name:>{max(8, len(name))}}" for name in metrics)]
    )
    for head in history.heads:
        cells = [_cell(head, name).rjust(max(8, len(name))) for name in metrics]
        mark = ("*" if head.run_id in history.accepted else " ") + ("p" if head.run_id == history.pinned else " ")
        time = f"{head.ordering_time:%Y-%m-%d %H:%M}"
        yield "  ".join([f"{mark}{head.run_id:<25}", f"{time:<16}", f"{head.outcome:<14}", *cells])
    yield ""
    for name in metrics:
        yield _plot(name, history.heads)
    yield "  (each on its own scale, as told; one of fractions spans at least 0.1)"
    yield "* accepted: may be compared with. p pinned: every run is compared with it as well."
    yield "Of accepted runs that share more than half of their answers only the newest is compared with."
    for decline in history.declines:
        yield (
            f"slow decline: {decline.metric} went from {decline.before:.3f} (run {decline.since}) "
            f"to {decline.now:.3f}, {decline.slope:+.4f} a run"
        )


def _plot(name: str, heads: Sequence[RunHead]) -> str:
    """A metric's line, and what its blocks stand for."""
    values = [_mean(head, name) for head in heads]
    known = [value for value in values if value is not None]
    fraction = next((head.metrics[name].unit for head in heads if name in head.metrics), "fraction") == "fraction"
    line = sparkline(values, _LEAST_SPAN if fraction else 0.0)
    return f"{name}: {line}  {min(known):.3f} to {max(known):.3f}" if known else f"{name}: {line}"


def _cell(head: RunHead, metric: str) -> str:
    value = _mean(head, metric)
    return "-" if value is None else f"{value:.3f}"


def history_json(history: History) -> dict[str, object]:
    """The history as JSON."""
    return {
        "suite": history.suite,
        "pinned": history.pinned,
        "runs": [
            {
                "run_id": head.run_id,
                "time": head.ordering_time.isoformat(),
                "branch": head.branch,
                "commit": head.commit,
                "event": head.event,
                "outcome": head.outcome,
                "accepted": head.run_id in history.accepted,
                "metrics": {name: _metric_json(summary) for name, summary in head.metrics.items()},
            }
            for head in history.heads
        ],
        "declines": [
            {"metric": one.metric, "since": one.since, "before": one.before, "now": one.now, "slope": one.slope}
            for one in history.declines
        ],
    }


def _metric_json(summary: MetricSummary) -> dict[str, object]:
    band = noise_band(summary)
    return {
        "mean": summary.mean,
        "band": None if band is None else list(band),
        "slo_min": summary.slo_min,
        "outcome": summary.outcome,
    }

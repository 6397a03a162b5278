"""The measurements as Markdown, with ratios to ragguard."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from peer_runs import Measured

FAULT_NAMES = {"broken": "5 % broken JSON", "errors": "5 % HTTP 500-503", "limited": "429s at 1,200 a minute"}
TRIAD, FIVE = 3, 5


@dataclass
class Findings:
    """What was found for one tool.

    Attributes:
        name: The tool.
        problem: Why it could not be run at all.
        note: What had to be mended.
        works: Runs without faults, by the number of metrics.
        small: A run of the triad on few samples: what starting costs.
        faults: Runs of the triad by fault.
        strict: The same, where the tool's default is to stop at the first error.
    """

    name: str
    problem: str = ""
    note: str = ""
    works: dict[int, Measured] = field(default_factory=dict)
    small: Measured | None = None
    faults: dict[str, Measured] = field(default_factory=dict)
    strict: dict[str, Measured] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {next(iter(self.works.values())).version}" if self.works else self.name

    @property
    def cpu_ms_a_call(self) -> float | None:
        """CPU for each judge call beyond the ones of the small run, which leaves imports out; None if unknown."""
        large, small = self.works.get(TRIAD), self.small
        if large is None or small is None or large.error or small.error or large.calls <= small.calls:
            return None
        return 1000 * (large.cpu_s - small.cpu_s) / (large.calls - small.calls)


_COLUMNS: Mapping[str, tuple[Callable[[Measured, int], float], str]] = {
    "judge calls / sample": (lambda run, count: run.calls / count, ".2f"),
    "prompt tokens / sample": (lambda run, count: run.prompt_tokens / count, ",.0f"),
    "wall s": (lambda run, _: run.wall_s, ".1f"),
    "CPU s": (lambda run, _: run.cpu_s, ".1f"),
    "peak MB": (lambda run, _: run.peak_mb, ".0f"),
}


def costs(found: Sequence[Findings], metrics: int, samples: Sequence[Mapping[str, object]]) -> list[str]:
    """What the work costs with each tool; in brackets how many times what ragguard needs."""
    ours = next((one.works.get(metrics) for one in found if one.name == "ragguard"), None)
    lines = [_row(["tool", *_COLUMNS, "no score"]), _row(["---", *["---:"] * (len(_COLUMNS) + 1)])]
    for one in found:
        run = one.works.get(metrics)
        if run is None or run.error:
            why = one.problem or (run.error if run else None)
            told = f"could not be run: {_cell(why)}" if why else "not run"
            lines.append(_row([one.title, told, *[""] * len(_COLUMNS)]))
            continue
        cells = [_with_ratio(run, ours, name, len(samples)) for name in _COLUMNS]
        lines.append(_row([one.title, *cells, str(run.unscored(samples, metrics))]))
    return lines


def overhead(found: Sequence[Findings]) -> list[str]:
    """CPU for each judge call, imports apart, and for starting."""
    lines = [_row(["tool", "CPU ms / judge call", "CPU s to start"]), _row(["---", "---:", "---:"])]
    for one in found:
        if (cost := one.cpu_ms_a_call) is not None and one.small:
            start = one.small.cpu_s - cost * one.small.calls / 1000
            lines.append(_row([one.title, f"{cost:.1f}", f"{start:.1f}"]))
    return lines


def _with_ratio(run: Measured, ours: Measured | None, column: str, count: int) -> str:
    value, form = _COLUMNS[column]
    text = format(value(run, count), form)
    base = value(ours, count) if ours and ours is not run and not ours.error else 0
    return f"{text} ({value(run, count) / base:.1f}x)" if base else text


def faults(found: Sequence[Findings], samples: Sequence[Mapping[str, object]]) -> list[str]:
    """Samples left without a score of the triad, and scores that differ from the run without faults."""
    lines = [_row(["tool", *FAULT_NAMES.values()]), _row(["---", *["---"] * len(FAULT_NAMES)])]
    for one in found:
        if one.problem:
            lines.append(_row([one.title, "could not be run", *[""] * (len(FAULT_NAMES) - 1)]))
            continue
        lines.append(_row([one.title, *(_fault(one, fault, samples) for fault in FAULT_NAMES)]))
    return lines


def _fault(one: Findings, fault: str, samples: Sequence[Mapping[str, object]]) -> str:
    run, good = one.faults.get(fault), one.works.get(TRIAD)
    if run is None:
        return "not run"
    if run.error:
        return f"the run ends without any score: {_cell(run.error)}"
    told = f"{run.unscored(samples, TRIAD)} without a score, {run.changed(good) if good else '?'} changed"
    told = f"{told}; {run.wall_s:.0f} s, {run.calls / len(samples):.2f} calls / sample"
    strict = one.strict.get(fault)
    if strict is None:
        return told
    return f"{'by default the run aborts' if strict.error else 'default: the same'}; with `ignore_errors` {told}"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())[:160]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

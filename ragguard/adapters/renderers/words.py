"""Numbers, outcomes and causes in a reader's words. Unknown is "unknown", never 0."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from ragguard.core.reasons import MIN_SAMPLES
from ragguard.core.runs import Cause, MetricSummary, Outcome

UNKNOWN = "unknown"
MINUS = "\N{MINUS SIGN}"
Unit = Literal["fraction", "s", "usd"]

OUTCOME_WORDS: dict[Outcome, str] = {
    "error": "error",
    "failed": "failed",
    "not_comparable": "not comparable",
    "inconclusive": "inconclusive",
    "warned": "passed with a warning",
    "passed": "passed",
}
OUTCOME_SYMBOLS: dict[Outcome, str] = {
    "error": "💥",
    "failed": "❌",
    "not_comparable": "🚫",
    "inconclusive": "❔",
    "warned": "⚠️",
    "passed": "✅",
}
OUTCOME_MARKS: dict[Outcome, str] = {
    "error": "!",
    "failed": "✘",
    "not_comparable": "≠",
    "inconclusive": "?",
    "warned": "!",
    "passed": "✔",
}
"""Signs that every font has, unlike `OUTCOME_SYMBOLS`."""
CAUSES: tuple[Cause, ...] = ("retrieval", "generation", "judge", "unknown")
CAUSE_WORDS: dict[Cause, str] = {
    "retrieval": "the passages changed",
    "generation": "the passages are the same, the answer changed",
    "judge": "neither changed: noise or drift of the judge",
    "unknown": "the baseline does not tell what changed",
}
NEXT_BY_CAUSE: dict[Cause, str] = {
    "retrieval": (
        "Compare the passages before and after. Look at what the change did to the index, chunking, embedder, filters, "
        "re-ranking or the number of passages."
    ),
    "generation": (
        "Compare the answers before and after. Look at what the change did to the prompt, the model, its parameters or "
        "the post-processing."
    ),
    "judge": (
        "Leave the app alone: it gave the same passages and the same answer. Run again, or raise judge.repeats so that "
        "the judge is asked more often."
    ),
    "unknown": "Read the claims below; the next run against a newer baseline will name the cause.",
}
NEXT_BY_OUTCOME: dict[Outcome, str] = {
    "error": "Mend what the first line names, then run again: nothing can be said about the app.",
    "failed": "",
    "not_comparable": (
        "Build a baseline with today's judge, prompts and metrics on the base branch, then run again. Where the data "
        "set was exchanged on purpose, read this run and make it the baseline: ragguard baseline promote."
    ),
    "inconclusive": (
        "Let the base branch collect more baseline runs, or add samples. Running again helps only where the app "
        "answers anew: the same answers are given the same verdict."
    ),
    "warned": "Nothing that blocks; read the reason above.",
    "passed": "Nothing.",
}
VERDICT_WORDS = {"supported": "supported", "contradicted": "contradicted", "absent": "not in the passages"}
VERDICT_SYMBOLS = {"supported": "✔", "contradicted": "✘", "absent": "✘"}


def outcome_text(outcome: Outcome) -> str:
    """Symbol and words."""
    return f"{OUTCOME_SYMBOLS[outcome]} {OUTCOME_WORDS[outcome]}"


def value_text(value: float | None, unit: Unit = "fraction") -> str:
    """A metric's value: `91.2 %`, `1.84 s`, `$0.0021`."""
    if value is None:
        return UNKNOWN
    if unit == "fraction":
        return f"{100 * value:.1f} %"
    return signed(value, ".2f") + " s" if unit == "s" else money(value)


def change_text(change: float | None, unit: Unit = "fraction") -> str:
    """A difference of two values with its sign: `+1.25 points`."""
    if change is None:
        return UNKNOWN
    if unit == "fraction":
        return signed(100 * change, "+.2f") + " points"
    return signed(change, "+.2f" if unit == "s" else "+.4f") + (" s" if unit == "s" else " USD")


def metric_change_text(metric: MetricSummary) -> str:
    """A metric's change; of a percentile, where more is worse, the rise as a share of the baseline's."""
    if metric.delta is None or metric.aggregate == "mean":
        return change_text(metric.delta, metric.unit)
    return signed(-100 * metric.delta, "+.1f") + " %"


def interval_text(low: float | None, high: float | None, unit: Unit = "fraction") -> str:
    """The interval of a change, `[−9.10, −3.40]`; empty where neither end is known."""
    if low is None and high is None:
        return ""
    scale = 100 if unit == "fraction" else 1
    form = "+.4f" if unit == "usd" else "+.2f"
    ends = [UNKNOWN if end is None else signed(scale * end, form) for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]"


def signed(value: float, form: str) -> str:
    """A number with a true minus sign, and no sign before a zero."""
    text = format(value, form)
    if not any(digit in text for digit in "123456789"):
        return text.lstrip("+-")
    return text.replace("-", MINUS)


def floor_text(metric: MetricSummary) -> str:
    """The minimum and, where the mean is under it, that it is."""
    if metric.slo_min is None:
        return "none"
    text = value_text(metric.slo_min, metric.unit)
    return f"{text}, not met" if metric.mean is not None and metric.mean < metric.slo_min - 1e-9 else text


def scored_text(metric: MetricSummary) -> str:
    """How many samples have a score, and why the others have none."""
    text = count(metric.n_scored)
    if metric.n_failed:
        text += f", {count(metric.n_failed)} failed"
    if metric.n_not_applicable:
        text += f", {count(metric.n_not_applicable)} not applicable"
    return text


def tolerance_text(metric: MetricSummary) -> str:
    """How far the metric may fall."""
    if metric.tolerance is None:
        return UNKNOWN
    relative = metric.tolerance_relative or metric.aggregate != "mean"
    return f"{100 * metric.tolerance:.1f} %" if relative else change_text(metric.tolerance, metric.unit).lstrip("+")


def detectable_text(metric: MetricSummary) -> str:
    """The smallest drop that this comparison would have seen, and what would halve it."""
    if metric.mdd is None:
        return UNKNOWN
    if metric.aggregate == "mean" and metric.n_pairs < MIN_SAMPLES and metric.outcome != "failed":
        return f"none for sure: {plural(metric.n_pairs, 'sample')}, and {MIN_SAMPLES} are the least"
    relative = metric.tolerance_relative or metric.aggregate != "mean"
    size = f"{100 * metric.mdd:.1f} %" if relative else change_text(metric.mdd, metric.unit).lstrip("+")
    ways = []
    if metric.samples_to_halve_mdd is not None:
        ways.append(f"{count(metric.samples_to_halve_mdd)} samples")
    if metric.runs_to_halve_mdd is not None:
        ways.append(plural(metric.runs_to_halve_mdd, "baseline run"))
    return f"{size} ({' or '.join(ways)} would halve it)" if ways else size


def money(usd: float | None) -> str:
    """US dollars, to the cent from a dollar on."""
    if usd is None:
        return UNKNOWN
    return f"{'−' if usd < 0 else ''}${abs(usd):,.2f}" if abs(usd) >= 1 else f"{'−' if usd < 0 else ''}${abs(usd):.4f}"


def duration(time: timedelta | None) -> str:
    """`1 h 2 min`, `3 min 20 s`, `12 s`."""
    if time is None:
        return UNKNOWN
    seconds = max(0, round(time.total_seconds()))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def count(number: int | None) -> str:
    """A number with its thousands apart."""
    return UNKNOWN if number is None else f"{number:,}"


def plural(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""A calibration for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ragguard.app.calibrate import Calibration
from ragguard.core.calibration import Figure, Figures
from ragguard.core.text import one_line

_MOST_CHARS = 140
_RATES = (
    ("accuracy", "accuracy"),
    ("kappa", "Cohen's kappa"),
    ("auc", "AUC"),
    ("precision", "bad answers: precision"),
    ("recall", "bad answers: recall"),
    ("f1", "bad answers: F1"),
    ("good_precision", "good answers: precision"),
    ("good_recall", "good answers: recall"),
    ("good_f1", "good answers: F1"),
)


def calibration_lines(found: Calibration, show: int) -> Iterator[str]:
    """What was compared, the figures, the tags, and the first disagreements."""
    yield from (f"note: {notice}" for notice in found.notices)
    judge = ", ".join(found.judge_models) or "no judge"
    yield f"{judge} against people's `{found.label}`: {found.metric}, good from {found.threshold:.2f} on"
    yield from _counts(found)
    if not found.overall.n:
        yield "nothing could be compared"
        return
    yield ""
    yield from _overall(found.overall)
    for title, groups in (("file", found.sources), ("tag", found.tags)):
        if groups:
            yield ""
            yield from _groups(title, groups)
    yield ""
    yield from _disagreements(found, show)


def _counts(found: Calibration) -> Iterator[str]:
    yield f"{found.overall.n} answers compared: people call {found.overall.good} good and {found.overall.bad} bad"
    left_out = {
        "without a label or with tied votes": found.n_unlabelled,
        "samples without an answer": found.n_without_answer,
        "not applicable": found.n_not_applicable,
        "could not be scored": found.n_failed,
    }
    told = [f"{count} {what}" for what, count in left_out.items() if count]
    if told:
        yield f"left out: {', '.join(told)}"
    yield from (f"  {one_line(reason)[:_MOST_CHARS]}" for reason in found.reasons)
    if found.people.agreement is not None:
        yield f"people among themselves agree in {found.people.agreement:.1%} of {found.people.pairs} pairs of votes"


def _overall(overall: Figures) -> Iterator[str]:
    for field, name in _RATES:
        yield f"  {name:<26}{_with_interval(getattr(overall, field))}"
    right = overall.good - overall.false_alarms
    yield ""
    yield f"  {'':<26}{'judge: good':>12}{'judge: bad':>12}"
    yield f"  {'people: good':<26}{right:>12}{overall.false_alarms:>12}"
    yield f"  {'people: bad':<26}{overall.missed:>12}{overall.caught:>12}"


def _groups(title: str, groups: dict[str, Figures]) -> Iterator[str]:
    width = max(len(title), *(len(name) for name in groups))
    yield f"  {title:<{width}}  {'n':>5}  {'bad':>4}  {'accuracy':>8}  {'kappa':>20}  {'AUC':>5}  recall of bad answers"
    for name, one in groups.items():
        yield (
            f"  {name:<{width}}  {one.n:>5}  {one.bad:>4}  {_number(one.accuracy.value):>8}  "
            f"{_with_interval(one.kappa):>20}  {_number(one.auc.value):>5}  {_with_interval(one.recall)}"
        )


def _disagreements(found: Calibration, show: int) -> Iterator[str]:
    count = len(found.disagreements)
    yield f"{count} disagreements" + (f", the {show} furthest from the threshold:" if count > show > 0 else "")
    for each in found.disagreements[:show]:
        people, judge = ("good" if flag else "bad" for flag in (each.people, each.judge))
        yield f"  {each.id}  people: {people}, judge: {judge} ({each.score:.2f})  {each.source}"
        yield f"    question: {_short(each.question)}"
        yield f"    answer:   {_short(each.answer)}"
        yield f"    judge:    {_short(each.reason or '')}"


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _MOST_CHARS else f"{line[:_MOST_CHARS]}…"


def _with_interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return _number(figure.value)
    return f"{_number(figure.value)} [{_number(figure.low)}, {_number(figure.high)}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}".replace("-0.00", "0.00")

"""The run's facts for the fold of a report: what was evaluated, by whom, against what, and what it cost."""

from __future__ import annotations

from typing import NamedTuple

from ragguard.adapters.renderers import words
from ragguard.adapters.renderers.escaping import brief
from ragguard.core.report import Report
from ragguard.core.runs import Comparison, Execution, RunHead

LONGEST = 2_000
_NAMES = {"Judge", "Embedder", "Baseline", "Run", "Commit", "Branch"}


class Fact(NamedTuple):
    """A fact's name and value, and whether the value is a name to be copied rather than a sentence."""

    name: str
    value: str
    is_name: bool


def facts(report: Report, characters: int | None = None) -> tuple[Fact, ...]:
    """The facts in order; what does not apply is left out, what is not known is "unknown"."""
    head = report.head
    rows = [*_what(head), *_agreement(head), *_against(head), *_cost(head), *_where(report)]
    most = characters or LONGEST
    return tuple(Fact(name, brief(value, most), name in _NAMES) for name, value in rows if value)


def _what(head: RunHead) -> list[tuple[str, str]]:
    data = head.dataset
    part = f"{words.count(data.n_selected)} of {words.count(data.n_total)} samples"
    tags = f", tagged {', '.join(data.selection.tags)}" if data.selection.tags else ""
    return [
        ("Data set", f"{data.uri} ({part}{tags})"),
        ("Judge", ", ".join(head.judge_models) or "none"),
        ("Replies came from", ", ".join(head.observed.response_models)),
        ("Parameters the judge does not take", ", ".join(head.observed.dropped_params)),
        ("Embedder", head.embedder_model or ""),
        ("Coverage", words.value_text(head.coverage)),
    ]


def _agreement(head: RunHead) -> list[tuple[str, str]]:
    """How far the judges of a panel differ, and each of them from itself; nothing where each task is judged once."""
    by_task = head.agreement_by_task
    judges = [(task, one.n_compared, one.n_differing) for task, one in by_task.items() if one.n_compared]
    repeats = [(task, one.n_repeated, one.n_flipped) for task, one in by_task.items() if one.n_repeated]
    return [
        ("Vote", _vote(head)),
        ("Judges differ from each other", _shares(judges)),
        ("Judges differ from themselves when asked again", _shares(repeats)),
    ]


def _vote(head: RunHead) -> str:
    voted = sum(one.n_voted for one in head.agreement_by_task.values())
    if head.vote == "mean" or not voted:
        return ""
    tied = sum(one.n_tied for one in head.agreement_by_task.values())
    ties = f"; {words.count(tied)} of {words.plural(voted, 'verdict')} tied, where the stricter one counts"
    return f"each verdict by majority{ties if tied else ''}"


def _shares(rows: list[tuple[str, int, int]]) -> str:
    if not rows:
        return ""
    compared, differing = sum(row[1] for row in rows), sum(row[2] for row in rows)
    tasks = ", ".join(f"{task} {words.value_text(differ / there)}" for task, there, differ in rows)
    whole = (
        f"{words.count(differing)} of {words.plural(compared, 'verdict')} ({words.value_text(differing / compared)})"
    )
    return f"{whole}: {tasks}" if len(rows) > 1 else f"{whole}, {rows[0][0]}"


def _against(head: RunHead) -> list[tuple[str, str]]:
    return [
        ("Baseline", ", ".join(head.baseline_run_ids) or "none"),
        ("Data since the baseline", _data_changes(head.comparison)),
    ]


def _data_changes(comparison: Comparison) -> str:
    told = []
    for ids, what in (
        (comparison.added, "added"),
        (comparison.removed, "removed"),
        (comparison.changed, "changed, so not compared"),
    ):
        if ids.count:
            more = ", …" if ids.count > len(ids.first) else ""
            told.append(f"{words.plural(ids.count, 'sample')} {what}: {', '.join(ids.first)}{more}")
    return "; ".join(told)


def _cost(head: RunHead) -> list[tuple[str, str]]:
    usage = head.usage
    sent = f"{words.count(usage.calls)} sent, {words.count(usage.look_calls)} of them to look again"
    saved = f"{words.count(usage.carried_calls)} carried over, {words.count(usage.cached_calls)} from the cache"
    return [
        ("Judge calls", f"{sent}; {saved}"),
        ("Tokens", words.count(usage.tokens)),
        ("Cost", words.money(usage.cost_usd)),
        ("Time", _time(head.execution)),
    ]


def _time(execution: Execution) -> str:
    if execution.started_at is None or execution.finished_at is None:
        return words.UNKNOWN
    return words.duration(execution.finished_at - execution.started_at)


def _where(report: Report) -> list[tuple[str, str]]:
    head = report.head
    return [
        ("Run", head.run_id),
        ("Commit", head.commit or ""),
        ("Branch", head.branch or ""),
        ("Trigger", head.event),
        ("Exit code", str(report.exit_code)),
    ]


def looked_again(head: RunHead) -> list[str]:
    """What was judged again, and why."""
    rescored = [
        f"{key}: the baseline's answers were judged again ({why})" for key, why in head.comparison.rescored.items()
    ]
    looks = [
        f"look {note.look}, {note.metric}: {words.plural(note.n_samples, 'sample')} judged again ({note.why})"
        for note in head.comparison.looks
    ]
    return rescored + looks


def elsewhere(report: Report) -> str:
    """Where the whole of it is, in words."""
    return "in the full report" if report.links.report else "in the run's report.json and samples.jsonl"

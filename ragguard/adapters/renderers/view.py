"""What a template sees of a report: plain rows of words, cut to what its channel holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ragguard.adapters.renderers import words
from ragguard.adapters.renderers.changes import Change, change_of
from ragguard.adapters.renderers.escaping import brief, web_address
from ragguard.adapters.renderers.facts import Fact, elsewhere, facts, looked_again
from ragguard.core.reasons import MIN_SAMPLES
from ragguard.core.report import Delivery, RegressedDetail, Report, judge_tasks
from ragguard.core.runs import (
    Cause,
    JudgeTask,
    MetricSummary,
    Outcome,
    RegressedSample,
    RunHead,
    TaskAgreement,
)

ID_LENGTH = 120


@dataclass(frozen=True)
class Room:
    """How much of a report is shown: numbers of rows, and characters a foreign text may have. None: all."""

    samples: int | None = None
    metrics: int | None = None
    lines: int | None = None
    characters: int | None = None


@dataclass(frozen=True)
class MetricRow:
    """A metric's line in the table.

    Attributes:
        pinned: The pinned run that this line compares with; None: the last accepted runs.
    """

    id: str
    outcome: Outcome
    mean: str
    baseline: str
    change: str
    interval: str
    minimum: str
    verdict: str
    scored: str
    tolerance: str
    detectable: str
    reason: str
    pinned: str | None = None


@dataclass(frozen=True)
class TaskRow:
    """What one kind of judge call took; the last two are empty where each was asked once."""

    task: str
    metrics: tuple[str, ...]
    calls: str
    saved: str
    tokens: str
    cost: str
    judges_differ: str
    repeats_differ: str


@dataclass(frozen=True)
class SampleRow:
    """A regressed sample."""

    entry: RegressedSample
    before: str
    after: str
    cause: str
    change: Change


@dataclass(frozen=True)
class NextStep:
    """What to do about the samples of one cause; None for the run as a whole."""

    cause: Cause | None
    count: int
    text: str


@dataclass(frozen=True)
class View:
    """A report in words, for templates.

    Attributes:
        headline: The outcome in one sentence.
        tasks: The judge calls by task, no more of them than metrics.
        left_out: By kind (`samples`, `metrics`, `tasks`, `lines`), how many rows are not shown.
        deliveries: Notifier, and what became of it.
    """

    head: RunHead
    suite: str
    outcome: Outcome
    symbol: str
    headline: str
    reasons: tuple[str, ...]
    notices: tuple[str, ...]
    notes: tuple[str, ...]
    metrics: tuple[MetricRow, ...]
    samples: tuple[SampleRow, ...]
    n_regressed: int
    causes: tuple[tuple[Cause, int, str], ...]
    next_steps: tuple[NextStep, ...]
    facts: tuple[Fact, ...]
    tasks: tuple[TaskRow, ...]
    deliveries: tuple[tuple[str, str], ...]
    left_out: Mapping[str, int]
    run_link: str | None
    report_link: str | None
    elsewhere: str


def view_of(report: Report, room: Room | None = None) -> View:
    """Puts a report into words, no more of it than `room` allows."""
    room = room or Room()
    head = report.head
    reasons = [brief(reason, room.characters) for reason in head.reasons]
    notes = [brief(note, room.characters) for note in (*head.notes, *looked_again(head))]
    notices = [brief(notice, room.characters) for notice in head.notices]
    metrics = metric_rows(head)
    samples = report.regressed[: room.samples]
    tasks = judge_tasks(head)
    kept_lines = sum(len(lines[: room.lines]) for lines in (reasons, notices, notes))
    return View(
        head=head,
        suite=head.suite,
        outcome=head.outcome,
        symbol=words.OUTCOME_SYMBOLS[head.outcome],
        headline=headline(report),
        reasons=tuple(reasons[: room.lines]),
        notices=tuple(notices[: room.lines]),
        notes=tuple(notes[: room.lines]),
        metrics=tuple(metrics[: room.metrics]),
        samples=tuple(sample_row(detail, head, room.characters) for detail in samples),
        n_regressed=max(head.comparison.n_regressed, len(report.regressed)),
        causes=cause_counts(head),
        next_steps=next_steps(head),
        facts=facts(report, room.characters),
        tasks=tuple(task_row(task) for task in tasks[: room.metrics]),
        deliveries=tuple((sent.notifier, _delivered(sent, room.characters)) for sent in report.deliveries),
        left_out={
            "samples": max(head.comparison.n_regressed, len(report.regressed)) - len(samples),
            "tasks": len(tasks) - len(tasks[: room.metrics]),
            "metrics": len(metrics) - len(metrics[: room.metrics]),
            "lines": len(reasons) + len(notices) + len(notes) - kept_lines,
        },
        run_link=web_address(report.links.run),
        report_link=web_address(report.links.report),
        elsewhere=elsewhere(report),
    )


def headline(report: Report) -> str:
    """The outcome in one sentence, with what it means for the one who reads it."""
    head = report.head
    failing = _failing(head)
    fell = list(failing)
    told = {
        "error": "nothing can be said about this run",
        "failed": f"{', '.join(fell)} got worse" if fell else "the run got worse",
        "not_comparable": "this run cannot be compared with the baseline",
        "inconclusive": "a drop is suspected, neither proven nor cleared",
        "warned": "nothing blocks, but read this" if head.baseline_run_ids else "no baseline yet",
        "passed": "no regression found",
    }[head.outcome]
    below = [key for key, metric in failing.items() if metric.delta is None or metric.delta >= 0]
    if head.outcome == "failed" and fell and below == fell:
        told = f"{', '.join(fell)} under the minimum"
    return brief(f"{words.OUTCOME_WORDS[head.outcome].capitalize()}: {told}", 300)


def _failing(head: RunHead) -> dict[str, MetricSummary]:
    """The metrics that failed, by whichever comparison."""
    compared = (head.metrics, head.pinned.metrics if head.pinned is not None else {})
    found: dict[str, MetricSummary] = {}
    for metrics in compared:
        for key, metric in metrics.items():
            if metric.outcome == "failed":
                found.setdefault(key, metric)
    return found


def metric_rows(head: RunHead) -> list[MetricRow]:
    """A line for each metric, and a second one where the pinned run says something worse than passed."""
    rows = []
    for key, metric in head.metrics.items():
        rows.append(metric_row(key, metric))
        beside = head.pinned.metrics.get(key) if head.pinned is not None else None
        if head.pinned is not None and beside is not None and beside.outcome != "passed":
            rows.append(metric_row(key, beside, head.pinned.run_id))
    return rows


def metric_row(key: str, metric: MetricSummary, pinned: str | None = None) -> MetricRow:
    """A metric in words."""
    mean = words.value_text(metric.mean, metric.unit)
    return MetricRow(
        id=key,
        outcome=metric.outcome,
        mean=mean if metric.aggregate == "mean" else f"{mean} ({metric.aggregate})",
        baseline=words.value_text(metric.baseline_mean, metric.unit) if metric.m else "none",
        change=words.metric_change_text(metric) if metric.m else "none",
        interval=words.interval_text(metric.ci_low, metric.ci_high, metric.unit),
        minimum=words.floor_text(metric),
        verdict=words.outcome_text(metric.outcome),
        scored=words.scored_text(metric),
        tolerance=words.tolerance_text(metric),
        detectable=words.detectable_text(metric),
        reason=metric.reason,
        pinned=brief(pinned, ID_LENGTH) if pinned is not None else None,
    )


def task_row(task: JudgeTask) -> TaskRow:
    """A task's calls in words."""
    usage = task.usage
    agreement = task.agreement or TaskAgreement()
    return TaskRow(
        task=brief(task.task, ID_LENGTH),
        metrics=tuple(brief(metric, ID_LENGTH) for metric in task.metrics),
        calls=words.count(usage.calls),
        saved=words.count(usage.carried_calls + usage.cached_calls),
        tokens=words.count(usage.tokens),
        cost=words.money(usage.cost_usd),
        judges_differ=words.value_text(agreement.disagreement) if agreement.n_compared else "",
        repeats_differ=words.value_text(agreement.flip_rate) if agreement.n_repeated else "",
    )


def sample_row(detail: RegressedDetail, head: RunHead, characters: int | None) -> SampleRow:
    """A regressed sample in words, its texts cut to `characters`."""
    entry = detail.entry
    metric = head.metrics.get(entry.metric)
    unit = metric.unit if metric else "fraction"
    change = change_of(detail)
    return SampleRow(
        entry=entry.model_copy(update={"id": brief(entry.id, ID_LENGTH)}),
        before=words.value_text(entry.before, unit),
        after=words.value_text(entry.after, unit),
        cause=words.CAUSE_WORDS[entry.cause],
        change=_cut(change, characters),
    )


def _cut(change: Change, most: int | None) -> Change:
    def cut(text: str | None) -> str | None:
        return None if text is None else brief(text, most)

    passage = change.passage
    return Change(
        cut(change.question),
        replace(change.before, text=cut(change.before.text) or "") if change.before else None,
        replace(change.after, text=cut(change.after.text) or "") if change.after else None,
        replace(passage, label=brief(passage.label, ID_LENGTH), text=cut(passage.text)) if passage else None,
    )


def cause_counts(head: RunHead) -> tuple[tuple[Cause, int, str], ...]:
    """How many regressed samples each cause has, and what the cause means."""
    counts = head.comparison.causes
    return tuple((cause, counts[cause], words.CAUSE_WORDS[cause]) for cause in words.CAUSES if counts.get(cause))


def next_steps(head: RunHead) -> tuple[NextStep, ...]:
    """What to do next, by cause; for the run as a whole where no sample's cause tells."""
    steps = [NextStep(cause, number, words.NEXT_BY_CAUSE[cause]) for cause, number, _ in cause_counts(head)]
    general = words.NEXT_BY_OUTCOME[head.outcome]
    if head.outcome == "passed":
        return (NextStep(None, 0, general),)
    if head.outcome == "warned" and not head.baseline_run_ids:
        general = "Nothing: a run of the base branch that passes becomes the baseline."
    if head.outcome == "inconclusive" and (few := _too_few(head)):
        general = (
            f"Add samples: {words.plural(few, 'sample')} can neither prove nor clear a drop, {MIN_SAMPLES} are the "
            "least and 100 see drops of a few points. Running again or more baseline runs would not help."
        )
    if head.outcome == "failed" and not steps:
        general = "Read the metrics that failed, and open the full report for their lowest samples."
    return (*((NextStep(None, 0, general),) if general else ()), *steps)


def _too_few(head: RunHead) -> int:
    """The pairs of the metrics that are inconclusive for want of samples; 0 where another reason is among them."""
    pairs = [metric.n_pairs for metric in head.metrics.values() if metric.outcome == "inconclusive"]
    return max(pairs) if pairs and max(pairs) < MIN_SAMPLES and head.policy.get("rule") != "threshold" else 0


def _delivered(sent: Delivery, characters: int | None) -> str:
    told = ": ".join(part for part in ("sent" if sent.ok else "failed", sent.detail) if part)
    return brief(told, characters)

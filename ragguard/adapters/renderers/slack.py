"""A run as a Slack message: outcome, the metrics that fell, the worst samples, buttons; the rest as details.

Blocks are plain mappings in Slack's Block Kit. What does not fit is counted, with a word about where it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragguard.adapters.renderers import words
from ragguard.adapters.renderers.mrkdwn import LONGEST_SECTION, mrkdwn, name, plain, units, within
from ragguard.adapters.renderers.view import ID_LENGTH, MetricRow, Room, SampleRow, View, view_of
from ragguard.core.report import Links, Report
from ragguard.errors import RagguardError

Block = dict[str, Any]
MOST_CHARACTERS = 12_000
"""Of a whole message, blocks written as JSON; Slack takes about 13,200."""
WORST = 3
DETAILED = 12
_FIELDS = 10
_LONGEST_HEADER = 150
_LONGEST_URL = 3_000
_METRICS = 40
_ERROR_DETAILS = 10


@dataclass(frozen=True)
class SlackMessage:
    """A message, and the reply that holds its details.

    Attributes:
        text: For notifications, and where blocks cannot be shown.
        blocks: The message.
        details: The reply; empty for none.
    """

    text: str
    blocks: tuple[Block, ...]
    details: tuple[Block, ...] = ()


def render_slack(report: Report, *, recovered: bool = False) -> SlackMessage:
    """Puts a run into a message that Slack takes, however much foreign text the run holds.

    Args:
        report: What to tell.
        recovered: The suite's last verdict was a failure, and this one is none.
    """
    view = view_of(report, Room(samples=DETAILED, metrics=_METRICS, lines=10))
    title = f"{view.symbol} {'Recovered: ' if recovered else ''}{view.headline}"
    return SlackMessage(
        text=mrkdwn(f"{title} ({view.suite})", 300),
        blocks=_fitted(view, title, report.links),
        details=_details(view),
    )


def render_slack_error(suite: str, branch: str | None, error: Exception, links: Links) -> SlackMessage:
    """Tells of a run that could not be done, so that there is no report."""
    title = f"{words.OUTCOME_SYMBOLS['error']} Error: nothing can be said about this run"
    message, mend = (error.message, error.mend) if isinstance(error, RagguardError) else (str(error), None)
    details = error.details if isinstance(error, RagguardError) else ()

    def lines(most: int) -> str:
        shown = [f"• {mrkdwn(detail, most)}" for detail in details[:_ERROR_DETAILS]]
        missing = len(details) - len(shown)
        more = [f"• and {missing} more: in the run's log"] if missing else []
        ending = [f"*What to do:* {mrkdwn(mend, most)}"] if mend else []
        return "\n".join([_where(suite, branch), mrkdwn(message, 2 * most), *shown, *more, *ending])

    blocks = (_header(title), _section(within(lines)), *_buttons(links))
    return SlackMessage(mrkdwn(f"{title} ({suite})", 300), blocks)


def _fitted(view: View, title: str, links: Links) -> tuple[Block, ...]:
    """As many of the worst samples as fit, at most three."""
    blocks: tuple[Block, ...] = ()
    for number in range(WORST, -1, -1):
        blocks = tuple(_message(view, title, links, view.samples[:number]))
        if size_of(blocks) <= MOST_CHARACTERS:
            break
    return blocks


def _message(view: View, title: str, links: Links, samples: Sequence[SampleRow]) -> Iterator[Block]:
    told = [metric for metric in view.metrics if metric.outcome not in {"passed", "warned"}] or list(view.metrics)
    yield _header(title)
    yield _section(within(lambda most: "\n".join([_where(view.suite, view.head.branch), *_reasons(view, most)])))
    if told:
        yield {"type": "section", "fields": [_mrkdwn(_metric_field(metric)) for metric in told[:_FIELDS]]}
    for sample in samples:
        yield _section(within(lambda most, sample=sample: "\n".join(_sample_lines(sample, most)), 1_500))  # type: ignore[misc]
    missing = _missing(view, len(samples), len(told) - len(told[:_FIELDS]))
    if missing:
        yield _context(missing)
    yield from _buttons(links)


def _where(suite: str, branch: str | None) -> str:
    return f"suite {name(suite)}" + (f" on {name(branch)}" if branch else "")


def _reasons(view: View, most: int) -> list[str]:
    told = [*view.reasons[:3], *view.notices[:2]]
    more = len(view.reasons) - len(view.reasons[:3])
    lines = [f"• {mrkdwn(reason, 2 * most)}" for reason in told]
    return [*lines, f"• and {words.plural(more, 'more reason')}"] if more else lines


def _metric_name(metric: MetricRow) -> str:
    beside = f" beside the pinned run {name(metric.pinned, 60)}" if metric.pinned is not None else ""
    return f"{name(metric.id, 60)}{beside}"


def _metric_field(metric: MetricRow) -> str:
    change = f"\n{mrkdwn(metric.change)} {mrkdwn(metric.interval)}".rstrip() if metric.change != "none" else ""
    minimum = f"\nminimum {mrkdwn(metric.minimum)}" if metric.minimum != "none" else ""
    was = f", was {mrkdwn(metric.baseline)}" if metric.baseline != "none" else ""
    return f"{_metric_name(metric)} {mrkdwn(metric.verdict)}\n*{mrkdwn(metric.mean)}*{was}{change}{minimum}"


def _sample_lines(sample: SampleRow, most: int) -> Iterator[str]:
    entry, change = sample.entry, sample.change
    doubt = "" if entry.confirmed else ", unconfirmed"
    fall = f"{mrkdwn(sample.before)} → *{mrkdwn(sample.after)}*"
    yield f"{name(entry.id, min(most, ID_LENGTH))} {name(entry.metric, 60)} {fall} ({entry.cause}{doubt})"
    if change.question is not None:
        yield f"question: “{mrkdwn(change.question, most)}”"
    for label, said in (("before", change.before), ("now", change.after)):
        if said is not None:
            verdict = words.VERDICT_WORDS.get(said.verdict, said.verdict) if said.verdict else ""
            yield f"{label}: “{mrkdwn(said.text, most)}”" + (f" — {mrkdwn(verdict, 40)}" if verdict else "")


def _missing(view: View, samples: int, metrics: int) -> str:
    left_out = [
        (view.n_regressed - samples, "more regressed sample"),
        (metrics + view.left_out["metrics"], "more metric"),
    ]
    told = [words.plural(number, noun) for number, noun in left_out if number > 0]
    return f"{' and '.join(told)}: in the thread and {view.elsewhere}" if told else ""


def _details(view: View) -> tuple[Block, ...]:
    """All metrics, further samples and what to do, as many as fit."""
    ending = _section(within(lambda most: "\n".join(_next_steps(view, most))))
    blocks = list(_metric_sections(view))
    shown = 0
    for sample in view.samples[WORST:]:
        block = _section(within(lambda most, sample=sample: "\n".join(_sample_lines(sample, most)), 1_200))  # type: ignore[misc]
        if size_of((*blocks, block, ending)) > MOST_CHARACTERS - 500:
            break
        blocks.append(block)
        shown += 1
    left_out = view.n_regressed - min(WORST, len(view.samples)) - shown
    if left_out > 0:
        blocks.append(_context(f"{words.plural(left_out, 'more regressed sample')}: {view.elsewhere}"))
    return (*blocks, ending)


def _metric_sections(view: View) -> Iterator[Block]:
    """A line for each metric, in at most half of a message's room."""
    lines: list[str] = []
    room = MOST_CHARACTERS // 2
    for metric in view.metrics:
        line = _metric_line(metric)
        room -= units(line) + 1
        if room < 0:
            break
        lines.append(line)
    for chunk in _chunks(lines, LONGEST_SECTION):
        yield _section(chunk)
    left_out = len(view.metrics) - len(lines) + view.left_out["metrics"]
    if left_out:
        yield _context(f"{words.plural(left_out, 'more metric')}: {view.elsewhere}")


def _metric_line(metric: MetricRow) -> str:
    parts = [f"*{mrkdwn(metric.mean)}*", f"baseline {mrkdwn(metric.baseline)}", f"change {mrkdwn(metric.change)}"]
    return f"{_metric_name(metric)} {', '.join(parts)} {mrkdwn(metric.interval)} — {mrkdwn(metric.verdict)}"


def _chunks(lines: Sequence[str], most: int) -> Iterator[str]:
    chunk: list[str] = []
    for line in lines:
        if chunk and units("\n".join([*chunk, line])) > most:
            yield "\n".join(chunk)
            chunk = []
        chunk.append(line)
    if chunk:
        yield "\n".join(chunk)


def _next_steps(view: View, most: int) -> Iterator[str]:
    yield "*What to do next*"
    for step in view.next_steps:
        cause = f"{step.cause} ({step.count}): " if step.cause else ""
        yield f"• {cause}{mrkdwn(step.text)}"
    if view.run_link is None and view.report_link is None:
        yield f"The run is {name(view.head.run_id, min(most, 80))}."


def _header(title: str) -> Block:
    return {"type": "header", "text": {"type": "plain_text", "text": plain(title, _LONGEST_HEADER), "emoji": False}}


def _section(text: str) -> Block:
    return {"type": "section", "text": _mrkdwn(text)}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [_mrkdwn(text)]}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text or " ", "verbatim": True}


def _buttons(links: Links) -> Iterator[Block]:
    named = (("Full report", links.report), ("CI run", links.run))
    buttons = [
        {"type": "button", "text": {"type": "plain_text", "text": words_, "emoji": False}, "url": address,
         "action_id": f"open-{number}"}
        for number, (words_, address) in enumerate(named)
        if address and re.fullmatch(r"https?://[^\s<>|\"'`\\]+", address) and units(address) <= _LONGEST_URL
    ]  # fmt: skip
    if buttons:
        yield {"type": "actions", "elements": buttons}


def size_of(blocks: Sequence[Block]) -> int:
    """The size of blocks as they are sent."""
    return units(json.dumps(blocks, ensure_ascii=False))

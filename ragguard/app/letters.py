"""What is told of a run, put into words for every channel, without a secret in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ragguard.adapters.notifiers.base import Letter, MarkdownName
from ragguard.adapters.notifiers.redaction import Redactor
from ragguard.adapters.renderers.escaping import link, markdown
from ragguard.adapters.renderers.markdown import render_markdown
from ragguard.adapters.renderers.remarks import remarks_of
from ragguard.adapters.renderers.slack import SlackMessage, render_slack, render_slack_error
from ragguard.adapters.renderers.view import headline
from ragguard.adapters.renderers.words import OUTCOME_SYMBOLS
from ragguard.app.context import RunContext
from ragguard.core.report import RegressedDetail, Report
from ragguard.errors import ExitCode, RagguardError

_LONGEST_LINE = 200
_DETAILS = 20


def letter_of(report: Report, *, recovered: bool, redact: Redactor, templates: Path | None = None) -> Letter:
    """A run's letter.

    Args:
        report: The run.
        recovered: The suite's last verdict was a failure, and this one is none.
        redact: Takes secrets out: before anything is rendered, since escaping would hide them from it, and after.
        templates: A folder whose templates win over the ones that come with ragguard.
    """
    told = _redacted(report, redact)
    head = told.head

    def render(channel: MarkdownName) -> str:
        if channel == "line":
            return _line(OUTCOME_SYMBOLS[head.outcome], headline(told), report.links.run)
        return redact(render_markdown(told, channel, templates=templates))

    return Letter(
        suite=head.suite,
        branch=head.branch,
        run_id=head.run_id,
        outcome=head.outcome,
        headline=headline(told),
        exit_code=report.exit_code,
        markdown=render,
        slack=lambda: _redacted_slack(render_slack(told, recovered=recovered), redact),
        remarks=lambda: remarks_of(told),
        fell=tuple(key for key, metric in head.metrics.items() if metric.outcome == "failed"),
        links=report.links,
        recovered=recovered,
        interrupted=report.exit_code == ExitCode.INTERRUPTED,
    )


def letter_of_error(error: BaseException, suite: str, context: RunContext, redact: Redactor) -> Letter:
    """The letter of a run that ended without a report."""
    known = error if isinstance(error, RagguardError) else None
    interrupted = not isinstance(error, Exception)
    told = RagguardError(
        redact(known.message if known else _unexpected(error)),
        mend=redact(known.mend) if known and known.mend else None,
        details=tuple(map(redact, _first(known.details))) if known else (),
    )
    headline_ = "Interrupted" if interrupted else "Error: nothing can be said about this run"
    symbol = OUTCOME_SYMBOLS["error"]

    def render(channel: MarkdownName) -> str:
        if channel == "line":
            return _line(symbol, headline_, context.links.run)
        return _error_markdown(f"{symbol} {headline_}", suite, told, context.links.run)

    return Letter(
        suite=suite,
        branch=context.branch,
        run_id=context.run_id,
        outcome="error",
        headline=headline_,
        exit_code=ExitCode.INTERRUPTED if interrupted else known.exit_code if known else ExitCode.BUG,
        markdown=render,
        slack=lambda: render_slack_error(suite, context.branch, told, context.links),
        links=context.links,
        interrupted=interrupted,
    )


def _unexpected(error: BaseException) -> str:
    return f"a bug in ragguard: {type(error).__name__}: {error}" if isinstance(error, Exception) else "interrupted"


def _first(details: Sequence[str]) -> Iterator[str]:
    yield from details[:_DETAILS]
    if len(details) > _DETAILS:
        yield f"and {len(details) - _DETAILS} more"


def _line(symbol: str, words: str, address: str | None) -> str:
    told = f"{symbol} {markdown(words[:_LONGEST_LINE])}"
    return f"{told} · {link(address, 'run')}" if address else told


def _error_markdown(title: str, suite: str, error: RagguardError, address: str | None) -> str:
    def cut(text: str) -> str:
        return markdown(text[:1_000])

    parts = [f"### {title}", f"suite: {cut(suite)}", cut(error.message)]
    if error.details:
        parts.append("\n".join(f"- {cut(detail)}" for detail in error.details))
    if error.mend:
        parts.append(f"**What to do next:** {cut(error.mend)}")
    if address:
        parts.append(link(address, "CI run"))
    return "\n\n".join(parts) + "\n"


def _redacted(report: Report, redact: Redactor) -> Report:
    def side(detail: RegressedDetail) -> RegressedDetail:
        before, after = (None if one is None else redact.model(one) for one in (detail.before, detail.after))
        return RegressedDetail(redact.model(detail.entry), before, after)

    return replace(report, head=redact.model(report.head), regressed=tuple(side(one) for one in report.regressed))


def _redacted_slack(message: SlackMessage, redact: Redactor) -> SlackMessage:
    blocks, details = (tuple(redact.deep(part)) for part in (message.blocks, message.details))
    return SlackMessage(redact(message.text), blocks, details)

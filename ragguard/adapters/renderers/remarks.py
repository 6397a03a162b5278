"""Remarks on the data set's lines, one for each regressed sample: plain words, for annotations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ragguard.adapters.renderers.escaping import brief
from ragguard.adapters.renderers.view import Room, SampleRow, view_of
from ragguard.core.report import Report

_CHARACTERS = 300


@dataclass(frozen=True)
class SampleRemark:
    """What is to be said at a line of the data set.

    Attributes:
        line: From 1; 0 where it is not known.
    """

    line: int
    level: Literal["error", "warning", "notice"]
    title: str
    text: str


def remarks_of(report: Report) -> tuple[SampleRemark, ...]:
    """One remark for each regressed sample that the report holds, the worst first."""
    view = view_of(report, Room(characters=_CHARACTERS))
    level: Literal["error", "warning"] = "error" if report.head.outcome == "failed" else "warning"
    return tuple(
        SampleRemark(
            line=row.entry.line,
            level=level,
            title=brief(f"{row.entry.metric} fell: {row.entry.id}", 120),
            text="\n".join(_lines(row)),
        )
        for row in view.samples
    )


def _lines(row: SampleRow) -> Iterator[str]:
    doubt = "" if row.entry.confirmed else ", unconfirmed"
    yield f"{row.before} → {row.after} ({row.entry.cause}: {row.cause}{doubt})"
    if row.change.before is not None:
        yield f"before: {row.change.before.text}"
    if row.change.after is not None:
        yield f"now: {row.change.after.text}"

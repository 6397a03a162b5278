"""Markdown for people: the outcome first, then why, then the rest; fitted to where it is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragguard.core.report import Report

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
ChannelName = Literal["file", "comment", "check", "issue", "summary"]


@dataclass(frozen=True)
class Channel:
    """Where Markdown is shown.

    Attributes:
        template: The template's name.
        samples: Regressed samples shown at most; None for all.
        characters: Characters of one foreign text shown at most.
        most: The platform's limit; None for none.
        unit: What the limit counts.
        reserve: Kept free for what the sender adds.
    """

    template: str
    samples: int | None
    characters: int
    most: int | None = None
    unit: Literal["characters", "bytes"] = "characters"
    reserve: int = 1_024


CHANNELS: dict[ChannelName, Channel] = {
    "file": Channel("report.md.j2", None, 1_000),
    "comment": Channel("comment.md.j2", 5, 280, 65_536),
    "check": Channel("check.md.j2", 20, 500, 65_535),
    "issue": Channel("issue.md.j2", 10, 400, 65_536),
    # A step's summary is shared by everything that the step writes.
    "summary": Channel("summary.md.j2", 20, 500, 1_048_576, "bytes", 65_536),
}


def render_markdown(report: Report, channel: ChannelName = "file", *, templates: Path | None = None) -> str:
    """Renders a report for a channel, never larger than the channel holds.

    Args:
        report: What to tell.
        channel: Where it is shown.
        templates: A folder whose templates win over the ones that come with ragguard.

    Raises:
        TemplateError: A template cannot be rendered.
    """
    from ragguard.adapters.renderers.budget import Limit, fit
    from ragguard.adapters.renderers.environment import markdown_environment, rendered
    from ragguard.adapters.renderers.view import Room, metric_rows, view_of

    place = CHANNELS[channel]

    def render(room: Room) -> str:
        text = rendered(markdown_environment, templates, place.template, report=view_of(report, room), channel=channel)
        return _BLANK_LINES.sub("\n\n", text.strip()) + "\n"

    return fit(
        render,
        Room(samples=place.samples, characters=place.characters),
        Limit(place.most, place.unit, place.reserve if place.most is not None else 0),
        (len(report.regressed), len(metric_rows(report.head))),
    )

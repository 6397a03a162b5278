"""Remarks on the data set's lines in a CI job and in the changed files: workflow commands on standard output.

The runner reads a command from any line, so that no foreign text may end a line or a property of ours: see `escaped`.
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from ragguard.adapters.notifiers.base import Letter, Notifier, Remark, Secrets, Surroundings
from ragguard.adapters.notifiers.patience import Patience

MOST = 10
"""Of each level and step, as the runner keeps them."""
LONGEST_MESSAGE = 4_096
_CONTROL = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


class Annotations(Notifier):
    """Annotations of the job, by commands to its runner."""

    type: Literal["annotations"] = "annotations"
    inward: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Who or what is told, for people."""
        return "annotations"

    @property
    def tells(self) -> str:
        """What is sent, for people."""
        return f"at most {MOST} remarks on the data set's lines of the samples that fell"

    def is_here(self, at: Surroundings) -> bool:
        """Whether a runner reads commands."""
        return at.in_actions

    def send(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> str:
        """Writes the commands; where there are more remarks than a runner keeps, the last one says so."""
        remarks = list(letter.remarks())
        shown = remarks if len(remarks) <= MOST else remarks[: MOST - 1]
        for remark in shown:
            at.command(command(remark, at.dataset))
        left_out = len(remarks) - len(shown)
        if left_out:
            at.command(f"::notice title=ragguard::{left_out} more samples fell: see the report")
        return f"{len(shown)} written" + (f", {left_out} left out: see the report" if left_out else "")


def command(remark: Remark, path: str | None) -> str:
    """A remark as the runner reads it."""
    properties = {"title": remark.title}
    if path is not None and remark.line > 0:
        properties = {"file": path, "line": str(remark.line), **properties}
    named = ",".join(f"{name}={escaped(value, _PROPERTY)}" for name, value in properties.items())
    return f"::{remark.level} {named}::{escaped(remark.text[:LONGEST_MESSAGE], _DATA)}"


def escaped(text: str, table: dict[str, str]) -> str:
    """Percent-encodes what ends a message or a property; other ends of lines and control characters become blanks."""
    safe = _CONTROL.sub(" ", text).replace("##[", "# #[")
    return "".join(table.get(char, char) for char in safe)

"""One fault and what must come of it: the test asserts each field, and the table in docs/reliability.md prints them."""

from __future__ import annotations

from dataclasses import dataclass

PARTS = ("judge", "embedder", "target", "data set", "store", "GitHub", "Slack", "disk", "process")
"""The order of the table."""


@dataclass(frozen=True)
class Fault:
    """A fault of a part outside and what a run makes of it.

    Attributes:
        part: One of PARTS.
        name: What breaks, in words that a reader of the table understands.
        outcome: The run's outcome, as `run.json` has it; `-` where there is no run.
        exit_code: The command's exit code.
        kept: What is there afterwards, in a few words.
        says: A regular expression that the report's reasons or the command's output must match.
        shown: What the table prints in its place, where the expression is no prose.
    """

    part: str
    name: str
    outcome: str
    exit_code: int
    kept: str
    says: str
    shown: str = ""

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise ValueError(f"no part {self.part!r}")

    @property
    def id(self) -> str:
        """Its name among the tests."""
        return f"{self.part}: {self.name}"

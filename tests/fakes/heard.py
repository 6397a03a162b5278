"""Progress that is remembered instead of shown."""

from __future__ import annotations

from ragguard.app.progress import Silent


class Heard(Silent):
    """Remembers what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)

    @property
    def undelivered(self) -> list[str]:
        return [line for line in self.lines if line.startswith("not delivered: ")]

"""One attack: the test asserts that it fails, and the table in SECURITY.md tells who might try it and what stops it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

KINDS = (
    "prompt injection",
    "report injection",
    "workflow commands",
    "paths and links",
    "addresses",
    "bombs",
    "cache and store",
    "pull requests",
    "secrets",
    "artifacts",
)
"""The order of the table."""
WHO = {
    "fork": "author of a pull request from a fork",
    "branch": "author of a pull request who can push branches",
    "data": "owner of questions, passages or references",
    "app": "the RAG app, by its answers",
    "provider": "judge, embedder or their server",
    "store": "whoever can write the store of runs",
}
"""Who attacks."""
Test = TypeVar("Test", bound=Callable[..., object])


@dataclass(frozen=True)
class Attack:
    """An attack that fails.

    Attributes:
        kind: One of KINDS.
        name: What is tried, in words that a reader of the table understands.
        who: Keys of WHO.
        gain: What it would give.
        stopped: What stops it.
    """

    kind: str
    name: str
    who: tuple[str, ...]
    gain: str
    stopped: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not self.who or not set(self.who) <= WHO.keys():
            raise ValueError(f"{self.name}: no such kind or attacker")


@dataclass
class Attacks:
    """The attacks of one kind; each belongs to the test that tries it."""

    kind: str
    known: list[Attack] = field(default_factory=list)

    def tried(self, name: str, who: str, gain: str, stopped: str) -> Callable[[Test], Test]:
        """Marks a test as the trial of an attack.

        Args:
            name: See `Attack`.
            who: Keys of WHO, separated by blanks.
            gain: See `Attack`.
            stopped: See `Attack`.
        """

        def mark(test: Test) -> Test:
            if not test.__name__.startswith("test_"):
                raise ValueError(f"{test.__name__} is no test")
            self.known.append(Attack(self.kind, name, tuple(who.split()), gain, stopped))
            return test

        return mark

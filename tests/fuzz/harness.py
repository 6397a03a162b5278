"""Properties that run as tests with a few fixed examples, and by `tests.fuzz.long` with many new ones."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy

from ragguard.core.printable import harmless
from ragguard.entrypoints.cli import run_cli
from ragguard.errors import RagguardError
from tests.unit.adapters.renderers.reading import controls

Check = Callable[..., None]
_PHASES = (Phase.generate, Phase.shrink)
CLEAN_EXITS = {0, 1, 2, 3, 4}
_NO_NUMBER = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Property:
    """A check, and what it is tried on."""

    name: str
    check: Check
    strategies: dict[str, SearchStrategy[Any]]

    def test(self, **how: Any) -> Callable[[], None]:
        """The property as a test that is run with these hypothesis settings."""
        tried: Callable[[], None] = settings(database=None, phases=_PHASES, **how)(given(**self.strategies)(self.check))
        return tried


PROPERTIES: list[Property] = []


def fuzzed(examples: int, **strategies: SearchStrategy[Any]) -> Callable[[Check], Callable[[], None]]:
    """Makes a check a test of so many examples, the same in every run."""

    def register(check: Check) -> Callable[[], None]:
        found = Property(f"{check.__module__.rpartition('.')[2]}::{check.__name__}", check, strategies)
        PROPERTIES.append(found)
        return found.test(max_examples=examples, derandomize=True)

    return register


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder of one example."""
    with tempfile.TemporaryDirectory(prefix="ragguard-fuzz-") as name:
        yield Path(name)


T = TypeVar("T")


def attempt(act: Callable[[], T], codes: Collection[int] = (2,)) -> T | None:
    """What comes of an act; None where it is refused, in words and with one of these exit codes."""
    try:
        return act()
    except RagguardError as error:
        refused = error
    assert int(refused.exit_code) in codes, refused
    assert refused.message.strip()
    assert "Traceback" not in str(refused)
    assert not controls(harmless(str(refused).encode("utf-8", "backslashreplace").decode()))
    return None


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


def command(*arguments: str, folder: Path | None = None) -> Said:
    """Runs a command in this process; makes sure that it ended as a command may end."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(2))
    before = Path.cwd()
    try:
        os.chdir(folder or before)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_cli(list(arguments))
    finally:
        os.chdir(before)
    said = Said(int(code), *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]
    assert said.code in CLEAN_EXITS, said
    assert "Traceback (most recent call last)" not in said.out + said.err, said
    if said.code not in {0, 1, 3}:
        assert said.err.strip(), f"exit code {said.code} without a word"
    return said


def strict_json(text: str | bytes) -> Any:
    """Parses JSON as a strict reader does: no NaN, no infinity."""

    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


def no_nan(text: str) -> None:
    """Makes sure that no number is shown that is none."""
    assert not _NO_NUMBER.search(text), _NO_NUMBER.search(text)

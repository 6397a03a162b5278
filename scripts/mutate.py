"""Breaks the fail-closed logic on purpose, one place after another, and wants tests to notice: `mutate.py [WORDS]`.

The breaks stand in `mutants.toml`. Each is put into a copy of the tree, in which the tests that are named for it run.
One that no test notices survives: then a test is missing. Exits with 1 if any survives, cannot be put in, or breaks
the tests so that none runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[1]
MUTANTS = Path(__file__).with_name("mutants.toml")
_COPIED = ("ragguard", "tests", "templates", "examples", "benchmarks", "docs", "scripts")
_FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "action.yml", "Dockerfile", "Makefile")
_TESTS_FAILED = 1
_SECONDS = 600

Fate = Literal["killed", "SURVIVED", "NOT FOUND", "BROKEN"]


@dataclass(frozen=True)
class Mutant:
    """One break.

    Attributes:
        old: Stands in the file exactly once.
        new: What takes its place.
        tests: Of these at least one test must fail.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def put_in(self, root: Path) -> bool:
        """Breaks the file below a root; False where the old text does not stand there exactly once."""
        path = root / self.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if text.count(self.old) != 1:
            return False
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")
        return True


def read_mutants(path: Path = MUTANTS) -> list[Mutant]:
    """Reads the breaks, in their order."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**table, "tests": tuple(table["tests"])}) for table in tables]


def copy_tree(target: Path) -> None:
    """Copies what the tests need; no compiled module, which could stand in for a source that was changed."""
    for name in _COPIED:
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__", ".ragguard"))
    for name in _FILES:
        shutil.copy2(ROOT / name, target / name)


def run_tests(root: Path, tests: Iterable[str]) -> tuple[int, str]:
    """Runs test files in a copy; gives pytest's exit code and its output."""
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    return done.returncode, done.stdout + done.stderr


def fate_of(mutant: Mutant, root: Path) -> tuple[Fate, str]:
    """Puts a mutant in, runs its tests and takes it out again; tells what became of it and which test noticed."""
    path = root / mutant.file
    whole = path.read_bytes() if path.is_file() else b""
    if not mutant.put_in(root):
        return "NOT FOUND", f"the old text does not stand exactly once in {mutant.file}"
    try:
        code, output = run_tests(root, mutant.tests)
    except subprocess.TimeoutExpired:
        return "BROKEN", f"the tests did not end in {_SECONDS} s"
    finally:
        path.write_bytes(whole)
    if code == 0:
        return "SURVIVED", ", ".join(mutant.tests)
    failed = re.findall(r"^FAILED (tests\S+|test_\S+)", output, re.MULTILINE)
    if code != _TESTS_FAILED or not failed:
        return "BROKEN", f"pytest exits with {code}: {output.strip().splitlines()[-1:]}"
    return "killed", failed[-1]


def main(words: Sequence[str]) -> int:
    """Runs the mutants whose name or file holds one of the words, all without any; returns the exit code."""
    mutants = [one for one in read_mutants() if not words or any(word in f"{one.name} {one.file}" for word in words)]
    with tempfile.TemporaryDirectory(prefix="ragguard-mutants-") as scratch:
        root = Path(scratch)
        copy_tree(root)
        code, output = run_tests(root, sorted({test for mutant in mutants for test in mutant.tests}))
        if code != 0:
            print(f"the tests fail without any mutant:\n{output[-3000:]}")
            return 1
        print("| fate | mutant | noticed by |\n|:--|:--|:--|", flush=True)
        fates = []
        for mutant in mutants:
            fate, told = fate_of(mutant, root)
            fates.append(fate)
            print(f"| {fate} | {mutant.name} ({mutant.file}) | {told} |", flush=True)
    killed = fates.count("killed")
    print(f"\n{killed} of {len(fates)} killed")
    return 0 if fates and killed == len(fates) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

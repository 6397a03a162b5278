"""The breaks of the fail-closed logic can still be put in: each old text stands in its file, once, and its tests exist."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutate", ROOT / "scripts" / "mutate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutate"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


MUTATE = _script()
MUTANTS = MUTATE.read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_put_in(mutant: object, tmp_path: Path) -> None:
    name = mutant.file  # type: ignore[attr-defined]
    before = (ROOT / name).read_text(encoding="utf-8")
    copy = tmp_path / name
    copy.parent.mkdir(parents=True)
    copy.write_text(before, encoding="utf-8")
    assert mutant.put_in(tmp_path), f"`old` of {mutant.name!r} does not stand exactly once in {name}"  # type: ignore[attr-defined]
    compile(copy.read_text(encoding="utf-8"), name, "exec")
    assert copy.read_text(encoding="utf-8") != before
    assert mutant.tests  # type: ignore[attr-defined]
    assert [test for test in mutant.tests if not (ROOT / test).is_file()] == []  # type: ignore[attr-defined]


def test_there_are_many_and_no_two_are_the_same() -> None:
    assert len(MUTANTS) >= 50
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


def test_what_cannot_be_put_in_or_survives_is_told(tmp_path: Path) -> None:
    (tmp_path / "some_code.py").write_text("VALUE = 1\nOTHER = 1\n", encoding="utf-8")
    (tmp_path / "test_code.py").write_text(
        "from some_code import VALUE\n\ndef test() -> None:\n    assert VALUE == 1\n", encoding="utf-8"
    )

    def fate(old: str, new: str) -> str:
        mutant = MUTATE.Mutant("m", "some_code.py", old, new, ("test_code.py",))
        return str(MUTATE.fate_of(mutant, tmp_path)[0])

    assert fate("VALUE = 1", "VALUE = 2") == "killed"
    assert fate("OTHER = 1", "OTHER = 2") == "SURVIVED"
    assert fate("= 1", "= 2") == "NOT FOUND"
    assert fate("VALUE = 1", "VALUE = (") == "BROKEN"
    assert (tmp_path / "some_code.py").read_text(encoding="utf-8") == "VALUE = 1\nOTHER = 1\n"

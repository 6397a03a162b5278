"""Whether a target is there, found out without running it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ragguard.adapters.targets.command import CommandTarget
from ragguard.adapters.targets.http import HttpTarget
from ragguard.adapters.targets.python import PythonTarget
from ragguard.errors import UserInputError

SOURCE = """
raise SystemExit("nobody may run this")
from elsewhere import borrowed as lent
class App:
    def answer(self, question): ...
if True:
    async def later(question): ...
app = App()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pkg_x").mkdir()
    (tmp_path / "pkg_x" / "__init__.py").write_text("raise SystemExit('nor this')", encoding="utf-8")
    (tmp_path / "pkg_x" / "rag.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "open_x.py").write_text("from pkg_x.rag import *\n", encoding="utf-8")
    (tmp_path / "broken_x.py").write_text("def (", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["pkg_x.rag:later", "pkg_x.rag:app.answer", "pkg_x.rag:lent", "open_x:anything", "broken_x:f", "sys:exit"]
)
def test_what_is_there_or_cannot_be_known_is_not_complained_of(folder: Path, name: str) -> None:
    before = set(sys.modules)
    PythonTarget(callable=name, folder=folder).check()
    assert not {"pkg_x", "pkg_x.rag", "open_x"} & (set(sys.modules) - before)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere_x:answer", "there is no module `nowhere_x`"),
        ("pkg_x.nothing:answer", "there is no module `pkg_x.nothing`"),
        ("open_x.inside:answer", "there is no module `open_x.inside`"),
        ("pkg_x.rag:latter", "did you mean `later`?"),
        ("pkg_x.rag:question", "there is no `question` in"),
    ],
)
def test_what_is_not_there_is_the_users_mistake(folder: Path, name: str, says: str) -> None:
    with pytest.raises(UserInputError) as caught:
        PythonTarget(callable=name, folder=folder).check()
    assert says in str(caught.value)


def test_a_program_is_looked_for_where_the_command_will_find_it(tmp_path: Path) -> None:
    program = tmp_path / "answer-x"
    program.write_text("#!/bin/sh\ntouch ran\n", encoding="utf-8")
    by_name = CommandTarget(command=("answer-x",)).with_environment({"PATH": str(tmp_path)})
    by_path = CommandTarget(command=(str(program),))
    for target, says in ((by_name, "is not found"), (by_path, "may not be executed")):
        with pytest.raises(UserInputError, match=says):
            target.check()
    program.chmod(0o755)
    by_name.check()
    by_path.check()
    CommandTarget(command=("answer-x",), env={"PATH": str(tmp_path)}).check()
    assert [path.name for path in tmp_path.iterdir()] == ["answer-x"]


def test_an_address_is_not_asked() -> None:
    HttpTarget.model_validate({"url": "http://127.0.0.1:9/ask", "answer": "/answer"}).check()

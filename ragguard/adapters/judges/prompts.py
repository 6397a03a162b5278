"""Renders a task as the messages that a judge reads.

All material is untrusted. It stands in blocks whose opening and closing lines carry a code that the block's own text
does not contain, and every line of material is flattened, so that no text can begin a line by itself. The system
message and the passages come first and are the same for all tasks of a sample: providers' prompt caches then hit.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import StrictUndefined, TemplateError, TemplateNotFound

from ragguard import errors
from ragguard.core.digests import digest
from ragguard.core.tasks import Task
from ragguard.core.text import one_line
from ragguard.template_files import template_loader
from ragguard.template_sandbox import Sandbox

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_SHARED = ("judge/_system.j2", "judge/_passages.j2")


@dataclass(frozen=True)
class Prompt:
    """A rendered task: the system message, the passages (the same for all tasks of a sample), and the rest."""

    system: str
    passages: str
    body: str

    @property
    def user(self) -> str:
        """The whole user message."""
        return f"{self.passages}\n{self.body}" if self.passages else self.body


def visible(text: str) -> str:
    """Flattens a text to one line and drops what no reader sees: controls, direction marks, tag characters."""
    return _UNSEEN.sub("", one_line(text))


def block(name: str, lines: Sequence[str]) -> str:
    """Puts flattened lines between an opening and a closing line with a code that they do not contain."""
    content = "\n".join(lines)
    code, salt = "", 0
    while not code or code in content:
        code = hashlib.sha256(f"{salt}{content}".encode("utf-8", "replace")).hexdigest()[:8]
        salt += 1
    return f"<<{name} {code}>>\n{content}\n<<end {name} {code}>>"


def numbered(lines: Sequence[str], start: int = 1) -> list[str]:
    """Numbers lines as `1| text`."""
    return [f"{number}| {visible(line)}" for number, line in enumerate(lines, start)]


def passage_lines(passages: Sequence[Sequence[str]], mark: str = "P") -> list[str]:
    """A heading `P1` for each passage, and its sentences numbered on through all passages; `R1` for references."""
    lines: list[str] = []
    number = 1
    for rank, sentences in enumerate(passages, 1):
        lines.append(f"{mark}{rank}")
        lines += numbered(sentences, number)
        number += len(sentences)
    return lines or ["(no passages were retrieved)"]


def conversation_lines(question: str, history: Sequence[dict[str, str]]) -> list[str]:
    """Earlier turns, oldest first, then the question."""
    return [*(f"{turn['role']}: {visible(turn['content'])}" for turn in history), f"question: {visible(question)}"]


@lru_cache(maxsize=8)
def _environment(overrides: Path | None) -> Sandbox:
    # Prompts are plain text: HTML escaping would change what the judge reads. `block` and `visible` make them safe.
    environment = Sandbox(
        loader=template_loader(overrides),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        block=block, numbered=numbered, passage_lines=passage_lines, conversation_lines=conversation_lines
    )
    environment.filters["visible"] = visible
    return environment


@dataclass(frozen=True)
class Prompts:
    """The judge's templates, the user's own first.

    Attributes:
        overrides: A folder whose `judge/<task>.j2` win over the ones that come with ragguard.
    """

    overrides: Path | None = None

    def digest(self, task: str) -> str:
        """Digest of the sources that a task's prompt is rendered from."""
        return _sources_digest(self.overrides, task)

    def render(self, task: Task) -> Prompt:
        """Renders a task.

        Raises:
            TemplateError: A template, usually the user's own, cannot be rendered; the message names it.
        """
        passages = self._text("judge/_passages.j2", task) if "passages" in task.inputs else ""
        return Prompt(self._text("judge/_system.j2", task), passages, self._text(_file_of(task.name), task))

    def _text(self, name: str, task: Task) -> str:
        try:
            return _environment(self.overrides).get_template(name).render(**task.inputs).strip()
        except TemplateError as error:
            raise _bad_template(name, error) from error
        except Exception as error:
            if self.overrides is None:
                raise  # ours: a bug
            raise _bad_template(name, TemplateError(f"{type(error).__name__}: {error}")) from error


def _file_of(task: str) -> str:
    """All rubrics share one template: what follows the colon is the rubric's own name."""
    return f"judge/{task.partition(':')[0]}.j2"


@lru_cache(maxsize=128)
def _sources_digest(overrides: Path | None, task: str) -> str:
    environment = _environment(overrides)
    sources = []
    for name in (*_SHARED, _file_of(task)):
        if environment.loader is None:
            raise _bad_template(name, TemplateNotFound(name))
        try:
            sources.append(environment.loader.get_source(environment, name)[0])
        except TemplateError as error:
            raise _bad_template(name, error) from error
    return digest(sources)


def _bad_template(name: str, error: TemplateError) -> errors.TemplateError:
    line = getattr(error, "lineno", None)
    where = f"{name}, line {line}" if line else name
    return errors.TemplateError(
        f"template {where}: {error.message or type(error).__name__}",
        mend="compare it with the template of the same name that comes with ragguard",
    )

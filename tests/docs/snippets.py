"""The code of a documentation page: what its fenced blocks are, and how each kind is run."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt

from ragguard.app.own_metrics import load_metric
from ragguard.app.read_config import parse_config
from ragguard.entrypoints.cli import run_cli

PLUGIN = "ragguard.pytest_plugin"


@dataclass(frozen=True)
class Block:
    """One fenced block.

    Attributes:
        language: The first word behind the fence.
        file: The second: the block is the content of that file.
        line: Where it begins in the page, from 1.
    """

    language: str
    file: str | None
    text: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    found = []
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence":
            language, _, file = token.info.strip().partition(" ")
            found.append(Block(language, file or None, token.content, (token.map or [0])[0] + 1))
    return found


def run_page(page: Path, folder: Path) -> int:
    """Runs all blocks of a page in a folder; the Python blocks share their names. Returns how many were run."""
    names: dict[str, Any] = {"__name__": "snippets"}
    count = 0
    for block in blocks_of(page):
        count += _run(block, page, folder, names)
    return count


def _run(block: Block, page: Path, folder: Path, names: dict[str, Any]) -> bool:
    if block.file is not None:
        target = folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, encoding="utf-8")
    if block.language == "python" and block.file is None:
        # Padded, so that a traceback names the page's own line.
        code = compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True)
        exec(code, names)
    elif block.language == "bash":
        for line in block.text.splitlines():
            _command(line, page, block.line)
    elif block.language == "yaml":
        _config(block.text, f"{page.name}:{block.line}")
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "jsonl":
        assert [json.loads(line) for line in block.text.splitlines() if line.strip()]
    elif block.language not in {"python", "text", "jinja"}:
        raise AssertionError(f"{page.name}:{block.line}: a block of {block.language!r} is not run by anything")
    return block.language != "text"


def _command(line: str, page: Path, number: int) -> None:
    command, _, comment = line.partition("#")
    program, *arguments = shlex.split(command) or [""]
    if program == "ragguard":
        code = run_cli(arguments)
    elif program == "pytest":
        code = _pytest(arguments)
    else:
        return
    expected = int(comment.split("exit", 1)[1].split()[0]) if "exit" in comment else 0
    assert code == expected, f"{page.name}:{number}: `{command.strip()}` exits with {code}"


def _pytest(arguments: list[str]) -> int:
    installed = any(each.value == PLUGIN for each in entry_points(group="pytest11"))
    loaded = [] if installed else ["-p", PLUGIN]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *loaded, *arguments]
    return subprocess.run(command, check=False, capture_output=True).returncode


def _config(text: str, name: str) -> None:
    """A whole config, or a part of one."""
    part = yaml.safe_load(text)
    whole = {"pipeline": {"dataset": "golden.jsonl"}, "judge": {"model": "offline"}, **part}
    parse_config(yaml.safe_dump(whole, allow_unicode=True), name, {}, None, load_metric)

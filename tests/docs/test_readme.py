"""What README names is there: files, commands, options, fields, formats, and its config is a valid one."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from ragguard.adapters.renderers import RENDERERS
from ragguard.app.read_config import parse_config
from ragguard.core.metrics import KNOWN
from ragguard.core.samples import Sample
from ragguard.entrypoints.cli import _COMMANDS, cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINKS = sorted(set(re.findall(r"\]\((?!https?:)([^)#\s]+)", README)))


@pytest.mark.parametrize("link", LINKS)
def test_what_is_linked_is_there(link: str) -> None:
    assert (ROOT / link).exists()


def test_the_pages_are_linked() -> None:
    pages = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert pages <= set(LINKS)


def test_every_command_and_option_that_is_named_exists() -> None:
    context = click.Context(cli)
    named = re.findall(r"`(?:[^`\n]*&& )?ragguard ([a-z]+)([^`\n]*)`|^    ragguard ([a-z]+)(.*)$", README, re.MULTILINE)
    found = [(one or other, rest or more) for one, rest, other, more in named]
    assert {name for name, _ in found} == set(_COMMANDS)
    for name, rest in found:
        command = cli.get_command(context, name)
        assert command is not None, name
        options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        wanted = set(re.findall(r"--[a-z-]+", rest.partition("#")[0]))
        assert wanted <= options, (name, wanted - options)


def test_the_sample_of_a_python_target_has_the_fields_that_are_told() -> None:
    told = README[README.index("Or it takes one parameter `sample`") : README.index("An app that looks at")]
    row, passage = told.split("(passages with")
    fields = set(re.findall(r"`(?:sample)?\.(\w+)`", row.replace("(turns with `.role` and `.content`)", "")))
    fields |= set(re.findall(r"`\.(\w+)`", passage.partition(")")[2]))
    assert fields == set(Sample.model_fields) - {"answer"}


def test_the_formats_and_their_files_are_the_renderers() -> None:
    rows = re.findall(r"^\| (`[a-z]+`(?:, `[a-z]+`)*) \| (`\w+\.\w+`(?:, `\w+\.\w+`)*) \|", README, re.MULTILINE)
    told = {
        name: file
        for names, files in rows
        for name, file in zip(re.findall(r"`(\w+)`", names), re.findall(r"`([\w.]+)`", files), strict=True)
    }
    assert told == {name: renderer.file_name for name, renderer in RENDERERS.items()}


def test_the_config_is_a_valid_one() -> None:
    (text,) = [block for block in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if block.startswith("pipeline:")]
    config = parse_config(text, "README.md", {})
    assert [metric.id for metric in config.metrics] == ["faithfulness", "context_relevance", "answer_relevance"]
    (reporting,) = [
        block for block in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if block.startswith("reporting:")
    ]
    rest = "pipeline: {dataset: golden.jsonl}\njudge: offline\n"
    assert len(parse_config(rest + reporting, "README.md", {}).reporting.on_regression) == 2


def test_every_metric_has_its_row() -> None:
    table = README[README.index("| metric | needs | value |") : README.index("A score is `scored`")]
    named = set(re.findall(r"`([a-z_]+)(?:@k)?`", table)) | set(re.findall(r"type: ([a-z_]+)", table))
    assert set(KNOWN) <= named

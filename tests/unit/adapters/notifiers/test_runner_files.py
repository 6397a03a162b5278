"""What a CI runner reads: the job summary's file, and workflow commands on standard output."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from ragguard.adapters.notifiers.annotations import LONGEST_MESSAGE, Annotations
from ragguard.adapters.notifiers.base import Letter
from ragguard.adapters.notifiers.job_summary import MOST_BYTES, JobSummary
from ragguard.core.report import Delivery
from tests.fakes.hostile import HOSTILE
from tests.fakes.letters import Waits, letter, place, secrets
from tests.unit.adapters.renderers.reading import commands, controls, foreign_markup, parse, pings

COMMAND = re.compile(r"::(?P<name>[a-z-]+) (?P<properties>[^\r\n]*?)::(?P<message>[^\r\n]*)")


def summarize(path: Path, told: Letter) -> Delivery:
    return JobSummary().deliver(told, place(step_summary=path), secrets(), Waits().patience)


def annotate(told: Letter, **where: object) -> tuple[list[str], Delivery]:
    lines: list[str] = []
    at = place(in_actions=True, command=lines.append, **where)
    return lines, Annotations().deliver(told, at, secrets(), Waits().patience)


def read(line: str) -> tuple[str, dict[str, str], str]:
    """As the runner reads a command: the first `::` after the name ends the properties, commas part them."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    pairs = (pair.partition("=") for pair in found["properties"].split(","))
    return found["name"], {name: unquote(value) for name, _, value in pairs}, unquote(found["message"])


def test_the_summary_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("from an earlier command\n", "utf-8")
    assert summarize(path, letter(language="vi")) == Delivery("job-summary", ok=True, detail="written")
    text = path.read_text("utf-8")
    assert text.startswith("from an earlier command\n\n## ")
    assert "hoan-tien" in text


@pytest.mark.parametrize(
    ("room", "detail"),
    [(200_000, "written"), (20_000, "written in short"), (500, "written in short"), (10, "the summary is full")],
)
def test_all_that_a_step_writes_stays_under_a_mebibyte(tmp_path: Path, room: int, detail: str) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * (MOST_BYTES - room))
    told = letter("failed", n_samples=60, text=lambda text: text + " nói dài" * 4_000)
    sent = summarize(path, told)
    assert sent.detail.startswith(detail)
    assert sent.ok == (room > 10)
    assert path.stat().st_size <= MOST_BYTES
    if room == 200_000:
        assert "more regressed samples left out here" in path.read_text("utf-8")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    sent = summarize(tmp_path / "missing" / "summary.md", letter())
    assert sent == Delivery(
        "job-summary", ok=False, detail="the summary's file cannot be written: No such file or directory"
    )


def test_a_summary_without_a_runner_is_not_here() -> None:
    assert not JobSummary().is_here(place())
    assert not Annotations().is_here(place())


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_in_a_summary_stays_text(tmp_path: Path, hostile: str) -> None:
    path = tmp_path / "summary.md"
    summarize(path, letter("failed", text=lambda text: f"{hostile} {text} {hostile}", notices=(hostile,)))
    text = path.read_text("utf-8")
    tokens = parse(text)
    assert foreign_markup(tokens) == []
    assert pings(tokens) == []
    assert commands(text) == []
    assert controls(text) == []


def test_a_remark_stands_at_the_line_of_the_data_set() -> None:
    lines, sent = annotate(letter("failed", language="zh"))
    assert sent == Delivery("annotations", ok=True, detail="4 written")
    name, properties, message = read(lines[0])
    assert name == "error"
    assert properties == {"file": "data/golden.jsonl", "line": "1", "title": properties["title"]}
    assert properties["title"].startswith("faithfulness fell: ")
    assert message.splitlines()[0] == "100.0 % → 0.0 % (generation: the passages are the same, the answer changed)"
    assert message.splitlines()[2].startswith("now: ")


def test_what_is_not_proven_is_a_warning() -> None:
    lines, _ = annotate(letter("inconclusive"))
    assert {read(line)[0] for line in lines} == {"warning"}
    assert "unconfirmed" in lines[0]


def test_a_data_set_elsewhere_has_no_line() -> None:
    lines, _ = annotate(letter("failed"), dataset=None)
    assert set(read(lines[0])[1]) == {"title"}


@pytest.mark.parametrize(("fell", "errors"), [(9, 9), (10, 10), (11, 9), (400, 9)])
def test_at_most_ten_and_the_last_says_how_many_more(fell: int, errors: int) -> None:
    lines, sent = annotate(letter("failed", n_samples=2 * fell, n_regressed=fell))
    assert sum(line.startswith("::error") for line in lines) == errors
    assert len(lines) <= 10
    if fell > 10:
        assert lines[-1] == f"::notice title=ragguard::{fell - 9} more samples fell: see the report"
        assert sent.detail == f"9 written, {fell - 9} left out: see the report"


def test_a_message_is_never_longer_than_the_runner_keeps() -> None:
    lines, _ = annotate(letter("failed", text=lambda text: text + "\n%,:" * 100_000))
    assert all(len(read(line)[2]) <= LONGEST_MESSAGE for line in lines)
    assert "more characters" in read(lines[0])[2]


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_forms_no_command(hostile: str) -> None:
    lines, _ = annotate(letter("failed", text=lambda text: f"{hostile} {text} {hostile}"), dataset=f"{hostile}.jsonl")
    assert len(lines) == 4
    for line in lines:
        assert re.search("[\r\n\x0b\x0c\x1b\x85\u2028\u2029]", line) is None
        assert "##[" not in line
        name, properties, message = read(line)
        assert name == "error"
        assert set(properties) == {"file", "line", "title"}
        assert "→" in message
        assert controls(message.replace("\n", "")) == []

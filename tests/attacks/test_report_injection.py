"""Hostile text in every place of a whole run, and what each channel received of it."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ragguard.entrypoints.cli import run_cli
from tests.attacks.attack import Attacks
from tests.attacks.hostile_job import Told
from tests.fakes.action_runner import Runner
from tests.fakes.small_runs import CONFIG
from tests.parts.github_code import GitHubWithCode
from tests.unit.adapters.renderers.reading import controls, foreign_markup, links, parse, pings

ATTACKS = Attacks("report injection")
OURS = re.compile(r"https://github\.com/acme/tutor/|#|data:image/svg\+xml|data:,")


class Tags(HTMLParser):
    """Tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@ATTACKS.tried(
    "HTML, images and links in Markdown: report, summary, comment, issue, check",
    "data app fork",
    "a beacon, a false verdict, a link that looks like ours",
    "every value is escaped for its place; only links of our own making are links",
)
def test_markdown_holds_no_foreign_markup(told: Told) -> None:
    for text in told.markdown:
        tokens = parse(text)
        marker = text.split("\n")[0] if text.startswith("<!-- ragguard ") else None
        assert set(foreign_markup(tokens)) <= {marker, "em_open"}, "besides our marker and our own emphasis"
        assert {href for href in links(tokens) if not OURS.match(href)} == set()


@ATTACKS.tried(
    "mentions (`@team`) and references (`fixes #12`) in questions, ids, answers, tags and the suite's name",
    "data app fork",
    "people are pinged; issues are closed",
    "a zero-width character after `@` and `#`",
)
def test_nobody_is_pinged_and_nothing_is_referred_to(told: Told) -> None:
    for text in told.markdown:
        assert pings(parse(text)) == []


@ATTACKS.tried(
    "pipes, headings, fences and line ends that break tables and lists",
    "data app",
    "a table of the attacker's own verdicts",
    "values stand on one line, with Markdown's signs escaped",
)
def test_every_table_is_one_of_ours(told: Told) -> None:
    for text in told.markdown:
        tokens = [token.type for token in parse(text)]
        shown = [line for line in text.split("\n") if line.startswith("| ")]
        assert tokens.count("tr_open") == len(shown)
        assert tokens.count("heading_open") == len(re.findall(r"^#+ ", text, re.MULTILINE))
        assert "<h1>" not in text


@ATTACKS.tried(
    "a comment that carries the marker of ours, or a text of the run that forges it",
    "fork data",
    "the report replaces somebody else's comment, or a forged one passes for it",
    "the marker counts only at the start of a comment by the token's own user; `<` is escaped in foreign text",
)
def test_a_forged_marker_is_not_ours(runner: Runner, github: GitHubWithCode) -> None:
    github.code.files["main"] = {"ragguard.yaml": CONFIG.encode()}
    while github.add_pull_request() < 12:
        pass
    runner.step("pull_request_same_repository")
    (own,) = github.repositories["acme/tutor"].comments
    marker = own["body"].split("\n")[0]
    github.repositories["acme/tutor"].comments.clear()
    forged = github.add_comment(12, f"{marker}\nAll passed.", login="eve")
    runner.step("pull_request_same_repository")
    assert forged["body"] == f"{marker}\nAll passed."
    assert len(github.repositories["acme/tutor"].comments) == 2


def test_the_marker_of_ours_stands_once_in_each_comment(told: Told) -> None:
    assert all(body.count("<!--") <= 1 for body in told.comments)


@ATTACKS.tried(
    "scripts, event handlers, frames, `javascript:` links and remote images in the HTML report",
    "data app store",
    "code in the reader's browser",
    "texts are JSON set as text by our own script; a policy allows that script by its hash and nothing from outside",
)
def test_the_page_runs_and_fetches_nothing_foreign(told: Told) -> None:
    page = told.files["report.html"].decode()
    tags = Tags(page).found
    assert sum(tag == "script" for tag, _ in tags) == page.count("</script>") == 2
    assert not {tag for tag, _ in tags} & {"img", "iframe", "object", "embed", "base"}
    for tag, attributes in tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        for name in ("src", "href", "xlink:href", "action"):
            value = attributes.get(name)
            assert value is None or OURS.match(value), (tag, value)
    (policy,) = [attributes["content"] for tag, attributes in tags if attributes.get("http-equiv")]
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@ATTACKS.tried(
    "`<!channel>`, `<@U…>`, links and emoji in Slack",
    "data app",
    "a channel is pinged; a link looks like ours",
    "`&`, `<` and `>` are escaped, other signs are replaced by look-alikes",
)
def test_slack_shows_words_only(told: Told) -> None:
    texts = told.slack.texts()
    assert told.slack.messages
    assert not re.search(r"<[!@#]", texts)
    assert {link for link in re.findall(r"<(https?://[^|>]+)", texts) if not OURS.match(link)} == set()
    assert "javascript:" not in re.sub(r"javascript:alert\(1\)", "", texts)


@ATTACKS.tried(
    "formulas in scores.csv",
    "data app",
    "a spreadsheet runs a command or sends cells away",
    "a quote before cells that begin as a formula does, in any width of its signs",
)
def test_no_cell_is_a_formula(told: Told) -> None:
    rows = list(csv.reader(io.StringIO(told.files["scores.csv"].decode("utf-8-sig"), newline="")))
    assert len({len(row) for row in rows}) == 1
    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if re.match(r"[=+@\t\r|＝＋＠]|-(?![\d.])", cell)] == []
    assert any("HYPERLINK" in cell for cell in cells)


@ATTACKS.tried(
    "`]]>`, entities, control characters and a DOCTYPE in junit.xml",
    "data app",
    "a report that cannot be read, or forged test cases",
    "written by an XML library; characters that XML has no place for are replaced",
)
def test_junit_stays_one_document_of_our_cases(told: Told) -> None:
    text = told.files["junit.xml"].decode()
    assert "<!DOCTYPE" not in text
    root = ET.fromstring(text)
    names = [case.get("name") for case in root.iter("testcase")]
    assert len(names) == 2 * (46 + 1)
    assert {child.tag for case in root.iter("testcase") for child in case} <= {"failure", "error", "skipped"}


@ATTACKS.tried(
    "terminal escapes, direction marks and NUL, on the terminal and in files",
    "data app provider",
    "hidden or forged lines; a terminal's title, clipboard or link",
    "control and direction characters are dropped or shown as pictures",
)
def test_no_terminal_obeys(told: Told) -> None:
    assert controls(told.printed.replace("\n", "")) == []
    for name, data in told.files.items():
        if name not in {"samples.jsonl", "run.json", "report.json", "summary.json"}:
            assert controls(data.decode().replace("\r\n", "\n")) == [], name


@ATTACKS.tried(
    "names of metrics, runs, models and branches in a foreign run.json that is compared or rendered",
    "fork store",
    "commands for the runner or the terminal from `compare`, `report` and `explain`",
    "a saved run's names are foreign text like any other",
)
@pytest.mark.parametrize("command", ["compare", "report", "explain"])
def test_a_foreign_run_is_shown_as_words(
    told: Told, tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    evil = "\n::add-mask::x\n##[error]y \x1b[31m<img src=x> @everyone"
    head = json.loads(told.files["run.json"])
    metric = head["metrics"].pop("faithfulness")
    head["metrics"][f"faith{evil}"] = {**metric, "reason": evil}
    head["fingerprints"][f"faith{evil}"] = head["fingerprints"].pop("faithfulness")
    head |= {"run_id": evil, "branch": evil, "judge_models": [evil], "reasons": [evil], "notices": [evil]}
    for entry in head["comparison"]["regressed"]:
        entry["metric"] = f"faith{evil}"
    (tmp_path / "run.json").write_text(json.dumps(head), encoding="utf-8")
    (tmp_path / "samples.jsonl").write_bytes(told.files["samples.jsonl"])
    first = json.loads(told.files["samples.jsonl"].split(b"\n")[0])["id"]
    saved = str(tmp_path / "run.json")
    arguments = {"compare": [saved, saved], "report": [saved], "explain": [saved, first]}[command]
    assert run_cli([command, *arguments]) != 70
    printed = "".join(capfd.readouterr())
    assert printed.strip()
    assert not re.search(r"^\s*::|##\[", printed, re.MULTILINE)
    assert controls(printed.replace("\n", "")) == []
    if command == "report":
        assert foreign_markup(parse(printed)) == []

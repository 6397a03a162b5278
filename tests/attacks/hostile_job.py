"""One pull request whose data is hostile in every place, told on every channel: what each of them received."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragguard.entrypoints.action import run_action
from tests.fakes.action_runner import Runner
from tests.fakes.hostile import HOSTILE
from tests.fakes.small_runs import golden_rows
from tests.parts.github_code import GitHubWithCode, github_with_code
from tests.parts.slack_server import TOKEN, Slack, slack_server

OTHER_FILES = ("env", "path", "state")
SUITE = "<img src=x onerror=alert(1)> @everyone ::error::x ##[error]y | a | <!channel>"
DATASET = "golden ::set-output name=outcome::passed %0A, file=x.jsonl"
CONFIG = f"""
suite: "{SUITE}"
pipeline: {{dataset: "{DATASET}"}}
judge: {{model: offline}}
embedder: {{type: offline, backend: ngrams}}
metrics: [faithfulness, context_relevance]
gate: {{looks: 1}}
reporting:
  format: json+markdown+html+junit+csv+summary
  on_regression:
    - {{type: slack, channel: "#rag-quality", events: [any]}}
    - {{type: github-issue, repository: acme/tutor, events: [any]}}
"""


@dataclass
class Told:
    """What a run told.

    Attributes:
        printed: Standard output and error.
        files: The output folder's, by name.
        others: What stands in the runner's other files.
    """

    printed: str
    exit_code: int
    files: dict[str, bytes]
    summary: str
    outputs: dict[str, str]
    github: GitHubWithCode
    slack: Slack
    others: dict[str, bytes]

    @property
    def markdown(self) -> list[str]:
        """All Markdown that was written."""
        checks = [check["output"] for repository in self.github.repositories.values() for check in repository.checks]
        texts = [output[name] for output in checks for name in ("summary", "text") if output.get(name)]
        return [self.files["report.md"].decode(), self.summary, *texts, *self.comments]

    @property
    def comments(self) -> list[str]:
        """The bodies of comments and issues."""
        found: list[str] = []
        for repository in self.github.repositories.values():
            found += [comment["body"] for comment in repository.comments]
            for issue in repository.issues.values():
                found += [issue["body"]] if "pull_request" not in issue else []
        return found


def hostile_rows() -> list[dict[str, object]]:
    """Samples whose every text is hostile besides being a sample."""
    rows = golden_rows(len(HOSTILE))
    for row, text in zip(rows, HOSTILE, strict=True):
        passage: Any = row["contexts"]
        ends = " ".join("".join(char if char.isprintable() else " " for char in text).split())[:80]
        row |= {
            "id": f"{ends} {row['id']}",
            "question": f"{text} {row['question']}",
            "contexts": [{"id": f"{ends} p", "text": f"{passage[0]['text']} {text}"}],
            "tags": [ends, text[:100]],
        }
    return rows


def hostile_answers(rows: list[dict[str, object]], wrong: int) -> list[dict[str, object]]:
    """Answers that repeat the reference, so many of them with another fee, with hostile text around them."""
    found: list[dict[str, object]] = []
    for k, (row, text) in enumerate(zip(rows, HOSTILE, strict=True)):
        said = str(row["reference"])
        said = said.replace(str(100 + k), str(9000 + k)) if k < wrong else said
        found.append({"id": row["id"], "answer": f"{said} {text} {said}" if k < wrong else said})
    return found


def write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    """Writes JSON Lines that may hold lone surrogates."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@contextlib.contextmanager
def hostile_job(folder: Path) -> Iterator[Told]:
    """Runs a push and then a worse pull request; gives what the latter told."""
    before = Path.cwd()
    with github_with_code() as github, slack_server() as slack:
        try:
            yield _told(folder, github, slack)
        finally:
            os.chdir(before)


def _told(folder: Path, github: GitHubWithCode, slack: Slack) -> Told:
    while github.add_pull_request() < 12:
        pass
    runner = Runner(folder, github.url)
    runner.configure(CONFIG)
    github.code.files["main"] = {"ragguard.yaml": CONFIG.encode()}
    rows = hostile_rows()
    write_rows(runner.workspace / DATASET, rows)
    write_rows(runner.workspace / "answers.jsonl", hostile_answers(rows, 0))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        runner.step("push_default_branch")
        write_rows(runner.workspace / "answers.jsonl", hostile_answers(rows, 30))
        environment = runner.environment("pull_request_same_repository")
        environment |= {"SLACK_BOT_TOKEN": TOKEN, "SLACK_API_URL": slack.api}
        for name in OTHER_FILES:
            (runner.files / name).touch()
            environment[f"GITHUB_{name.upper()}"] = str(runner.files / name)
        code = run_action(environment)
    step = runner.left(environment, code)
    out = runner.workspace / ".ragguard/out"
    return Told(
        printed.getvalue(),
        code,
        {path.name: path.read_bytes() for path in out.iterdir()},
        step.summary,
        step.outputs,
        github,
        slack,
        {name: (runner.files / name).read_bytes() for name in OTHER_FILES},
    )

"""Artifacts of a stranger's run, in the jobs that have rights: the comment's second phase and the labelled run."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragguard.errors import RagguardError
from tests.attacks.attack import Attacks
from tests.attacks.hostile_job import Told
from tests.fakes.action_runner import Runner, Step
from tests.fakes.small_runs import CONFIG, answer_rows, write_rows
from tests.parts.github_code import GitHubWithCode
from tests.parts.github_rules import SHA
from tests.unit.adapters.renderers.reading import foreign_markup, links, parse, pings

ATTACKS = Attacks("artifacts")
WORKFLOWS = Path(__file__).parents[2] / "templates" / "workflows"
PRIVILEGED = ("ragguard-comment.yml", "ragguard-fork.yml")


@pytest.fixture
def ready(runner: Runner, github: GitHubWithCode, told: Told) -> Runner:
    """A checkout with a report in `untrusted/`, from a run on hostile data, and its pull request."""
    github.code.files["main"] = {"ragguard.yaml": CONFIG.encode()}
    while github.add_pull_request() < 13:
        pass
    github.code.pulls = [(12, "mai", "main", SHA), (13, "eve", "main", SHA), (11, "mai", "other", SHA)]
    (runner.workspace / "untrusted").mkdir()
    (runner.workspace / "untrusted" / "report.json").write_bytes(told.files["report.json"])
    return runner


def second_phase(runner: Runner, **changes: object) -> Step:
    """Comments the report, changed so."""
    path = runner.workspace / "untrusted" / "report.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}), encoding="utf-8")
    return runner.step("workflow_run_of_a_fork", report="untrusted/report.json", answers="")


def comments(github: GitHubWithCode) -> list[dict[str, Any]]:
    return github.repositories["acme/tutor"].comments


@ATTACKS.tried(
    "a report that names another pull request, commit, branch, repository, run or link",
    "fork",
    "a comment elsewhere, or one that points elsewhere",
    "commit, branch and owner come from the event; the pull request is looked up by all three; links are ours",
)
def test_the_comment_goes_where_github_says(ready: Runner, github: GitHubWithCode) -> None:
    lies = {
        "repository": "eve/elsewhere", "commit": "f" * 40, "base_commit": "e" * 40, "branch": "other", "event": "push",
        "run_id": "gh-1-1-deadbeef", "baseline_run_id": "[x](https://evil.example)",
    }  # fmt: skip
    assert second_phase(ready, **lies).exit_code == 0
    (comment,) = comments(github)
    assert comment["issue"] == 12
    tokens = parse(comment["body"])
    assert {href for href in links(tokens) if not href.startswith("https://github.com/acme/tutor/")} == set()
    assert "eve/elsewhere" not in comment["body"]
    assert {path for path in github.requests if path.startswith(("POST", "PATCH"))} == {
        "POST /repos/acme/tutor/issues/12/comments"
    }


@ATTACKS.tried(
    "hostile words in every field of the report",
    "fork",
    "markup, mentions, links, a forged verdict without a warning",
    "rendered anew by our own templates, with the notice first that nobody has checked it",
)
def test_every_word_of_the_report_stays_a_word(ready: Runner, github: GitHubWithCode) -> None:
    evil = "<img src=x> @everyone fixes #1 [a](https://evil.example) ::error::x <!-- ragguard comment key=0 --> | x |"
    lies = {"outcome": "passed", "suite": evil, "reasons": [evil] * 99, "notices": [evil] * 99, "notes": [evil] * 99,
            "judge_models": [evil], "embedder_model": evil}  # fmt: skip
    assert second_phase(ready, **lies).exit_code == 0
    (comment,) = comments(github)
    marker = comment["body"].split("\n")[0]
    tokens = parse(comment["body"])
    assert set(foreign_markup(tokens)) <= {marker, "em_open"}
    assert pings(tokens) == []
    assert "nobody has checked it" in comment["body"].split("\n")[3], "before any word of the report but its suite"
    assert len(comment["body"]) <= 65_536


@ATTACKS.tried(
    "an artifact that brings ragguard.yaml, templates, modules, `.env`, a store and a cache",
    "fork",
    "settings or code in a job with rights",
    "the artifact lies in a folder of its own; only the one named file is read, and no config at all",
)
def test_nothing_else_of_an_artifact_is_looked_at(ready: Runner, github: GitHubWithCode) -> None:
    for folder in (ready.workspace / "untrusted", ready.workspace):
        (folder / "sitecustomize.py").write_text("open('pwned', 'w')", encoding="utf-8")
        (folder / "ragguard.yaml").write_text("metrics: ['sitecustomize:Evil']\nsuite: evil", encoding="utf-8")
        (folder / "templates").mkdir()
        (folder / "templates" / "comment.md.j2").write_text("All passed.", encoding="utf-8")
        (folder / ".env").write_text("GITHUB_API_URL=https://evil.example", encoding="utf-8")
    assert second_phase(ready).exit_code == 0
    assert "All passed." not in comments(github)[0]["body"]
    assert not list(ready.workspace.rglob("pwned"))


@ATTACKS.tried(
    "a report at a path or link that leads elsewhere, such as ../../secret or /proc/self/environ",
    "fork",
    "a secret file in a public comment",
    "what is no report is refused with the name of a field, never its text; links are refused",
)
def test_what_is_no_report_is_not_quoted(ready: Runner, github: GitHubWithCode) -> None:
    secret = ready.files / "secret.json"
    for text in ('{"canary": "canary7"}', "canary7=canary7", '["canary7"]', '{"run_id": {"canary7": 1}}'):
        secret.write_text(text, encoding="utf-8")
        for name in ("../file_commands/secret.json", str(secret), "/proc/self/environ"):
            with pytest.raises(RagguardError) as told:
                ready.step("workflow_run_of_a_fork", report=name, answers="")
            assert "canary7=" not in str(told.value)
            assert '"canary7"' not in str(told.value)
    (ready.workspace / "untrusted" / "report.json").unlink()
    (ready.workspace / "untrusted" / "report.json").symlink_to(secret)
    with pytest.raises(RagguardError, match="is a link"):
        ready.step("workflow_run_of_a_fork", report="untrusted/report.json", answers="")
    assert comments(github) == []


BROKEN: dict[str, dict[str, object]] = {
    "an unknown field": {"pull_request": 1},
    "a mean that is no number": {"coverage": "NaN"},
    "an outcome of its own": {"outcome": "great"},
    "a negative count": {"dataset": {"uri": "x"}},
}


@ATTACKS.tried(
    "a report with unknown fields, wrong types, huge numbers",
    "fork",
    "a crash in the job with rights, or a reading that is not ours",
    "a schema without room for more; what does not fit is refused (exit 2), and nothing is commented",
)
@pytest.mark.parametrize("name", BROKEN)
def test_a_report_that_does_not_fit_is_refused(ready: Runner, github: GitHubWithCode, name: str) -> None:
    with pytest.raises(RagguardError, match=r"report\.json"):
        second_phase(ready, **BROKEN[name])
    assert comments(github) == []


@ATTACKS.tried(
    "a stranger's answers: for samples that there are not, twice, none, a bomb, with passages of their own",
    "fork",
    "the labelled run, which has secrets, passes or never ends",
    "ids must be the golden set's, once each; sizes are bounded; passages are data like the answer",
)
@pytest.mark.parametrize("name", ["unknown", "twice", "none", "bomb", "nested"])
def test_a_strangers_answers_are_checked(ready: Runner, name: str) -> None:
    path = ready.workspace / "untrusted" / "answers.jsonl"
    rows = answer_rows(30)
    if name == "bomb":
        path.write_bytes(gzip.compress(b'{"id": "s000", "answer": "' + b"x" * 20_000_000))
    elif name == "nested":
        path.write_text('{"id": ' + "[" * 100_000, encoding="utf-8")
    else:
        changed = {
            "unknown": [{**row, "id": f"x{n}"} for n, row in enumerate(rows)],
            "twice": [*rows, rows[0]],
            "none": [],
        }
        write_rows(path, changed[name])
    with pytest.raises(RagguardError) as told:
        ready.step("pull_request_target_labelled", answers="untrusted/answers.jsonl")
    assert told.value.exit_code == 2


@ATTACKS.tried(
    "a head that is checked out or run in a job with rights, and names of the event in a shell",
    "fork",
    "code with secrets and a token that writes",
    "no workflow of ours does so: no head is checked out, events reach a shell as variables only, rights are the least",
)
@pytest.mark.parametrize("name", PRIVILEGED)
def test_no_privileged_workflow_runs_what_is_foreign(name: str) -> None:
    text = (WORKFLOWS / name).read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert not {right for right, how in job["permissions"].items() if how == "write"} - {"pull-requests", "checks"}
        for step in job["steps"]:
            assert not re.search(r"\$\{\{\s*(github\.(event|head_ref)|inputs|steps)", step.get("run", ""))
            given = step.get("with") or {}
            assert not {"ref", "repository"} & given.keys(), "another ref than the base's"
            if "checkout" in step.get("uses", ""):
                assert given["persist-credentials"] is False
            if "download-artifact" in step.get("uses", ""):
                assert given["path"] == "untrusted"
    if name == "ragguard-comment.yml":
        assert "checkout" not in text
        assert "secrets." not in text

"""The comment on a fork's pull request: the artifact is anybody's text, the rest comes from GitHub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragguard.errors import ConfigError, RunFileError
from tests.fakes.action_runner import Runner
from tests.parts.github_code import GitHubWithCode
from tests.parts.github_rules import SHA


@pytest.fixture
def report(runner: Runner, github: GitHubWithCode) -> dict[str, Any]:
    """The report of a fork's own run, which failed."""
    from tests.fakes.small_runs import CONFIG

    github.code.files["main"] = {"ragguard.yaml": CONFIG.encode()}
    runner.step("push_default_branch")
    runner.answer(wrong=8)
    step = runner.step("pull_request_fork")
    assert step.report is not None
    while github.add_pull_request() < 12:
        pass
    github.code.pulls = [(12, "mai", "main", SHA)]
    return step.report


def second_phase(runner: Runner, report: object) -> int:
    (runner.workspace / "untrusted").mkdir(exist_ok=True)
    path = runner.workspace / "untrusted" / "report.json"
    path.write_text(report if isinstance(report, str) else json.dumps(report), encoding="utf-8")
    inputs = {"report": "untrusted/report.json", "answers": ""}
    return runner.step("workflow_run_of_a_fork", **inputs).exit_code


def test_the_numbers_are_commented_on_the_pull_request_that_github_names(
    runner: Runner, github: GitHubWithCode, report: dict[str, Any]
) -> None:
    assert second_phase(runner, report) == 0
    (comment,) = github.repositories["acme/tutor"].comments
    assert comment["issue"] == 12
    assert "nobody has checked it" in comment["body"].split("|")[0]
    assert "faithfulness" in comment["body"]
    assert not github.repositories["acme/tutor"].checks
    assert second_phase(runner, report) == 0
    assert len(github.repositories["acme/tutor"].comments) == 1


def test_what_the_artifact_says_of_itself_is_not_believed(
    runner: Runner, github: GitHubWithCode, report: dict[str, Any]
) -> None:
    lies = {**report, "repository": "eve/other", "commit": "f" * 40, "branch": "main", "event": "push"}
    assert second_phase(runner, lies) == 0
    (comment,) = github.repositories["acme/tutor"].comments
    assert "eve/other" not in comment["body"]
    assert "f" * 12 not in comment["body"]


def test_hostile_words_in_the_artifact_stay_words(
    runner: Runner, github: GitHubWithCode, report: dict[str, Any]
) -> None:
    evil = "<img src=x onerror=alert(1)> @everyone ::error::x [a](http://evil.example) | x |"
    report["reasons"] = [evil] * 500
    report["notices"] = [evil] * 500
    report["regressed_samples"][0]["id"] = evil
    report["usage_by_task"] = {evil: {}}
    report["agreement_by_task"] = {evil: {"n_compared": 2, "n_differing": 1, "disagreement": 0.5}}
    metric = {**next(iter(report["metrics"].values())), "outcome": "failed"}
    report["pinned"] = {"run_id": evil, "metrics": dict.fromkeys(report["metrics"], metric)}
    assert second_phase(runner, report) == 0
    (comment,) = github.repositories["acme/tutor"].comments
    assert "<img" not in comment["body"]
    assert "@everyone" not in comment["body"]
    assert "beside the pinned run" in comment["body"]
    assert len(comment["body"].encode()) < 65_536


@pytest.mark.parametrize(
    "broken",
    [
        "", "[]", "{}", "null", '{"schema_version": 1}', "{" * 100_000, '{"a": ' * 50_000, "x" * 5_000_001,
    ],
    ids=["empty", "list", "object", "null", "cut", "braces", "deep", "large"],
)  # fmt: skip
def test_what_is_no_report_is_refused(
    runner: Runner, github: GitHubWithCode, report: dict[str, Any], broken: str
) -> None:
    with pytest.raises(RunFileError, match=r"report\.json"):
        second_phase(runner, broken)
    assert not github.repositories["acme/tutor"].comments


def test_unknown_fields_wrong_types_and_nan_are_refused(
    runner: Runner, github: GitHubWithCode, report: dict[str, Any]
) -> None:
    metric = next(iter(report["metrics"]))
    for wrong in (
        {**report, "pull_request": 1},
        {**report, "metrics": {metric: {**report["metrics"][metric], "mean": "NaN"}}},
        {**report, "regressed_samples": [{"id": 5}]},
        {**report, "outcome": "great"},
        {**report, "regressed_samples": report["regressed_samples"] * 1_000},
        {**report, "pinned": {"run_id": "r", "metrics": {f"m{n}": report["metrics"][metric] for n in range(201)}}},
        {**report, "usage_by_task": {f"t{n}": {} for n in range(201)}},
        {**report, "agreement_by_task": {f"t{n}": {} for n in range(201)}},
    ):
        with pytest.raises(RunFileError):
            second_phase(runner, wrong)
    assert not github.repositories["acme/tutor"].comments


def test_a_missing_file_is_told(runner: Runner) -> None:
    with pytest.raises(RunFileError, match="cannot be read"):
        runner.step("workflow_run_of_a_fork", report="untrusted/none.json", answers="")


def test_nothing_is_commented_when_the_pull_request_has_moved_on(
    runner: Runner, github: GitHubWithCode, report: dict[str, Any]
) -> None:
    github.code.pulls = [(12, "mai", "main", "d" * 40)]
    assert second_phase(runner, report) == 0
    assert not github.repositories["acme/tutor"].comments


def test_a_comment_that_is_not_allowed_is_told(
    runner: Runner, github: GitHubWithCode, report: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    github.tokens["token"].permissions["acme/tutor"] = {"contents"}
    assert second_phase(runner, report) == 4
    assert "pull-requests: write" in capsys.readouterr().out


@pytest.mark.parametrize("event", ["push_default_branch", "pull_request_same_repository"])
def test_other_events_have_no_second_phase(runner: Runner, report: dict[str, Any], event: str) -> None:
    path = runner.workspace / "report.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    with pytest.raises(ConfigError, match="workflow_run"):
        runner.step(event, report=path.name)
    assert Path(path).exists()

"""Who is told of what: recoveries, lists, events, and where a run takes place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ragguard.adapters.notifiers import Notifier
from ragguard.app.config import Config, Reporting
from ragguard.app.context import RunContext
from ragguard.app.deliver import chosen, plan, recovered, surroundings_of
from ragguard.app.read_config import parse_config
from ragguard.core.runs import Outcome, RunHead
from ragguard.errors import StoreError
from tests.fakes.letters import NOW, letter, secrets
from tests.fakes.reports import make_report
from tests.fakes.small_runs import CONFIG

EVERYBODY = """
reporting:
  on_regression: [slack://#rag-quality, create_issue: acme/tutor, slack-webhook]
"""


class Heads:
    """A store of heads alone."""

    def __init__(self, *outcomes: Outcome, fails: bool = False) -> None:
        self._heads = [head(outcome, f"run-{n}") for n, outcome in enumerate(outcomes)]
        self._fails = fails

    def heads(self, suite: str, *, branch: str | None = None, before: object = None, limit: int = 50) -> list[RunHead]:
        if self._fails:
            raise StoreError("cannot be read")
        return self._heads[:limit] if branch == "main" else []


def head(outcome: Outcome, run_id: str = "now", branch: str | None = "main") -> RunHead:
    return make_report(outcome, run_id=run_id, branch=branch, n_samples=2).head


@pytest.mark.parametrize(
    ("before", "now", "over"),
    [
        (("failed",), "passed", True),
        (("failed",), "warned", True),
        (("error", "inconclusive", "failed", "passed"), "passed", True),
        (("passed", "failed"), "passed", False),
        (("warned", "failed"), "passed", False),
        (("failed",), "failed", False),
        (("failed",), "inconclusive", False),
        (("error",), "passed", False),
        ((), "passed", False),
    ],
)
def test_what_a_recovery_is(before: tuple[Outcome, ...], now: Outcome, over: bool) -> None:
    assert recovered(Heads(*before), head(now)) is over  # type: ignore[arg-type]


def test_a_recovery_is_of_a_branch_and_needs_a_store_that_answers() -> None:
    assert not recovered(Heads("failed"), head("passed", branch="other"))  # type: ignore[arg-type]
    assert not recovered(Heads("failed"), head("passed", branch=None))  # type: ignore[arg-type]
    assert not recovered(Heads("failed", fails=True), head("passed"))  # type: ignore[arg-type]


REPORTING = Reporting(
    on_regression=("slack://#a", {"create_issue": "acme/a"}),  # type: ignore[arg-type]
    on_recovery=("slack://#b",),  # type: ignore[arg-type]
    on_error=("slack://#a", "slack://#c"),  # type: ignore[arg-type]
    always=("job-summary", "github-check"),  # type: ignore[arg-type]
)


@pytest.mark.parametrize(
    ("outcome", "over", "names"),
    [
        ("failed", False, ["slack #a", "github-issue acme/a", "job-summary"]),
        ("error", False, ["slack #a", "slack #c", "job-summary"]),
        ("passed", False, ["github-issue acme/a", "job-summary"]),
        ("passed", True, ["slack #a", "github-issue acme/a", "slack #c", "slack #b", "job-summary"]),
        ("inconclusive", False, ["job-summary"]),
        ("not_comparable", False, ["job-summary"]),
    ],
)
def test_who_is_told_of_what(outcome: Outcome, over: bool, names: list[str]) -> None:
    told: tuple[Notifier, ...] = chosen(REPORTING, letter(outcome, recovered=over))
    assert [one.name for one in told] == ["github-check", *names]


def test_an_interruption_is_told_to_the_check_alone() -> None:
    assert [one.name for one in chosen(REPORTING, replace(letter("error"), interrupted=True))] == ["github-check"]


@pytest.mark.parametrize(
    ("dataset", "workspace", "inside"),
    [
        ("data/golden.jsonl", ".", "data/golden.jsonl"),
        ("golden.jsonl", "..", "work/golden.jsonl"),
        ("../elsewhere/golden.jsonl", ".", None),
        ("s3://bucket/golden.jsonl", ".", None),
        ("https://data.example/golden.jsonl", ".", None),
    ],
)
def test_where_the_data_set_is_in_the_repository(
    tmp_path: Path, dataset: str, workspace: str, inside: str | None
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    at = surroundings_of(context(), {"GITHUB_WORKSPACE": str(folder / workspace)}, folder, dataset)
    assert at.dataset == inside


def test_the_surroundings_of_a_pull_request(tmp_path: Path) -> None:
    environment = {"GITHUB_REF": "refs/pull/41/merge", "GITHUB_API_URL": "https://code.example/api/v3"}
    at = surroundings_of(context(), environment, tmp_path, "x.jsonl")
    assert (at.pull_request, at.github_api, at.in_actions, at.step_summary) == (
        41, "https://code.example/api/v3", False, None,
    )  # fmt: skip
    assert surroundings_of(replace(context(), pull_request_number=7), environment, tmp_path, "x").pull_request == 7


def context(event: str = "pull_request") -> RunContext:
    return RunContext(run_id="r", now=NOW, event=event)


def test_a_plan_tells_what_would_be_sent_to_whom(tmp_path: Path) -> None:
    config: Config = parse_config(CONFIG + EVERYBODY, "ragguard.yaml", {})
    at = surroundings_of(context("schedule"), {"GITHUB_REPOSITORY": "acme/tutor"}, tmp_path, "x.jsonl")
    lines = list(plan(config, at, secrets(slack_bot_token=None), notify=False))
    slack, issue, hook = (line.removeprefix("on a regression: ") for line in lines[:3])
    assert slack.startswith("slack #rag-quality: a message with the details in its thread, and the recovery in the")
    assert slack.endswith("; would fail: SLACK_BOT_TOKEN is not set")
    assert issue.startswith("github-issue acme/tutor: the report as the suite's one issue")
    assert issue.endswith("; would be sent")
    assert hook.endswith("; would fail: SLACK_WEBHOOK_URL is not set")
    assert lines[3].endswith("not for this run (schedule): only for pull_request, pull_request_target, merge_group")
    assert lines[5].endswith("not here: only in a CI job")
    local = list(plan(config, replace(at, event="local"), secrets(), notify=False))
    assert local[1].endswith("not for this run (local): this machine only with --notify")
    assert not any("github-check" in line for line in local)

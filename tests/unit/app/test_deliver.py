"""Who is told of a run, when, and that no delivery ever changes a verdict: with real runs and small servers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ragguard.adapters.notifiers.patience import Patience
from ragguard.core.report import Report
from ragguard.errors import DatasetError, ExitCode, StoreError
from tests.fakes.heard import Heard
from tests.fakes.letters import GITHUB_TOKEN, SLACK_TOKEN, Waits
from tests.fakes.small_runs import CONFIG, SmallRuns, answer_rows, write_rows
from tests.parts.github_server import GitHub, github_server
from tests.parts.slack_server import Slack, slack_server

EVERYBODY = """
reporting:
  on_regression: [slack://#rag-quality, create_issue: acme/tutor, slack-webhook]
  on_error: [slack://#rag-quality]
"""


@dataclass
class World:
    """Runs, and everybody who is told of them."""

    runs: SmallRuns
    github: GitHub
    slack: Slack
    said: Heard = field(default_factory=Heard)
    waits: Waits = field(default_factory=Waits)

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "GITHUB_API_URL": self.github.url, "GITHUB_REPOSITORY": "acme/tutor", "GITHUB_TOKEN": GITHUB_TOKEN,
            "SLACK_API_URL": self.slack.api, "SLACK_BOT_TOKEN": SLACK_TOKEN, "SLACK_WEBHOOK_URL": self.slack.hook,
            **more,
        }  # fmt: skip

    def run(self, wrong: int = 0, config: str = CONFIG + EVERYBODY, event: str = "schedule", **changes: Any) -> Report:
        write_rows(self.runs.folder / "answers.jsonl", answer_rows(self.runs.n, wrong))
        return self.run_as_it_is(config, event, **changes)

    def run_as_it_is(self, config: str = CONFIG + EVERYBODY, event: str = "schedule", **changes: Any) -> Report:
        ref = {"GITHUB_REF": "refs/pull/1/merge"} if event == "pull_request" else {}
        known = {"environment": self.environment(**ref), "progress": self.said, "patience": self.waits.patience}
        return self.runs.run_as_it_is(config=config, event=event, **{**known, **changes})

    @property
    def issues(self) -> list[dict[str, Any]]:
        return [
            issue for issue in self.github.repositories["acme/tutor"].issues.values() if "pull_request" not in issue
        ]

    @property
    def comments(self) -> list[dict[str, Any]]:
        return self.github.repositories["acme/tutor"].comments

    @property
    def checks(self) -> list[dict[str, Any]]:
        return self.github.repositories["acme/tutor"].checks


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with github_server() as github, slack_server() as slack:
        github.allow(GITHUB_TOKEN, "checks", "statuses", "issues", "pull-requests")
        yield World(SmallRuns(tmp_path), github, slack)


def break_retrieval(world: World) -> None:
    rows = answer_rows()
    for row in rows[:12]:
        row["contexts"] = [{"id": "x", "text": "The library opens at nine."}]
    write_rows(world.runs.folder / "answers.jsonl", rows)


def test_nights_of_an_incident_are_one_issue_with_one_comment(world: World) -> None:
    world.run()
    assert world.run(wrong=8).exit_code == ExitCode.REGRESSION
    assert world.run(wrong=8).exit_code == ExitCode.REGRESSION
    break_retrieval(world)
    assert world.run_as_it_is().exit_code == ExitCode.REGRESSION
    over = world.run()
    assert over.exit_code == ExitCode.OK
    (issue,) = world.issues
    assert issue["state"] == "closed"
    (comment,) = world.comments
    assert [line.split(" · ")[1] for line in comment["body"].splitlines() if line.startswith("- ")] == [
        "the same again", "another regression", "closed",
    ]  # fmt: skip
    in_channel = [message for message in world.slack.messages if message["channel"] == "C0QUALITY1"]
    assert ["thread_ts" in message for message in in_channel] == [False, True] * 3 + [True]
    assert in_channel[-1]["thread_ts"] == in_channel[-3]["ts"]
    assert [sent.notifier for sent in over.deliveries if sent.ok] == [
        "slack #rag-quality", "github-issue acme/tutor", "slack-webhook",
    ]  # fmt: skip
    assert world.said.undelivered == []


def test_pushes_to_a_pull_request_are_one_comment_and_a_check_each(world: World) -> None:
    world.github.add_pull_request()
    world.run()
    for wrong in (0, 8, 8, 3, 0):
        report = world.run(wrong=wrong, event="pull_request")
        assert [sent.notifier for sent in report.deliveries if sent.ok] == ["github-check", "github-comment"]
    assert len(world.comments) == 1
    assert len(world.checks) == 5
    assert [check["conclusion"] for check in world.checks] == ["success", "failure", "failure", "failure", "success"]
    assert world.issues == []
    assert world.slack.messages == []


def test_each_delivery_stands_in_the_reports(world: World) -> None:
    world.github.tokens[GITHUB_TOKEN].permissions["acme/tutor"].discard("issues")
    world.run()
    report = world.run(wrong=8)
    folder = world.runs.output("run-2")
    document = json.loads((folder / "report.json").read_text("utf-8"))
    assert [(sent["notifier"], sent["ok"]) for sent in document["deliveries"]] == [
        ("slack #rag-quality", True), ("github-issue acme/tutor", False), ("slack-webhook", True),
    ]  # fmt: skip
    assert "permission `issues: write`" in document["deliveries"][1]["detail"]
    assert "github-issue acme/tutor" in (folder / "report.md").read_text("utf-8")
    assert report.deliveries[1].detail == document["deliveries"][1]["detail"]


ALWAYS = """
reporting:
  always: [github-check, github-comment, {create_issue: acme/tutor, events: [any]}, {type: slack, channel: x, events: [any]},
           {type: slack-webhook, events: [any]}, job-summary, annotations]
"""


@pytest.mark.parametrize("trouble", ["refused", "outage", "gone", "no secrets"])
@pytest.mark.parametrize("wrong", [0, 8])
def test_with_every_notifier_failing_the_verdict_stays(world: World, trouble: str, wrong: int) -> None:
    world.github.add_pull_request()
    world.run(config=CONFIG)
    environment = world.environment(GITHUB_REF="refs/pull/1/merge", GITHUB_STEP_SUMMARY=str(world.runs.folder))
    if trouble == "refused":
        world.github.tokens[GITHUB_TOKEN].permissions = {}
        world.slack.scopes = set()
        world.slack.fail("webhook", 403, b"action_prohibited")
    elif trouble == "outage":
        world.github.fail("", 503, "", times=999)
        for method in ("chat.postMessage", "webhook"):
            world.slack.fail(method, 503, b"", times=999)
    elif trouble == "gone":
        environment |= dict.fromkeys(("GITHUB_API_URL", "SLACK_API_URL", "SLACK_WEBHOOK_URL"), "http://127.0.0.1:9/")
    else:
        environment = {name: environment[name] for name in ("GITHUB_REF", "GITHUB_REPOSITORY", "GITHUB_STEP_SUMMARY")}
    plain = world.run(wrong=wrong, config=CONFIG, event="pull_request", environment={})
    world.said.lines.clear()
    told = world.run(wrong=wrong, config=CONFIG + ALWAYS, event="pull_request", environment=environment)
    assert (told.head.outcome, told.exit_code) == (plain.head.outcome, plain.exit_code)
    assert told.exit_code == (ExitCode.REGRESSION if wrong else ExitCode.OK)
    names = ["github-check", "github-comment", "github-issue acme/tutor", "slack x", "slack-webhook", "job-summary"]
    assert [(sent.notifier, sent.ok) for sent in told.deliveries] == [(name, False) for name in names]
    assert [line.split(": ")[1] for line in world.said.undelivered] == names
    assert all("\n" not in line for line in world.said.undelivered)


@pytest.mark.parametrize(("wrong", "code"), [(0, ExitCode.OUTSIDE_WORLD), (8, ExitCode.REGRESSION)])
def test_strict_delivery_turns_a_success_into_exit_4(world: World, wrong: int, code: ExitCode) -> None:
    strict = CONFIG + "reporting: {strict_delivery: true, always: [{type: slack-webhook, events: [any]}]}\n"
    world.run(config=strict)
    assert world.run(config=strict).exit_code == ExitCode.OK
    world.slack.fail("webhook", 404, b"no_service", times=9)
    report = world.run(wrong=wrong, config=strict)
    assert report.exit_code == code
    assert report.head.outcome == ("failed" if wrong else "passed")
    written = json.loads((world.runs.output("run-3") / "report.json").read_text("utf-8"))
    assert written["exit_code"] == code


def test_a_run_that_cannot_be_done_closes_its_check_and_is_told(world: World) -> None:
    blocked = world.runs.folder / "blocked"
    blocked.write_text("a file where the store's folder should be", "utf-8")
    both = CONFIG + EVERYBODY + "  always: [{type: github-check, events: [any]}]\n"
    with pytest.raises(StoreError):
        world.run(config=both, overrides={"reporting.sink": str(blocked)})
    (check,) = world.checks
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    assert "Error: nothing can be said about this run" in check["output"]["title"]
    assert "blocked" in check["output"]["summary"]
    (message,) = world.slack.messages
    assert "blocked" in json.dumps(message)


def test_a_wrong_data_set_is_told_on_the_pull_request(world: World) -> None:
    world.github.add_pull_request()
    (world.runs.folder / "golden.jsonl").write_text('{"question": 7}\n', "utf-8")
    with pytest.raises(DatasetError):
        world.run(event="pull_request")
    assert world.checks[0]["conclusion"] == "failure"
    assert "golden.jsonl" in world.comments[0]["body"]


class Cancelling(Heard):
    """Interrupts the run when a phase begins."""

    def __init__(self, phase: str) -> None:
        super().__init__()
        self._phase = phase

    def start(self, phase: str, total: int) -> None:
        task = asyncio.current_task()
        if phase == self._phase and task is not None:
            task.cancel()


@pytest.mark.parametrize("phase", ["answer", "score"])
def test_an_interrupted_run_closes_its_check_and_tells_nobody_else(world: World, phase: str) -> None:
    world.github.add_pull_request()
    phases: list[str] = []

    class Watching(Heard):
        def start(self, phase: str, total: int) -> None:
            phases.append(phase)

    world.run(event="pull_request", progress=Watching())
    world.comments.clear()
    wanted = phases[0] if phase == "answer" else phases[1]
    try:
        report = world.run(event="pull_request", progress=Cancelling(wanted))
    except (asyncio.CancelledError, KeyboardInterrupt):
        assert phase == "answer"
    else:
        assert report.exit_code == ExitCode.INTERRUPTED
    assert world.checks[-1]["conclusion"] == "cancelled"
    assert world.comments == []
    assert world.slack.messages == []


def test_an_interruption_while_waiting_ends_the_waiting(world: World) -> None:
    world.run()
    world.slack.fail("chat.postMessage", 429, {"ok": False, "error": "ratelimited"}, ["Retry-After: 20"])
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    class Noting(Heard):
        def start(self, phase: str, total: int) -> None:
            task = asyncio.current_task()
            assert task is not None
            loops.append((asyncio.get_running_loop(), task))

    woken = threading.Event()

    def interrupt(_seconds: float) -> bool:
        loop, task = loops[0]
        loop.call_soon_threadsafe(task.cancel)
        while not patience.stopped:
            woken.wait(0.01)
        return True

    patience = Patience(60, interrupt)
    report = world.run(wrong=8, progress=Noting(), patience=patience)
    assert report.exit_code == ExitCode.INTERRUPTED
    assert report.head.outcome == "failed"
    assert [sent.ok for sent in report.deliveries] == [False, False, False]
    assert report.deliveries[1].detail == "interrupted before it was sent"


def test_a_run_on_somebodys_own_machine_tells_nobody_unless_asked(world: World) -> None:
    world.run(event="local")
    assert world.run(wrong=8, event="local").deliveries == ()
    assert world.github.requests == world.slack.requests == []
    told = world.run(wrong=8, event="local", notify=True).deliveries
    assert [sent.notifier for sent in told] == ["slack #rag-quality", "github-issue acme/tutor", "slack-webhook"]


def test_a_shard_tells_nobody(world: World) -> None:
    floor = CONFIG.replace("0.02", "0.02, faithfulness_min: 0.9") + EVERYBODY
    assert world.run(wrong=30, shard="1/2", config=floor).deliveries == ()
    assert world.github.requests == world.slack.requests == []


def test_a_broken_template_of_a_channel_changes_no_verdict(world: World) -> None:
    world.github.add_pull_request()
    (world.runs.folder / "mine").mkdir()
    (world.runs.folder / "mine" / "comment.md.j2").write_text("{{ nonsense", "utf-8")
    report = world.run(event="pull_request", overrides={"templates": "mine"})
    assert report.exit_code == ExitCode.OK
    assert [sent.ok for sent in report.deliveries] == [True, False]
    assert "comment.md.j2" in report.deliveries[1].detail


@pytest.mark.parametrize("event", ["schedule", "local"])
def test_job_summary_and_annotations_come_by_themselves_in_a_job(
    world: World, capsys: pytest.CaptureFixture[str], event: str
) -> None:
    summary = world.runs.folder / "summary.md"
    more = {"GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(world.runs.folder)}
    world.run(event=event, environment=world.environment(**more))
    world.run(event=event, wrong=8, environment=world.environment(**more))
    assert summary.read_text("utf-8").count("\n## ") == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert all(line.startswith("::error file=golden.jsonl,line=") for line in lines)


def test_a_providers_message_with_the_key_reaches_nobody(world: World) -> None:
    key = "provider_secret*key1"
    blocked = world.runs.folder / key
    blocked.write_text("x", "utf-8")
    with pytest.raises(StoreError):
        world.run(overrides={"reporting.sink": str(blocked)}, environment=world.environment(OPENAI_API_KEY=key))
    assert world.slack.messages
    assert "secret" not in world.slack.texts()

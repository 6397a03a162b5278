"""Runs whose news are brought to a GitHub and a Slack of the tests, with something broken between."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragguard.core.report import Delivery, Report
from tests.fakes.heard import Heard
from tests.fakes.letters import GITHUB_TOKEN, SLACK_TOKEN, Waits
from tests.fakes.small_runs import CONFIG, SmallRuns
from tests.faults.fault import Fault
from tests.faults.scene import WRONG, Came, N, contents, is_whole, write_contents
from tests.parts.faulty_proxy import FaultyProxy, faulty_proxy
from tests.parts.github_server import GitHub, github_server
from tests.parts.slack_server import Slack, slack_server

EVERYBODY = """
reporting:
  on_regression: [{channels}]
"""


@dataclass
class Town:
    """The folder, both services, and the proxies before them.

    Attributes:
        environment: The run's.
        waits: How long was waited; nobody really waits.
        said: What the run said.
        deliveries: What became of each, by the notifier's first word.
    """

    runs: SmallRuns
    github: GitHub
    slack: Slack
    to_github: FaultyProxy
    to_slack: FaultyProxy
    environment: dict[str, str] = field(default_factory=dict)
    waits: Waits = field(default_factory=Waits)
    said: list[str] = field(default_factory=list)
    deliveries: dict[str, Delivery] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environment = {
            "GITHUB_API_URL": self.to_github.url, "GITHUB_REPOSITORY": "acme/tutor", "GITHUB_TOKEN": GITHUB_TOKEN,
            "SLACK_API_URL": f"{self.to_slack.url}/api/", "SLACK_BOT_TOKEN": SLACK_TOKEN,
            "SLACK_WEBHOOK_URL": self.slack.hook.replace(self.slack.url, self.to_slack.url),
        }  # fmt: skip
        self.github.add_pull_request()
        self.github.allow(GITHUB_TOKEN, "checks", "statuses", "issues", "pull-requests")

    @property
    def comments(self) -> list[dict[str, Any]]:
        """All comments of the repository."""
        return self.github.repositories["acme/tutor"].comments

    @property
    def checks(self) -> list[dict[str, Any]]:
        """All check runs of the repository."""
        return self.github.repositories["acme/tutor"].checks

    @property
    def statuses(self) -> list[dict[str, Any]]:
        """All commit statuses of the repository."""
        return self.github.repositories["acme/tutor"].statuses

    @property
    def issues(self) -> list[dict[str, Any]]:
        """All issues that are no pull request."""
        return [one for one in self.github.repositories["acme/tutor"].issues.values() if "pull_request" not in one]

    def run(self, *, wrong: int = WRONG, channels: str = "", more: str = "") -> Came:
        """A run of a pull request, or with channels a scheduled one."""
        event = "schedule" if channels else "pull_request"
        environment = dict(self.environment) if channels else {**self.environment, "GITHUB_REF": "refs/pull/1/merge"}
        config = CONFIG + (EVERYBODY.format(channels=channels) + more if channels else "")
        said = Heard()
        report: Report = self.runs.run(
            wrong=wrong,
            config=config,
            event=event,
            environment=environment,
            progress=said,
            patience=self.waits.patience,
        )
        self.said = said.lines
        self.deliveries = {sent.notifier.partition(" ")[0]: sent for sent in report.deliveries}
        document = json.loads((self.out / "report.json").read_bytes())
        assert [sent["detail"] for sent in document["deliveries"]] == [sent.detail for sent in report.deliveries]
        told = [f"{sent.notifier}: {sent.detail}" for sent in report.deliveries]
        words = "\n".join([*self.said, *told])
        for secret in (GITHUB_TOKEN, SLACK_TOKEN, "hooksecrethooksecret"):
            assert secret not in words
        return Came(str(document["outcome"]), int(report.exit_code), words)

    @property
    def out(self) -> Path:
        """The output folder of the last run."""
        return self.runs.output(f"run-{self.runs.count}")

    def failed(self, notifier: str) -> bool:
        """Whether it could not deliver, and the command's output says so; the verdict and the reports are whole."""
        told = any(line.startswith(f"not delivered: {notifier}") for line in self.said)
        return not self.deliveries[notifier].ok and told and is_whole(self.out)

    def arrived(self, notifier: str) -> bool:
        """Whether it delivered."""
        return self.deliveries[notifier].ok and is_whole(self.out)


@contextmanager
def town(folder: Path) -> Iterator[Town]:
    """Both services, and a folder in which one good run of the base branch is stored."""
    with (
        github_server() as github,
        slack_server() as slack,
        faulty_proxy(github.url) as to_github,
        faulty_proxy(slack.url) as to_slack,
    ):
        github.url = to_github.url  # its replies lead back through the proxy
        yield Town(_with_a_good_run(folder), github, slack, to_github, to_slack)


_GOOD: dict[str, bytes] = {}


def _with_a_good_run(folder: Path) -> SmallRuns:
    """Runs in a folder whose store holds a good one already, made once for all tests."""
    runs = SmallRuns(folder, N)
    if _GOOD:
        write_contents(folder, _GOOD)
        runs.count = 1
    else:
        assert runs.run().exit_code == 0
        _GOOD.update(contents(folder / "store"))
    return runs


@dataclass(frozen=True)
class Untold:
    """A fault of a channel.

    Attributes:
        hurt: What is done to the town before the run.
        channels: Who is told, where it is no pull request.
    """

    fault: Fault
    hurt: Callable[[Town], object]
    channels: str = ""


Kept = dict[str, Callable[[Town], bool]]


def hold_told(untold: Untold, place: Town, kept: Kept) -> None:
    """Asserts every field of a fault: the run is one that failed."""
    untold.hurt(place)
    came = place.run(channels=untold.channels)
    fault = untold.fault
    assert (came.outcome, came.exit_code) == (fault.outcome, fault.exit_code), came.words
    assert re.search(fault.says, came.words), came.words
    assert "Traceback" not in came.words
    assert kept[fault.kept](place), (fault.kept, came.words)

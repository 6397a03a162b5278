"""What notifiers share: what is told, where the run takes place, and the secrets that open the channels.

Notifiers bring what was put into words elsewhere to where it is read. None of them changes a verdict: what cannot be
delivered is a value, `Delivery(ok=False)`, with the reason in one line.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from ragguard.adapters.notifiers.patience import DeliveryError, Patience
from ragguard.adapters.notifiers.redaction import Redactor
from ragguard.core.report import Delivery, Links
from ragguard.core.runs import Outcome
from ragguard.core.text import one_line

EventName = Literal[
    "any", "pull_request", "pull_request_target", "merge_group", "push", "schedule", "workflow_dispatch",
    "workflow_run", "repository_dispatch", "workflow_call", "release",
]  # fmt: skip
UNATTENDED: tuple[EventName, ...] = ("schedule", "push", "workflow_dispatch")
CHANGES: tuple[EventName, ...] = ("pull_request", "pull_request_target")
MarkdownName = Literal["comment", "check", "issue", "summary", "line"]
"""Channels of Markdown; `line` is the outcome and its link in one line."""
Blocks = Sequence[Mapping[str, Any]]
_LONGEST_DETAIL = 500
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def plain_line(text: str, most: int) -> str:
    """A foreign text on one line of at most so many characters, without control and direction characters."""
    kept = "".join(" " if unicodedata.category(char) in _UNPRINTABLE else char for char in text[: 4 * most])
    line = one_line(kept)
    return line if len(line) <= most else f"{line[: most - 1]}…"


class SlackTexts(Protocol):
    """A message for Slack."""

    @property
    def text(self) -> str:
        """For notifications."""
        ...

    @property
    def blocks(self) -> Blocks:
        """The message."""
        ...

    @property
    def details(self) -> Blocks:
        """The reply with details; empty for none."""
        ...


class Remark(Protocol):
    """A remark on a line of the data set."""

    @property
    def line(self) -> int:
        """From 1; 0 where it is not known."""
        ...

    @property
    def level(self) -> Literal["error", "warning", "notice"]:
        """How grave it is."""
        ...

    @property
    def title(self) -> str:
        """In short."""
        ...

    @property
    def text(self) -> str:
        """Some lines."""
        ...


@dataclass(frozen=True)
class Letter:
    """What is told of one run, already in words and without secrets.

    Attributes:
        headline: The outcome in one sentence.
        fell: Ids of the metrics that failed.
        exit_code: What the command exits with.
        recovered: The suite's last verdict on this branch was a failure, and this one is none.
        interrupted: The run was broken off by its user.
        markdown: Renders for a channel, fitted to it.
        slack: Renders for Slack.
        remarks: Remarks on the data set's lines, the worst first.
    """

    suite: str
    branch: str | None
    run_id: str
    outcome: Outcome
    headline: str
    exit_code: int
    markdown: Callable[[MarkdownName], str]
    slack: Callable[[], SlackTexts]
    remarks: Callable[[], Sequence[Remark]] = tuple
    fell: tuple[str, ...] = ()
    links: Links = field(default_factory=Links)
    recovered: bool = False
    interrupted: bool = False

    @property
    def fine(self) -> bool:
        """Whether the run passed, with or without a warning."""
        return self.outcome in {"passed", "warned"}


@dataclass(frozen=True)
class Surroundings:
    """Where the run takes place.

    Attributes:
        event: What started it; see `RunContext.event`.
        repository: `owner/name`.
        commit: The commit under test, for a pull request its head.
        pull_request: Its number.
        dataset: The data set's path inside the repository; None where it lies elsewhere.
        step_summary: The file to which the CI runner's job summary is appended.
        in_actions: Whether a runner reads workflow commands from standard output.
        command: Writes a line that the runner obeys to standard output.
    """

    event: str
    now: datetime
    repository: str | None = None
    commit: str | None = None
    pull_request: int | None = None
    dataset: str | None = None
    step_summary: Path | None = None
    in_actions: bool = False
    github_api: str = "https://api.github.com"
    slack_api: str = "https://slack.com/api/"
    command: Callable[[str], None] = lambda _line: None


@dataclass(frozen=True)
class Secrets:
    """What opens the channels; None where it is not given.

    Attributes:
        redact: Takes all secrets of the run out of a text.
    """

    slack_bot_token: SecretStr | None = None
    slack_webhook_url: SecretStr | None = None
    github_token: SecretStr | None = None
    issue_token: SecretStr | None = None
    redact: Redactor = field(default_factory=Redactor)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Secrets:
        """Reads them from the variables that hold them."""

        def read(name: str) -> SecretStr | None:
            value = environment.get(name, "").strip()
            return SecretStr(value) if value else None

        return cls(
            slack_bot_token=read("SLACK_BOT_TOKEN"),
            slack_webhook_url=read("SLACK_WEBHOOK_URL"),
            github_token=read("GITHUB_TOKEN"),
            issue_token=read("RAGGUARD_ISSUE_TOKEN"),
            redact=Redactor.of_environment(environment),
        )


class Notifier(BaseModel):
    """Base of the notifiers: settings that deliver.

    Attributes:
        events: What must have started a run for it to be told; a run on somebody's own machine is told on request.
        settles: When a notifier that told of a failure is called again to settle it: at the first run that is fine
            again (`recovery`), at every run that is fine (`fine`), or never.
        urgent: Told before the others.
        inward: Tells only whoever looks at the job that the run is part of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    events: tuple[EventName, ...] = Field(default=("any",), description="Events whose runs are told.")
    settles: ClassVar[Literal["never", "recovery", "fine"]] = "never"
    urgent: ClassVar[bool] = False
    inward: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Who or what is told, for people."""
        raise NotImplementedError

    @property
    def tells(self) -> str:
        """What is sent, for people."""
        raise NotImplementedError

    def is_here(self, at: Surroundings) -> bool:
        """Whether there is such a channel here at all."""
        return True

    def lacks(self, at: Surroundings, secrets: Secrets) -> str | None:
        """What is missing to deliver, in one line; None for nothing."""
        return None

    def send(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> str:
        """Delivers, and says in one line what was done.

        Raises:
            DeliveryError: It cannot be delivered.
        """
        raise NotImplementedError

    def deliver(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> Delivery:
        """Delivers; what cannot be delivered is a value, whatever went wrong."""
        try:
            missing = self.lacks(at, secrets)
            if missing is not None:
                raise DeliveryError(missing)
            detail, ok = self.send(letter, at, secrets, patience), True
        except DeliveryError as error:
            detail, ok = str(error), False
        except Exception as error:  # noqa: BLE001 - a notifier never stops the others
            detail, ok = f"{type(error).__name__}: {error}", False
        return Delivery(self.name, ok=ok, detail=plain_line(secrets.redact(detail), _LONGEST_DETAIL))

"""Who is told of a run: the notifiers a config may hold, and their short forms."""

from __future__ import annotations

import difflib
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ragguard.adapters.notifiers.annotations import Annotations
from ragguard.adapters.notifiers.base import Notifier
from ragguard.adapters.notifiers.github_check import GitHubCheck
from ragguard.adapters.notifiers.github_comment import GitHubComment
from ragguard.adapters.notifiers.github_issue import GitHubIssue
from ragguard.adapters.notifiers.job_summary import JobSummary
from ragguard.adapters.notifiers.slack import Slack
from ragguard.adapters.notifiers.slack_webhook import SlackWebhook

NOTIFIERS: tuple[type[Notifier], ...] = (
    Slack, SlackWebhook, GitHubIssue, GitHubComment, GitHubCheck, JobSummary, Annotations,
)  # fmt: skip
AnyNotifier = Slack | SlackWebhook | GitHubIssue | GitHubComment | GitHubCheck | JobSummary | Annotations
_SHORT = ("slack-webhook", "github-comment", "github-check", "job-summary", "annotations")


def from_short(value: object) -> object:
    """Turns a short form into settings.

    `slack://#channel`, `{create_issue: owner/repo}`, and the names of those that need no setting: `slack-webhook`,
    `github-comment`, `github-check`, `job-summary`, `annotations`.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(value, dict) and "create_issue" in value and "type" not in value:
        rest = {key: inner for key, inner in value.items() if key != "create_issue"}
        return {"type": "github-issue", "repository": value["create_issue"], **rest}
    if not isinstance(value, str):
        return value
    if value.startswith("slack://"):
        return {"type": "slack", "channel": value.removeprefix("slack://")}
    if value in _SHORT:
        return {"type": value}
    close = difflib.get_close_matches(value, (*_SHORT, "slack://#channel"), n=1)
    known = f"known: slack://#channel, create_issue: owner/repo, {', '.join(_SHORT)}"
    hint = f"did you mean `{close[0]}`?" if close else known
    raise ValueError(f"unknown notifier `{value}`; {hint}")


NotifierConfig = Annotated[
    Annotated[AnyNotifier, Field(discriminator="type")],
    BeforeValidator(from_short, json_schema_input_type=str | dict[str, Any]),
]
"""What may stand in the lists `on_regression`, `on_recovery`, `on_error` and `always`."""

DEFAULTS: tuple[AnyNotifier, ...] = (GitHubCheck(), GitHubComment(), JobSummary(), Annotations())
"""`always`, where the config says nothing: pull requests get check and comment, CI jobs summary and annotations."""

__all__ = ["DEFAULTS", "NOTIFIERS", "AnyNotifier", "Notifier", "NotifierConfig", "from_short"]

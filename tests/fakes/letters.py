"""Letters about reports built by hand, and the place they are sent from."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr

from ragguard.adapters.notifiers.base import Letter, Secrets, Surroundings
from ragguard.adapters.notifiers.patience import Patience
from ragguard.adapters.notifiers.redaction import Redactor
from ragguard.app.letters import letter_of
from ragguard.core.report import Report
from ragguard.core.runs import Outcome
from tests.fakes.reports import make_report

NOW = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
GITHUB_TOKEN, ISSUE_TOKEN = "ghs_workflowtokenworkflowtoken", "github_pat_issuetokenissuetoken12"
SLACK_TOKEN = "xoxb-1234567890-abcdefghij"


class Waits:
    """Patience that does not wait, and remembers how long it would have."""

    def __init__(self, total_s: float = 180.0) -> None:
        self.asked: list[float] = []
        self.patience = Patience(total_s, self._sleep)

    def _sleep(self, seconds: float) -> bool:
        self.asked.append(seconds)
        return False


def letter(
    outcome: Outcome = "failed", *, recovered: bool = False, report: Report | None = None, **fields: Any
) -> Letter:
    """A letter about a report built by hand; fields are the report's."""
    made = report or make_report(outcome, **{"branch": "main", "event": "schedule", **fields})
    return letter_of(made, recovered=recovered, redact=Redactor())


def night(number: int, outcome: Outcome, *metrics: str, recovered: bool = False) -> Letter:
    """The letter of a nightly run in which some metrics fell."""
    made = letter(outcome, recovered=recovered, run_id=f"run-{number}")
    return replace(made, fell=metrics, headline=f"{outcome}: {', '.join(metrics) or 'nothing'} fell")


def place(event: str = "schedule", **fields: Any) -> Surroundings:
    """Where a run of a test takes place."""
    return Surroundings(
        **{"event": event, "now": NOW, "repository": "acme/tutor", "dataset": "data/golden.jsonl", **fields}
    )


def secrets(**changes: Any) -> Secrets:
    """Everything that opens the channels."""
    known = Secrets(
        slack_bot_token=SecretStr(SLACK_TOKEN),
        github_token=SecretStr(GITHUB_TOKEN),
        issue_token=SecretStr(ISSUE_TOKEN),
        redact=Redactor([SLACK_TOKEN, GITHUB_TOKEN, ISSUE_TOKEN]),
    )
    return replace(known, **changes)

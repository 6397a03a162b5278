"""What the inputs comment, check, issue, slack and fail-on do to a config."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ragguard.app.config import Config
from ragguard.app.context import RunContext
from ragguard.app.read_config import parse_config
from ragguard.entrypoints.action_inputs import Inputs
from ragguard.entrypoints.delivery_inputs import with_inputs
from ragguard.entrypoints.github_context import GitHubContext
from ragguard.errors import ConfigError

HERE = GitHubContext(RunContext("r", datetime(2026, 1, 1, tzinfo=UTC), repository="acme/tutor"))
BASE = "pipeline: {dataset: g}\njudge: {model: offline}\n"
DEFAULT = ["github-check", "github-comment", "job-summary", "annotations"]


def config(reporting: str = "{}") -> Config:
    return parse_config(f"{BASE}reporting: {reporting}\n", "c", {})


def told(config: Config, name: str = "always") -> list[str]:
    return [one.type for one in getattr(config.reporting, name)]


def test_without_inputs_the_config_decides() -> None:
    assert with_inputs(config(), Inputs(), HERE) == config()


@pytest.mark.parametrize(("field", "kind"), [("comment", "github-comment"), ("check", "github-check")])
def test_a_channel_is_switched(field: str, kind: str) -> None:
    off = with_inputs(config(), Inputs(**{field: False}), HERE)
    assert told(off) == [name for name in DEFAULT if name != kind]
    assert told(with_inputs(config("{always: []}"), Inputs(**{field: True}), HERE)) == [kind]
    assert told(with_inputs(config(), Inputs(**{field: True}), HERE)) == DEFAULT


def test_an_issue_here_where_the_config_names_none() -> None:
    (issue,) = with_inputs(config(), Inputs(issue=""), HERE).reporting.on_regression
    assert (issue.type, issue.repository) == ("github-issue", "acme/tutor")  # type: ignore[union-attr]


def test_an_issue_where_the_config_says_unless_the_input_names_another_place() -> None:
    configured = config("{on_regression: [{create_issue: acme/alerts}]}")
    assert with_inputs(configured, Inputs(issue=""), HERE) == configured
    (other,) = with_inputs(configured, Inputs(issue="acme/other"), HERE).reporting.on_regression
    assert other.repository == "acme/other"  # type: ignore[union-attr]
    assert told(with_inputs(configured, Inputs(issue=False), HERE), "on_regression") == []


def test_an_issue_in_an_unknown_repository_is_refused() -> None:
    nowhere = GitHubContext(RunContext("r", datetime(2026, 1, 1, tzinfo=UTC)))
    with pytest.raises(ConfigError, match="input `issue`"):
        with_inputs(config(), Inputs(issue=""), nowhere)


def test_slack_is_told_of_falls_recoveries_and_errors() -> None:
    found = with_inputs(config('{on_regression: ["slack://#old"]}'), Inputs(slack="#new"), HERE)
    assert [told(found, name) for name in ("on_regression", "on_recovery", "on_error")] == [["slack"]] * 3


def test_a_run_without_secrets_tells_only_the_job() -> None:
    stranger = GitHubContext(HERE.run, fork=True, without_secrets=True)
    found = with_inputs(config('{on_regression: ["slack://#x", {create_issue: a/b}]}'), Inputs(comment=True), stranger)
    assert told(found) == ["job-summary", "annotations"]
    assert told(found, "on_regression") == []


@pytest.mark.parametrize("word", ["inconclusive", "not-comparable", "no-baseline"])
def test_fail_on_says_what_blocks(word: str) -> None:
    gate = with_inputs(config(), Inputs(fail_on=frozenset({"regression", word})), HERE).gate
    field = f"on_{word.replace('-', '_')}"
    for name in ("on_inconclusive", "on_not_comparable", "on_no_baseline"):
        assert getattr(gate, name) == ("fail" if name == field else "warn")

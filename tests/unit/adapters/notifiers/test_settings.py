"""What may stand in the config's lists of notifiers."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from ragguard.adapters import notifiers
from ragguard.adapters.notifiers import DEFAULTS, NOTIFIERS, NotifierConfig
from ragguard.adapters.notifiers.base import Notifier
from ragguard.app.config import Reporting
from ragguard.app.read_config import parse_config
from ragguard.errors import ConfigError

ADAPTER: TypeAdapter[Notifier] = TypeAdapter(NotifierConfig)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("slack://#rag-quality", {"type": "slack", "channel": "#rag-quality"}),
        ("slack://C0QUALITY1", {"type": "slack", "channel": "C0QUALITY1"}),
        ("slack-webhook", {"type": "slack-webhook"}),
        ({"create_issue": "acme/tutor"}, {"type": "github-issue", "repository": "acme/tutor"}),
        ({"create_issue": "acme/tutor", "labels": ["rag"]},
         {"type": "github-issue", "repository": "acme/tutor", "labels": ["rag"]}),
        ("github-comment", {"type": "github-comment"}),
        ("github-check", {"type": "github-check"}),
        ("job-summary", {"type": "job-summary"}),
        ("annotations", {"type": "annotations"}),
    ],
)  # fmt: skip
def test_short_forms(short: object, long: object) -> None:
    assert ADAPTER.validate_python(short) == ADAPTER.validate_python(long)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("github-coment", "did you mean `github-comment`?"),
        ("pigeon", "known: slack://#channel, create_issue: owner/repo"),
        ({"create_issue": "no-owner"}, "String should match pattern"),
        ({"type": "slack", "channel": "#x", "chanel": "y"}, "Extra inputs are not permitted"),
        ({"type": "slack", "channel": "#x", "events": ["pullrequest"]}, "Input should be 'any', 'pull_request'"),
        ({"type": "slack", "channel": "#x", "token": "xoxb-1"}, "Extra inputs are not permitted"),
    ],
)
def test_mistakes_are_told(value: object, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ADAPTER.validate_python(value)
    assert says in str(caught.value)


def test_a_mistake_in_the_file_is_told_with_its_line() -> None:
    text = "pipeline: {dataset: x.jsonl}\nreporting:\n  on_regression:\n    - slack://#rag\n    - githb-check\n"
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "ragguard.yaml", {})
    assert "ragguard.yaml:5: reporting.on_regression" in str(caught.value)
    assert "did you mean `github-check`?" in str(caught.value)


def test_events_by_default() -> None:
    unattended = ("schedule", "push", "workflow_dispatch")
    assert ADAPTER.validate_python("slack://#x").events == unattended
    assert ADAPTER.validate_python({"create_issue": "a/b"}).events == unattended
    assert "pull_request" in ADAPTER.validate_python("github-check").events
    assert "merge_group" in ADAPTER.validate_python("github-check").events
    assert "push" not in ADAPTER.validate_python("github-comment").events
    assert ADAPTER.validate_python("job-summary").events == ("any",)


def test_pull_requests_and_jobs_are_told_without_a_word_in_the_config() -> None:
    assert [one.type for one in Reporting().always] == ["github-check", "github-comment", "job-summary", "annotations"]
    assert Reporting().always == DEFAULTS
    assert Reporting(always=()).always == ()


def test_every_notifier_is_in_the_list() -> None:
    def below(kind: type[Notifier]) -> set[type[Notifier]]:
        return set(kind.__subclasses__()).union(*(below(child) for child in kind.__subclasses__()))

    modules = {path.stem for path in Path(notifiers.__file__).parent.glob("*.py")}
    assert below(Notifier) == set(NOTIFIERS)
    assert {kind.__module__.rpartition(".")[2] for kind in NOTIFIERS} <= modules


def test_settings_are_frozen_and_tell_of_themselves() -> None:
    for kind in NOTIFIERS:
        fields = {"channel": "#x"} if "channel" in kind.model_fields else {}
        fields |= {"repository": "a/b"} if "repository" in kind.model_fields else {}
        made = kind(**fields)
        assert made.name
        assert made.tells
        assert hash(made) == hash(kind(**fields))
        with pytest.raises(ValidationError):
            made.events = ()

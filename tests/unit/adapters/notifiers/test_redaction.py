"""Secrets in texts, records and addresses."""

import pytest

from ragguard.adapters.notifiers.redaction import Redactor
from tests.fakes.reports import make_report


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("key s3cret-value-1 refused", "key *** refused"),
        ("in an address: ?k=a%2Fb%3Dc%2Fd%3D", "in an address: ?k=***"),
        ('{"k": "quo\\"te-secret"}', '{"k": "***"}'),
        ("Incorrect API key provided: sk-proj-abc123DEF456ghi789jkl.", "Incorrect API key provided: ***."),
        ("xoxb-1234567890-abc and ghp_abcdefghijklmnopqrstuvwxyz01", "*** and ***"),
        ("https://hooks.example/services/T0AAAAAAA/B0BBBBBBB/abcdefghij", "https://hooks.example/services/***"),
        ("Authorization: Bearer abcdefghijklmnopqrst", "Authorization: Bearer ***"),
        ("the risk-assessment-of-the-whole-run and sk-learn-is-a-library-too", None),
        ("the value short stays", None),
    ],
)
def test_secrets_are_blotted_out(text: str, told: str | None) -> None:
    redact = Redactor(["s3cret-value-1", "a/b=c/d=", 'quo"te-secret', "short"])
    assert redact(text) == (text if told is None else told)


def test_names_tell_which_variables_are_secret() -> None:
    redact = Redactor.of_environment(
        {"OPENAI_API_KEY": "one-secret-value", "SLACK_WEBHOOK_URL": "two-secret-value", "MY_DB_PASSWORD": "three-secret",
         "TOKENIZER": "not-a-secret-at-all", "KEYBOARD": "also-not-a-secret"}
    )  # fmt: skip
    assert redact("one-secret-value two-secret-value three-secret") == "*** *** ***"
    assert redact("not-a-secret-at-all also-not-a-secret") == "not-a-secret-at-all also-not-a-secret"


def test_a_secret_that_begins_another_hides_both() -> None:
    assert Redactor(["secret-one", "secret-one-longer"])("secret-one-longer secret-one") == "*** ***"


def test_a_record_without_secrets_stays_the_same_object() -> None:
    head = make_report().head
    assert Redactor(["not-in-there-at-all"]).model(head) is head


def test_a_record_is_cleaned_everywhere() -> None:
    head = make_report(reasons=("refused: my_secret*value",), suite="my_secret*value").head
    cleaned = Redactor(["my_secret*value"]).model(head)
    assert cleaned.reasons == ("refused: ***",)
    assert cleaned.suite == "***"
    assert cleaned.created_at == head.created_at


def test_hostile_repetitions_cost_little() -> None:
    for piece in ("sk-", "eyJ-", "eyJaaaaaaaaaa.", "xoxb-", "/services/T", "Bearer "):
        assert Redactor(["my_secret*value"])(f"{piece * 100_000} my_secret*value").endswith(" ***")

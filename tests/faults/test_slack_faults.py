"""Slack refuses, limits, breaks off or is somebody else: the verdict stays, and what was not delivered is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.fault import Fault
from tests.faults.telling import Kept, Town, Untold, hold_told, town
from tests.parts.faulty_proxy import Fault as Break
from tests.parts.faulty_proxy import (
    circle,
    delayed,
    empty,
    garbled,
    half,
    page,
    redirect,
    refused,
    reset,
    status,
    truncated,
)

VERDICT = "verdict, reports; no message"
MESSAGE = "verdict, reports, one message with its details"
BARE = "verdict, reports, one message without its details"
TWICE = "verdict, reports; the message, which may come twice"
UNSURE = "verdict, reports; the message, although nothing says so"
CHANNEL, HOOK = "slack://#rag-quality", "slack-webhook"


def _fault(name: str, kept: str, says: str, shown: str = "") -> Fault:
    return Fault("Slack", name, "failed", 1, kept, says, shown)


def _no(word: str, says: str) -> Untold:
    """Slack's own refusal, as its API gives it: 200, and a word."""
    reply = status(200, body=f'{{"ok": false, "error": "{word}"}}'.encode())
    return Untold(_fault(word, VERDICT, says), _always(reply), CHANNEL)


def _always(fault: Break) -> Callable[[Town], object]:
    return lambda place: place.to_slack.always(fault)


def _once(fault: Break) -> Callable[[Town], object]:
    return lambda place: place.to_slack.on(1, fault)


def _limited(after: str) -> Break:
    body = b'{"ok": false, "error": "ratelimited"}'
    return status(429, body=body, headers={"Retry-After": after})


def _hook(name: str, kept: str, says: str, hurt: Callable[[Town], object], shown: str = "") -> Untold:
    return Untold(_fault(f"webhook: {name}", kept, says, shown), hurt, HOOK)


def _elsewhere(place: Town) -> None:
    """What is behind the redirect would take any message."""
    place.to_slack.always(redirect(place.to_github.url))


def _plain_http(place: Town) -> None:
    place.environment["SLACK_WEBHOOK_URL"] = (
        "http://hooks.example.com/services/T00000000/B00000000/hooksecrethooksecret"
    )


TOLD = (
    _no("invalid_auth", "SLACK_BOT_TOKEN is refused"),
    _no("token_revoked", "SLACK_BOT_TOKEN was revoked"),
    _no("channel_not_found", "there is no such channel, or it is private: invite the app to it"),
    _no("not_in_channel", "the app is not in the channel: invite it"),
    _no("is_archived", "the channel is archived"),
    _no("missing_scope", "the app needs the scope `chat:write`"),
    _no("internal_error", "Slack answered 200 internal_error"),
    _no("a_word_of_tomorrow", "Slack refuses the message .a_word_of_tomorrow"),
    Untold(_fault("no token", VERDICT, "SLACK_BOT_TOKEN is not set"), lambda place: place.environment.pop("SLACK_BOT_TOKEN"), CHANNEL),
    Untold(_fault("ratelimited, Retry-After 3", MESSAGE, "posted, with details in the thread"), _once(_limited("3")), CHANNEL),
    Untold(_fault("ratelimited for an hour", VERDICT, "asked to wait 3,600 s, longer than a delivery may"), _always(_limited("3600")), CHANNEL),
    Untold(_fault("ratelimited, a senseless Retry-After", MESSAGE, "posted, with details"), _once(_limited("soon")), CHANNEL),
    Untold(_fault("500 once", MESSAGE, "posted, with details in the thread"), _once(status(500)), CHANNEL),
    Untold(_fault("500 at every try", VERDICT, "Slack answered 500 .*4 tries", "“Slack answered 500 (4 tries)”"), _always(status(500, body=b"")), CHANNEL),
    Untold(_fault("a page instead of a reply", VERDICT, "what answered.* is not Slack", "“what answered is not Slack”"), _always(page()), CHANNEL),
    Untold(_fault("an empty reply", VERDICT, "what answered.* is not Slack", "“what answered is not Slack”"), _always(empty()), CHANNEL),
    Untold(_fault("half a JSON text", UNSURE, "what answered.* is not Slack", "“what answered is not Slack”"), _always(truncated()), CHANNEL),
    Untold(_fault("a reply that is no UTF-8", VERDICT, "what answered.* is not Slack", "“what answered is not Slack”"), _always(garbled()), CHANNEL),
    Untold(_fault("redirects in a circle", VERDICT, "what answered.* is not Slack|Slack refuses the message", "“what answered is not Slack”"), _always(circle()), CHANNEL),
    Untold(_fault("redirects elsewhere", VERDICT, "Slack refuses the message .401."), _elsewhere, CHANNEL),
    Untold(_fault("resets connections", VERDICT, "Slack cannot be reached"), _always(reset()), CHANNEL),
    Untold(_fault("refuses connections", VERDICT, "Slack cannot be reached"), _always(refused()), CHANNEL),
    Untold(_fault("breaks off in the middle of its reply, once", TWICE, "posted, with details"), _once(half()), CHANNEL),
    Untold(_fault("slow", MESSAGE, "posted, with details in the thread"), _always(delayed(0.2)), CHANNEL),
    Untold(_fault("breaks between the message and its details", BARE, "posted, but not its details: Slack cannot be reached"),
           lambda place: place.to_slack.after(1, reset()), CHANNEL),
    _hook("it was removed", VERDICT, "SLACK_WEBHOOK_URL is refused: the webhook was removed or is wrong", _always(status(404, body=b"no_service"))),
    _hook("the workspace forbids it", VERDICT, "the workspace does not let the webhook post there", _always(status(403, body=b"action_prohibited"))),
    _hook("429, Retry-After 3", MESSAGE, "posted", _once(_limited("3"))),
    _hook("500 at every try", VERDICT, "Slack answered 500", _always(status(500, body=b""))),
    _hook("a page instead of a reply", VERDICT, "is not Slack", _always(page()), "“what answered is not Slack”"),
    _hook("an empty reply", VERDICT, "is not Slack", _always(empty()), "“what answered is not Slack”"),
    _hook("redirects elsewhere", VERDICT, "Slack refuses the message .401.", _elsewhere, "“what answered is not Slack”"),
    _hook("resets connections", VERDICT, "Slack cannot be reached", _always(reset())),
    _hook("an address without TLS", VERDICT, "SLACK_WEBHOOK_URL is no https address", _plain_http),
)  # fmt: skip


def _name(place: Town) -> str:
    return next(iter(place.deliveries))


def _messages(place: Town) -> tuple[int, int]:
    """How many messages and replies arrived."""
    replies = sum("thread_ts" in message for message in place.slack.messages)
    return len(place.slack.messages) - replies, replies


KEPT: Kept = {
    VERDICT: lambda place: place.failed(_name(place)) and _messages(place) == (0, 0),
    MESSAGE: lambda place: place.arrived(_name(place)) and _messages(place) == (1, int(_name(place) == "slack")),
    BARE: lambda place: place.arrived("slack") and _messages(place) == (1, 0),
    UNSURE: lambda place: place.failed("slack") and _messages(place) == (1, 0),
    TWICE: lambda place: place.arrived("slack") and _messages(place) == (2, 1),
}


@pytest.mark.parametrize("untold", TOLD, ids=lambda untold: untold.fault.name)
def test_slack(untold: Untold, tmp_path: Path) -> None:
    with town(tmp_path) as place:
        hold_told(untold, place, KEPT)
        assert not any("authorization" in call.headers for call in place.to_github.calls), "the token went elsewhere"


@pytest.mark.parametrize("broken", [status(500), page(), reset()], ids=["500", "page", "reset"])
def test_a_recovery_stays_one_and_says_what_was_not_told(broken: Break, tmp_path: Path) -> None:
    with town(tmp_path) as place:
        assert place.run(channels=f"{CHANNEL}, {HOOK}").exit_code == 1
        place.to_slack.always(broken)
        came = place.run(wrong=0, channels=f"{CHANNEL}, {HOOK}")
        assert (came.outcome, came.exit_code) == ("passed", 0)
        assert place.failed("slack")
        assert place.failed("slack-webhook")


FAULTS: tuple[Fault, ...] = tuple(untold.fault for untold in TOLD)

"""Messages in a channel, their threads, and what Slack refuses."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from ragguard.adapters.notifiers.base import Letter
from ragguard.adapters.notifiers.slack import Slack
from ragguard.adapters.notifiers.slack_webhook import SlackWebhook
from ragguard.core.report import Delivery
from tests.fakes.letters import SLACK_TOKEN, Waits, letter, place, secrets
from tests.fakes.reports import LINKS
from tests.parts.slack_server import SCOPES, TOKEN, Message, slack_server
from tests.parts.slack_server import Slack as Server

CHANNEL = Slack(channel="#rag-quality")
assert TOKEN == SLACK_TOKEN


@pytest.fixture
def server() -> Iterator[Server]:
    with slack_server() as running:
        yield running


def tell(server: Server, told: Letter, channel: Slack = CHANNEL, waits: Waits | None = None) -> Delivery:
    return channel.deliver(told, place(slack_api=server.api), secrets(), (waits or Waits()).patience)


def hook(server: Server, told: Letter, waits: Waits | None = None, address: str | None = None) -> Delivery:
    known = secrets(slack_webhook_url=SecretStr(address or server.hook))
    return SlackWebhook().deliver(told, place(), known, (waits or Waits()).patience)


def all_texts(value: Any) -> Iterator[tuple[str, str]]:
    """Every text object in a message: its type and text."""
    if isinstance(value, dict):
        if value.get("type") in {"mrkdwn", "plain_text"}:
            yield value["type"], value["text"]
        for inner in value.values():
            yield from all_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from all_texts(inner)


def words(message: Message) -> str:
    return "\n".join(text for _, text in all_texts(message["blocks"]))


def test_a_failure_is_a_message_and_a_reply_with_details(server: Server) -> None:
    assert tell(server, letter("failed")) == Delivery(
        "slack #rag-quality", ok=True, detail="posted, with details in the thread"
    )
    message, reply = server.messages
    assert message["channel"] == reply["channel"] == "C0QUALITY1"
    assert "thread_ts" not in message
    assert reply["thread_ts"] == message["ts"]
    header, *_, actions = message["blocks"]
    assert header["text"]["text"] == "❌ Failed: faithfulness got worse"
    assert [button["url"] for button in actions["elements"]] == [LINKS.report, LINKS.run]
    said = words(message)
    assert "`faithfulness` ❌ failed\n*50.0 %*, was 100.0 %\n−50.00 points" in said
    assert "`answer_relevance`" not in said
    assert said.count("question: “") == 3
    assert "now: “60% of the fee is refunded in the third week” — contradicted" in said
    assert "1 more regressed sample: in the thread and in the full report" in said
    assert "`answer_relevance`" in words(reply)
    assert words(reply).count("question: “") == 1
    assert "What to do next" in words(reply)


@pytest.mark.parametrize("language", ["vi", "zh"])
def test_other_languages_arrive_as_they_are(server: Server, language: Any) -> None:
    tell(server, letter("failed", language=language))
    assert {"vi": "hoàn 60% học phí", "zh": "60%"}[language] in words(server.messages[0])


def test_details_may_be_left_out(server: Server) -> None:
    tell(server, letter("failed"), Slack(channel="rag-quality", details=False))
    assert len(server.messages) == 1


def test_a_recovery_stands_in_the_thread_of_the_newest_failure(server: Server) -> None:
    tell(server, letter("failed"))
    tell(server, letter("failed"))
    newest = server.messages[2]["ts"]
    tell(server, replace(letter("failed"), suite="other"))
    server.page = 1
    sent = tell(server, letter("passed", recovered=True))
    assert sent.detail == "posted the recovery in the thread of the failure"
    assert server.messages[-1]["thread_ts"] == newest
    assert str(server.messages[-1]["reply_broadcast"]).lower() in {"true", "1"}
    assert "Recovered: Passed" in server.messages[-1]["blocks"][0]["text"]["text"]


def test_a_channel_by_its_id_needs_no_list(server: Server) -> None:
    server.scopes = SCOPES - {"channels:read"}
    channel = Slack(channel="C0QUALITY1")
    tell(server, letter("failed"), channel)
    assert tell(server, letter("passed", recovered=True), channel).detail.endswith("in the thread of the failure")
    assert "conversations.list" not in server.requests


@pytest.mark.parametrize("scope", ["channels:read", "channels:history"])
def test_without_the_scope_a_recovery_is_a_new_message(server: Server, scope: str) -> None:
    tell(server, letter("failed"))
    server.scopes = SCOPES - {scope}
    sent = tell(server, letter("passed", recovered=True))
    assert sent.ok
    assert f"cannot be looked up: the app needs the scope `{scope}`" in sent.detail
    assert "thread_ts" not in server.messages[-1]


def test_a_recovery_of_a_failure_that_was_never_told_is_a_new_message(server: Server) -> None:
    sent = tell(server, letter("passed", recovered=True))
    assert sent.detail == "posted the recovery as a new message: the failure's message was not found"
    assert "thread_ts" not in server.messages[-1]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda server: server.channels.pop("rag-quality"), "there is no such channel, or it is private"),
        (lambda server: server.private.add("rag-quality"), "invite the app to it (channel_not_found)"),
        (lambda server: server.archived.add("rag-quality"), "the channel is archived (is_archived)"),
        (lambda server: server.scopes.discard("chat:write"), "the app needs the scope `chat:write`"),
        (lambda server: server.scopes.discard("chat:write.public"), "`chat:write.public` (not_in_channel)"),
        (lambda server: server.fail("chat.postMessage", 200, {"ok": False, "error": "token_revoked"}), "was revoked"),
        (lambda server: server.fail("chat.postMessage", 200, {"ok": False, "error": "msg_blocks_too_long"}),
         "Slack refuses the message (msg_blocks_too_long)"),
        (lambda server: server.fail("chat.postMessage", 200, b"<html>a proxy</html>"), "what answered (200) is not Slack"),
        (lambda server: server.fail("chat.postMessage", 413, b"too large"), "Slack refuses the message (413)"),
    ],
)  # fmt: skip
def test_refusals_are_one_line_with_the_mend(server: Server, change: Any, says: str) -> None:
    change(server)
    waits = Waits()
    sent = tell(server, letter("failed"), waits=waits)
    assert not sent.ok
    assert says in sent.detail
    assert "\n" not in sent.detail
    assert waits.asked == []


def test_a_wrong_token(server: Server) -> None:
    known = secrets(slack_bot_token=SecretStr("xoxb-wrong-wrong-wrong"))
    sent = CHANNEL.deliver(letter(), place(slack_api=server.api), known, Waits().patience)
    assert sent.detail == "SLACK_BOT_TOKEN is refused (invalid_auth)"


def test_no_token() -> None:
    sent = CHANNEL.deliver(letter(), place(), secrets(slack_bot_token=None), Waits().patience)
    assert sent == Delivery("slack #rag-quality", ok=False, detail="SLACK_BOT_TOKEN is not set")


@pytest.mark.parametrize(
    ("status", "body", "headers", "waited"),
    [
        (429, {"ok": False, "error": "ratelimited"}, ["Retry-After: 7"], [7.0]),
        (429, b"", [], [30.0]),
        (200, {"ok": False, "error": "ratelimited"}, ["Retry-After: 3"], [3.0]),
        (500, b"oops", [], [1.0]),
        (503, {"ok": False, "error": "service_unavailable"}, [], [1.0]),
        (200, {"ok": False, "error": "internal_error"}, [], [1.0]),
        (None, None, [], [1.0]),
    ],
)
def test_limits_and_outages_are_waited_for(
    server: Server, status: int | None, body: Any, headers: list[str], waited: list[float]
) -> None:
    server.fail("chat.postMessage", status, body, headers)
    waits = Waits()
    assert tell(server, letter("failed"), waits=waits).ok
    assert waits.asked == waited
    assert len(server.messages) == 2


def test_a_reply_that_has_to_wait_does_not_repeat_the_message(server: Server) -> None:
    server.fail("chat.postMessage", 429, {"ok": False, "error": "ratelimited"}, ["Retry-After: 1"], after=1)
    assert tell(server, letter("failed")).ok
    assert ["thread_ts" in message for message in server.messages] == [False, True]


def test_details_that_do_not_arrive_are_no_failure(server: Server) -> None:
    server.fail("chat.postMessage", 200, {"ok": False, "error": "restricted_action"}, after=1)
    sent = tell(server, letter("failed"))
    assert sent.ok
    assert sent.detail.startswith("posted, but not its details: the workspace does not let the app post there")


def test_waiting_has_an_end(server: Server) -> None:
    server.fail("chat.postMessage", 429, {"ok": False, "error": "ratelimited"}, ["Retry-After: 900"])
    waits = Waits()
    assert "asked to wait 900 s" in tell(server, letter("failed"), waits=waits).detail
    assert waits.asked == []


def test_a_key_that_slack_repeats_is_blotted_out(server: Server) -> None:
    server.fail("chat.postMessage", 200, {"ok": False, "error": f"bad_{SLACK_TOKEN}"})
    assert tell(server, letter("failed")).detail == "Slack refuses the message (bad_***)"


def test_the_sdk_logs_nothing(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    server.fail("chat.postMessage", None, times=9)
    server.fail("webhook", None, times=9)
    assert not tell(server, letter("failed")).ok
    assert not hook(server, letter("failed")).ok
    assert capfd.readouterr() == ("", "")


def test_a_webhook_posts(server: Server) -> None:
    assert hook(server, letter("failed")) == Delivery("slack-webhook", ok=True, detail="posted")
    assert "Failed: faithfulness got worse" in words(server.messages[0])


@pytest.mark.parametrize(
    ("status", "body", "headers", "says", "waited"),
    [
        (404, b"no_service", [], "SLACK_WEBHOOK_URL is refused: the webhook was removed or is wrong (no_service)", []),
        (403, b"action_prohibited", [], "does not let the webhook post there", []),
        (410, b"channel_is_archived", [], "the channel is archived", []),
        (400, b"invalid_blocks", [], "Slack refuses the message (invalid_blocks)", []),
        (400, b"", [], "Slack refuses the message (400)", []),
        (429, b"rate_limited", ["Retry-After: 4"], "posted", [4.0]),
        (502, b"", [], "posted", [1.0]),
        (None, None, [], "posted", [1.0]),
    ],
)
def test_what_a_webhook_answers(
    server: Server, status: int | None, body: Any, headers: list[str], says: str, waited: list[float]
) -> None:
    server.fail("webhook", status, body, headers)
    waits = Waits()
    assert says in hook(server, letter("failed"), waits).detail
    assert waits.asked == waited


def test_a_webhooks_address_is_a_secret_and_https() -> None:
    assert hook(Server(), letter(), address="http://hooks.example/x").detail == "SLACK_WEBHOOK_URL is no https address"
    sent = SlackWebhook().deliver(letter(), place(), secrets(), Waits().patience)
    assert sent.detail == "SLACK_WEBHOOK_URL is not set"


@pytest.mark.parametrize("name", ["", "#", "<!channel>", "two words", "a" * 90, "@someone"])
def test_names_that_are_no_channel(name: str) -> None:
    with pytest.raises(ValidationError):
        Slack(channel=name)

"""What a message holds: within Slack's limits, and harmless whatever it is told."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from ragguard.adapters.notifiers.base import Letter
from ragguard.adapters.notifiers.slack import Slack
from ragguard.core.report import Delivery
from tests.fakes.hostile import HOSTILE
from tests.fakes.letters import SLACK_TOKEN, Waits, letter, place, secrets
from tests.fakes.reports import LINKS
from tests.parts.slack_server import TOKEN, Message, slack_server
from tests.parts.slack_server import Slack as Server

CHANNEL = Slack(channel="#rag-quality")
assert TOKEN == SLACK_TOKEN


@pytest.fixture
def server() -> Iterator[Server]:
    with slack_server() as running:
        yield running


def tell(server: Server, told: Letter, channel: Slack = CHANNEL, waits: Waits | None = None) -> Delivery:
    return channel.deliver(told, place(slack_api=server.api), secrets(), (waits or Waits()).patience)


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


def test_megabytes_and_thousands_of_samples_fit_and_say_what_is_missing(server: Server) -> None:
    told = letter(
        "failed", n_samples=5_000, n_regressed=2_000, text=lambda text: text + "&" * 60, reasons=("<" * 100_000,) * 9
    )
    assert tell(server, told).detail == "posted, with details in the thread"
    message, reply = server.messages
    assert "1,997 more regressed samples: in the thread and in the full report" in words(message)
    assert re.search(r"1,9\d\d more regressed samples: in the full report", words(reply))
    assert "more characters)" in words(message)
    assert "and 6 more reasons" in words(message)


def test_more_metrics_than_a_message_holds(server: Server) -> None:
    from ragguard.core.runs import MetricSummary

    many = {f"rubric:criterion-{n}-&&&&": MetricSummary(outcome="failed", mean=0.5, m=1) for n in range(600)}
    assert tell(server, letter("failed", metrics=many)).detail == "posted, with details in the thread"
    assert "590 more metrics" in words(server.messages[0])
    shown = words(server.messages[1]).count("`rubric:criterion")
    assert f"{600 - shown} more metrics: in the full report" in words(server.messages[1])


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_stays_text(server: Server, hostile: str) -> None:
    told = letter(
        "failed", suite=f"{hostile[:60]}x", branch=hostile[:60], notices=(hostile,),
        text=lambda text: f"{hostile} {text} {hostile}",
    )  # fmt: skip
    assert tell(server, told).detail == "posted, with details in the thread"
    harmless = letter("failed", suite="x", branch="b", notices=("n",))
    tell(server, harmless)
    for ours, plain in zip(server.messages[:2], server.messages[2:], strict=True):
        assert [block["type"] for block in ours["blocks"]] == [block["type"] for block in plain["blocks"]]
        addresses = [
            button["url"] for block in ours["blocks"] for button in block.get("elements", []) if "url" in button
        ]
        assert set(addresses) <= {LINKS.report, LINKS.run}
        for kind, text in [*all_texts(ours["blocks"]), ("mrkdwn", ours["text"])]:
            assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text) is None
            if kind == "mrkdwn":
                assert_harmless(text)


def assert_harmless(text: str) -> None:
    """As Slack reads mrkdwn: `<…>` is a command, `&` an entity, code is taken out first."""
    assert "<" not in text
    assert ">" not in text
    assert re.search("&(?!amp;|lt;|gt;)", text) is None
    prose = re.sub("`[^`\n]*`", "", text)
    assert "`" not in prose
    assert "~" not in prose
    assert re.search(r"(?:^|[^\w\u200b])[@＠]\w", prose) is None
    assert re.search(r"https?://", prose) is None
    bold = re.findall(r"\*([^*\n]+)\*", prose)
    assert prose.count("*") == 2 * len(bold)
    assert all(re.fullmatch(r"[\d.]+ %|What to do next", words_) for words_ in bold), bold
    assert re.search(r"(?:^|\s)_\w[^_\n]*_(?:\s|$)", prose) is None
    assert re.search(r":[a-z0-9_+-]+:", prose) is None


def test_a_secret_in_a_judges_message_reaches_no_channel(server: Server) -> None:
    from ragguard.adapters.notifiers.redaction import Redactor
    from ragguard.app.letters import letter_of
    from tests.fakes.reports import make_report

    key = "my_secret*key&more"
    report = make_report("failed", text=lambda text: f"{text} key {key}", reasons=(f"refused: {key}",))
    told = letter_of(report, recovered=False, redact=Redactor([key]))
    assert tell(server, told).ok
    everything = server.texts() + "".join(
        told.markdown(form) for form in ("comment", "check", "issue", "summary", "line")
    )
    everything += json.dumps([[remark.title, remark.text] for remark in told.remarks()])
    plain = re.sub(r"[\\\u200b]", "", everything)
    assert "secret" not in plain
    assert "***" in server.texts() or "∗∗∗" in server.texts()

"""The Slack message as its readers get it, in three languages and every outcome."""

import json

import pytest

from ragguard.adapters.renderers.mrkdwn import mrkdwn, name, plain, units, within
from ragguard.adapters.renderers.slack import MOST_CHARACTERS, render_slack, render_slack_error, size_of
from ragguard.core.report import Links
from ragguard.core.runs import OUTCOMES, Outcome
from ragguard.errors import ConfigError
from tests.fakes.report_texts import Language
from tests.fakes.reports import LINKS, OFFLINE_NOTICE, REASONS, make_report
from tests.unit.adapters.renderers.golden import assert_golden


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_golden(language: Language) -> None:
    message = render_slack(make_report("failed", language, branch="main", notices=(OFFLINE_NOTICE,)))
    document = {"text": message.text, "blocks": message.blocks, "details": message.details}
    assert_golden(json.dumps(document, indent=1, ensure_ascii=False) + "\n", f"slack.{language}.json")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcome_and_reason_come_first(outcome: Outcome) -> None:
    header, section, *_ = render_slack(make_report(outcome)).blocks
    assert header["text"]["type"] == "plain_text"
    assert mrkdwn(REASONS[outcome], 480) in section["text"]["text"]


def test_without_links_there_are_no_buttons_and_the_run_is_named() -> None:
    message = render_slack(make_report("failed", links=Links()))
    assert all(block["type"] != "actions" for block in message.blocks)
    assert "The run is `run-2026-03-02`." in message.details[-1]["text"]["text"]


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "https://ci.example/<x>", "https://ci.example/" + "x" * 3_000]
)
def test_an_address_that_is_none_makes_no_button(address: str) -> None:
    message = render_slack(make_report("failed", links=Links(run=address, report=LINKS.report)))
    (actions,) = [block for block in message.blocks if block["type"] == "actions"]
    assert [button["url"] for button in actions["elements"]] == [LINKS.report]


def test_an_error_without_a_report() -> None:
    error = ConfigError("a <b> is wrong", mend="write `c`", details=[f"line {n}" for n in range(30)])
    message = render_slack_error("tutor", None, error, LINKS)
    said = message.blocks[1]["text"]["text"]
    assert "a &lt;b&gt; is wrong" in said
    assert "and 20 more: in the run's log" in said
    assert "*What to do:* write ˋcˋ" in said
    assert size_of(message.blocks) < MOST_CHARACTERS


def test_texts_are_cut_to_what_fits_and_say_so() -> None:
    assert units(within(lambda most: mrkdwn("&" * 10_000, most) + "x" * 2_000)) <= 3_000
    assert within(lambda _most: "short\n" + "y" * 5_000) == "short\n…"
    assert plain("👩" * 200, 150) == "👩" * 74 + "…"
    assert name("a`b <c>") == "`aˋb &lt;c&gt;`"
    assert mrkdwn("snake_case_name _it_ :x: a:b") == "snake_case_name ˍitˍ :\u200bx: a:b"

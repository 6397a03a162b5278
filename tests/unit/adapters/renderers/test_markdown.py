import re
from pathlib import Path

import pytest

from ragguard.adapters.renderers.budget import size
from ragguard.adapters.renderers.markdown import CHANNELS, ChannelName, render_markdown
from ragguard.core.report import Delivery, Links
from ragguard.core.runs import OUTCOMES, Fingerprint, MetricSummary, Outcome, TaskAgreement, Usage
from ragguard.errors import TemplateError
from tests.fakes.hostile import HOSTILE
from tests.fakes.report_texts import Language
from tests.fakes.reports import LINKS, OFFLINE_NOTICE, REASONS, make_report
from tests.unit.adapters.renderers.golden import assert_golden
from tests.unit.adapters.renderers.reading import blocks, commands, controls, foreign_markup, links, parse, pings

ALL_CHANNELS = tuple(CHANNELS)


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
@pytest.mark.parametrize("channel", ALL_CHANNELS)
def test_golden(channel: ChannelName, language: Language) -> None:
    report = make_report("failed", language, notices=(OFFLINE_NOTICE,))
    assert_golden(render_markdown(report, channel), f"{channel}.{language}.md")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcome_and_reason_stand_in_the_first_three_lines(outcome: Outcome) -> None:
    first = "\n".join(render_markdown(make_report(outcome), "comment").splitlines()[:3])
    assert first.startswith("### ")
    words = {"error": "Error", "failed": "Failed", "not_comparable": "Not comparable", "inconclusive": "Inconclusive",
             "warned": "Passed with a warning", "passed": "Passed"}  # fmt: skip
    assert words[outcome] in first
    assert REASONS[outcome] in first.replace("\\", "")


def test_notice_stands_before_the_numbers() -> None:
    text = render_markdown(make_report("passed", notices=(OFFLINE_NOTICE,)))
    assert text.index(OFFLINE_NOTICE) < text.index("| metric |")


def test_unknown_is_never_zero() -> None:
    nothing = MetricSummary(outcome="error", m=1, n_failed=3)
    text = render_markdown(make_report("error", metrics={"faithfulness": nothing}, usage=Usage()))
    row = next(line for line in text.splitlines() if line.startswith("| `faithfulness` |"))
    assert row == "| `faithfulness` | unknown | unknown | unknown  | none | 💥 error | 0, 3 failed |"
    assert "| Cost | unknown |" in text
    assert "| Tokens | unknown |" in text


SHARED = {
    name: Fingerprint(judge="j", prompts={"reference": "r"}, metric="m") for name in ("context_recall", "context_precision")
}  # fmt: skip


def tasks_of(text: str) -> list[str]:
    section = text[text.index("<summary>Judge calls, tokens and cost by task</summary>") :]
    return [line for line in section[: section.index("</details>")].splitlines() if line.startswith("| `")]


def test_a_call_that_two_metrics_share_is_one_row_and_says_so() -> None:
    usage = {"reference": Usage(calls=9, tokens=100, cost_usd=0.5)}
    text = render_markdown(make_report("passed", fingerprints=SHARED, usage_by_task=usage))
    assert tasks_of(text) == [
        "| `reference` | `context_recall`, `context_precision` (one call, shared) | 9 | 0 | 100 | \\$0.5000 |"
    ]


def test_unknown_tokens_and_cost_of_a_task_are_unknown() -> None:
    text = render_markdown(make_report("passed", usage_by_task={"claims": Usage(calls=3, carried_calls=2)}))
    assert tasks_of(text) == ["| `claims` | `faithfulness` | 3 | 2 | unknown | unknown |"]


def test_a_panels_disagreement_and_flip_rate_stand_by_task_and_in_the_facts() -> None:
    claims = TaskAgreement(
        n_compared=40, n_differing=2, disagreement=0.05, n_repeated=80, n_flipped=8, flip_rate=0.1, n_voted=40, n_tied=1
    )
    questions = TaskAgreement(n_compared=8, n_differing=0, disagreement=0.0)
    agreement = {"claims": claims, "questions": questions}
    text = render_markdown(make_report("passed", agreement_by_task=agreement, vote="majority"))
    assert tasks_of(text)[0].endswith("| 5.0 % | 10.0 % |")
    assert tasks_of(text)[1].endswith("| 0.0 % |  |")
    assert "| Judges differ from each other | 2 of 48 verdicts (4.2 %): claims 5.0 %, questions 0.0 % |" in text
    assert "| Judges differ from themselves when asked again | 8 of 80 verdicts (10.0 %), claims |" in text
    assert "| Vote | each verdict by majority; 1 of 40 verdicts tied, where the stricter one counts |" in text
    alone = render_markdown(make_report("passed"))
    assert "Judges differ" not in alone
    assert "| Vote |" not in alone


def test_without_judge_calls_there_is_no_section_of_them() -> None:
    assert "Judge calls, tokens" not in render_markdown(make_report("passed", usage_by_task={}))


def test_shows_the_claim_before_and_after_and_the_passage() -> None:
    text = render_markdown(make_report("failed"), "comment")
    first = text[text.index("1. `refund-01`") : text.index("2. `exam-02`")]
    assert "before: “40% of the fee is refunded in the third week” — ✔ **supported**" in first
    assert "now: “60% of the fee is refunded in the third week” — ✘ **contradicted**" in first
    assert "passage `refunds#1` (this run): “Until day 14" in first


def test_next_steps_follow_the_causes() -> None:
    text = render_markdown(make_report("failed"), "comment")
    steps = text[text.index("**What to do next**") :]
    assert "- retrieval (1): Compare the passages" in steps
    assert "- generation (2): Compare the answers" in steps
    assert "- judge (1): Leave the app alone" in steps


def test_too_few_samples_are_told_to_become_more_and_nothing_else() -> None:
    text = render_markdown(make_report("inconclusive"))
    steps = text[text.index("**What to do next**") : text.index("<details>")]
    assert "Add samples: 8 samples can neither prove nor clear a drop, 20 are the least" in steps
    assert "Running again or more baseline runs would not help" in steps
    assert "| `faithfulness` | 2.00 points | none for sure: 8 samples, and 20 are the least |" in text
    enough = render_markdown(make_report("inconclusive", n_samples=40))
    assert "Let the base branch collect more baseline runs, or add samples. Running again helps only" in enough
    assert "| `faithfulness` | 2.00 points | 4.10 points (160 samples or 3 baseline runs would halve it) |" in enough


def test_passed_has_nothing_to_do() -> None:
    assert "**What to do next**\n\n- Nothing.\n" in render_markdown(make_report("passed"), "comment")


def test_texts_that_are_not_stored_are_simply_not_there() -> None:
    text = render_markdown(make_report("failed", store_text=False), "comment")
    assert "question:" not in text
    assert "1. `refund-01` `faithfulness` 100.0 % → **0.0 %**" in text


def test_a_small_channel_says_what_it_leaves_out_and_where_it_is() -> None:
    report = make_report("failed", n_samples=40)
    text = render_markdown(report, "comment")
    assert len(re.findall(r"^\d+\. `", text, re.MULTILINE)) == 5
    assert "*15 more regressed samples left out here: in the full report.*" in text
    assert f"[Full report]({LINKS.report})" in text
    alone = render_markdown(make_report("failed", n_samples=40, links=Links()), "comment")
    assert "left out here: in the run's report.json and samples.jsonl.*" in alone


def test_a_file_shows_every_regressed_sample() -> None:
    text = render_markdown(make_report("failed", n_samples=400))
    assert len(re.findall(r"^\d+\. `", text, re.MULTILINE)) == 200
    assert "left out" not in text


@pytest.mark.parametrize("channel", ["comment", "check", "issue", "summary"])
def test_megabytes_of_foreign_text_fit_every_channel(channel: ChannelName) -> None:
    report = make_report("failed", n_samples=60, text=lambda text: text + " nói dài" * 4_000)
    text = render_markdown(report, channel)
    place = CHANNELS[channel]
    assert place.most is not None
    assert size(text, place.unit) <= place.most - place.reserve
    assert "more regressed samples left out here" in text
    assert re.search(r"nói… \([\d,]+ more characters\)|dài… \([\d,]+ more characters\)", text)
    assert blocks(parse(text)).count("table_open") == 4


def test_more_metrics_than_a_comment_holds_are_cut_at_a_row() -> None:
    many = {f"rubric:criterion-{n}": MetricSummary(outcome="passed", mean=0.5) for n in range(600)}
    text = render_markdown(make_report("failed", metrics=many), "comment")
    rows = [line for line in text.splitlines() if line.startswith("| `rubric")]
    shown, left_out = len(rows) // 2, re.search(r"\*(\d+) more metrics: in the full report", text)
    assert size(text, "characters") <= 65_536 - 1_024
    assert size(text, "characters") > 50_000
    assert left_out is not None
    assert shown + int(left_out[1]) == 600
    assert blocks(parse(text)).count("table_open") == 4


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("channel", ["file", "comment"])
def test_foreign_text_stays_text(hostile: str, channel: ChannelName) -> None:
    harmless = parse(render_markdown(make_report("failed", notices=("x",)), channel))
    text = render_markdown(
        make_report("failed", text=lambda text: f"{hostile} {text} {hostile}", notices=(hostile,)), channel
    )
    tokens = parse(text)
    assert blocks(tokens) == blocks(harmless)
    assert links(tokens) == links(harmless) == {LINKS.report, LINKS.run}
    assert foreign_markup(tokens) == []
    assert pings(tokens) == []
    assert commands(text) == []
    assert controls(text) == []


def test_hostile_names_of_the_run_stay_text() -> None:
    for hostile in HOSTILE:
        metric = MetricSummary(outcome="failed", mean=0.5, reason=hostile)
        report = make_report(
            "failed", suite=hostile, branch=hostile, judge_models=(hostile,), metrics={hostile: metric},
            links=Links(report=hostile, run=f"https://ci.example/{hostile}"),
        )  # fmt: skip
        tokens = parse(render_markdown(report))
        assert foreign_markup(tokens) == []
        assert pings(tokens) == []
        assert all(address.startswith("https://ci.example/") for address in links(tokens))
        assert blocks(tokens).count("table_open") == 4


def test_deliveries_of_notifiers_are_told() -> None:
    from dataclasses import replace

    report = replace(make_report("failed"), deliveries=(Delivery("slack", ok=False, detail="channel | not found"),))
    assert "| slack | failed: channel \\| not found |" in render_markdown(report)


def test_the_users_own_template_wins_and_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "comment.md.j2").write_text("{{ report.suite }}: {{ report.headline }}", "utf-8")
    text = render_markdown(make_report("failed", suite="<b>@all</b>"), "comment", templates=tmp_path)
    assert text == "&lt;b&gt;@\u200ball&lt;/b&gt;: Failed: faithfulness got worse\n"
    assert render_markdown(make_report(), "issue", templates=tmp_path).startswith("### ")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{{ report.sweet }}", "has no attribute 'sweet'"),
        ("line\n{% if %}", "comment.md.j2, line 2"),
        ("{{ report.__class__.__mro__ }}", "unsafe"),
        ("{% include '../../etc/passwd' %}", "etc/passwd"),
    ],
)
def test_a_wrong_template_is_the_users_error(tmp_path: Path, source: str, says: str) -> None:
    (tmp_path / "comment.md.j2").write_text(source, "utf-8")
    with pytest.raises(TemplateError, match=re.escape(says)) as caught:
        render_markdown(make_report(), "comment", templates=tmp_path)
    assert caught.value.exit_code == 2


def test_a_users_template_that_is_large_by_itself_is_cut_at_a_line(tmp_path: Path) -> None:
    (tmp_path / "comment.md.j2").write_text("<details>\n\n" + "a row of many\n" * 20_000, "utf-8")
    text = render_markdown(make_report(), "comment", templates=tmp_path)
    assert len(text) <= 65_536
    assert text.count("<details>") == text.count("</details>") == 1
    assert re.search(r"… [\d,]+ more lines are left out here", text)

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import html5lib
import pytest

from ragguard.adapters.renderers.html import render_html
from ragguard.core.report import Links
from ragguard.core.runs import OUTCOMES, Outcome, RunHead
from ragguard.errors import TemplateError
from tests.fakes.hostile import HOSTILE
from tests.fakes.report_texts import Language
from tests.fakes.reports import LINKS, OFFLINE_NOTICE, REASONS, make_report
from tests.unit.adapters.renderers.golden import assert_golden
from tests.unit.adapters.renderers.reading import commands, controls


def parse(page: str) -> ET.Element:
    reader = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    document = reader.parse(page)
    for element in document.iter():
        element.tag = str(element.tag).rpartition("}")[2]
    return document


def data_of(page: str) -> dict[str, Any]:
    found = next(script for script in parse(page).iter("script") if script.get("id") == "data")
    document: dict[str, Any] = json.loads(found.text or "")
    return document


def text_of(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def one(page: ET.Element, tag: str) -> ET.Element:
    found = page.find(f".//{tag}")
    assert found is not None
    return found


def past(head: RunHead, means: list[float | None]) -> Iterator[RunHead]:
    for age, mean in enumerate(means, 1):
        metric = head.metrics["faithfulness"].model_copy(update={"mean": mean})
        yield head.model_copy(
            update={
                "run_id": f"past-{age}", "created_at": head.created_at - timedelta(days=age),
                "metrics": {"faithfulness": metric},
            }
        )  # fmt: skip


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_golden(language: Language) -> None:
    report = make_report("failed", language, notices=(OFFLINE_NOTICE,))
    page = render_html(report, history=list(past(report.head, [0.95, None, 0.93])))
    # Style and script are files of their own; here they would only repeat them, and their hashes.
    page = re.sub(r"(?s)(<style>|<script>).*?(</style>|</script>)", r"\1\2", page)
    assert_golden(re.sub(r"sha256-[^&']+", "sha256-", page), f"report.{language}.html")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_says_outcome_and_reason_without_any_script(outcome: Outcome) -> None:
    header = one(parse(render_html(make_report(outcome))), "header")
    assert outcome in (header.get("class") or "").split()
    assert REASONS[outcome] in text_of(header)


def test_policy_allows_exactly_the_pages_own_style_and_script() -> None:
    page = render_html(make_report())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    said = policy[1].replace("&#39;", "'")
    document = parse(page)
    scripts = [script.text or "" for script in document.iter("script") if script.get("type") is None]
    styles = [style.text or "" for style in document.iter("style")]
    assert len(scripts) == len(styles) == 1
    for name, text in (("script-src", scripts[0]), ("style-src", styles[0])):
        code = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{code}'" in said
    assert said.startswith("default-src 'none'; ")
    assert "unsafe" not in said


def test_needs_nothing_from_outside() -> None:
    document = parse(render_html(make_report()))
    for element in document.iter():
        for name, value in element.attrib.items():
            if name in {"src", "href", "action", "data", "poster", "srcset"}:
                assert value.startswith(("#", "data:")) or (element.tag, value) == ("a", LINKS.run)
    assert "style" not in {name for element in document.iter() for name in element.attrib}


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_stays_text(hostile: str) -> None:
    def shape(page: str) -> list[tuple[str, tuple[str, ...]]]:
        return [
            (element.tag, tuple(sorted(element.attrib)))
            for element in parse(page).iter()
            if element.tag not in {"svg", "rect", "text", "line", "path", "circle"}
        ]

    report = make_report(
        "failed", text=lambda text: f"{hostile} {text} {hostile}", notices=(hostile,), suite=hostile, branch=hostile
    )
    page = render_html(report)
    harmless = render_html(make_report("failed", notices=("x",), suite="x", branch="x"))
    assert shape(page) == shape(harmless)
    assert commands(page) == []
    assert controls(page) == []
    assert len(data_of(page)["samples"]) == 8
    assert page.count("</script>") == 2


def test_data_holds_what_an_engineer_needs() -> None:
    data = data_of(render_html(make_report("failed")))
    first = data["samples"][1]
    assert first["id"] == "exam-02"
    assert first["fell"] == {"faithfulness": ["retrieval", True]}
    assert first["scores"]["faithfulness"]["value"] == 0.0
    assert first["scores"]["faithfulness"]["before"] == 1.0
    assert first["scores"]["faithfulness"]["claims"] == [["The final exam takes two hours", "absent", 0]]
    assert first["was"]["faithfulness"]["claims"] == [["The final exam takes 90 minutes", "supported", 1]]
    names = [[data["passages"][place][0] for place, _, _ in first[key]] for key in ("passages_was", "passages")]
    assert names == [["exams#3"], ["refunds#1", "refunds#2"]]
    assert [passage[0] for passage in data["passages"]] == ["refunds#1", "refunds#2", "exams#3"]


def test_texts_that_are_not_stored_are_not_there() -> None:
    page = render_html(make_report("failed", store_text=False))
    assert "How long is the final exam?" not in json.dumps([row.get("question") for row in data_of(page)["samples"]])
    assert len(data_of(page)["samples"]) == 8


def test_a_full_page_keeps_the_fallen_samples_and_says_what_it_leaves_out() -> None:
    report = make_report("failed", n_samples=300, n_regressed=10, text=lambda text: text + " dài" * 300)
    page = render_html(report, most_bytes=400_000)
    rows = data_of(page)["samples"]
    with_texts = [row for row in rows if "answer" in row]
    assert [row["line"] for row in with_texts[:10]] == [detail.entry.line for detail in report.regressed]
    said = re.search(
        r"The texts of (\d+) samples are left out of this page: they stand in the run's samples.jsonl", page
    )
    assert said is not None
    assert int(said[1]) == len(rows) - len(with_texts) > 0
    gone = re.search(r"(\d+) samples left out altogether: all stand", page)
    assert len(rows) + (int(gone[1]) if gone else 0) == 300
    assert gone is not None
    assert len(page.encode()) < 600_000


def test_trend_tells_the_past_in_order_and_leaves_gaps_out() -> None:
    report = make_report("failed")
    page = parse(render_html(report, history=list(past(report.head, [0.95, None, 0.93]))))
    titles = [text_of(title) for circle in page.iter("circle") for title in circle.iter("title")]
    assert titles == ["2026-02-27: 93.0 %", "2026-03-01: 95.0 %", "2026-03-02: 50.0 %"]


def test_plots_say_in_words_what_they_show() -> None:
    labels = [svg.get("aria-label") for svg in parse(render_html(make_report("failed"))).iter("svg")]
    assert "faithfulness: how the values of 8 samples, and of 8 baseline samples are spread" in labels
    assert "faithfulness: change of 8 pairs, the worst first: 4 worse, 4 the same, 0 better" in labels
    assert all(svg.get("role") == "img" for svg in parse(render_html(make_report("failed"))).iter("svg"))


def test_pairs_that_the_run_did_not_keep_are_said() -> None:
    from dataclasses import replace

    whole = make_report("failed")
    fell = {detail.entry.id for detail in whole.regressed}
    kept = [result for result in whole.results() if result.side == "candidate" or result.id in fell]
    page = render_html(replace(whole, results=lambda: iter(kept)))
    assert "4 of 8 pairs: the run kept no more" in page
    assert "baseline sample" not in page


def test_an_empty_run_has_a_page() -> None:
    from dataclasses import replace

    page = render_html(replace(make_report("error", n_samples=0), results=lambda: iter(())))
    assert data_of(page)["samples"] == []
    assert "unknown" in page


def test_links_that_are_no_web_addresses_are_not_links() -> None:
    page = parse(render_html(make_report(links=Links(run="javascript:alert(1)"))))
    assert [link.get("href") for link in page.iter("a")] == ["#samples"]


def test_the_users_own_style_is_allowed_by_its_hash(tmp_path: Path) -> None:
    (tmp_path / "report.css").write_text("body { color: red } </style><script>x</script>", "utf-8")
    page = render_html(make_report(), templates=tmp_path)
    style = one(parse(page), "style").text or ""
    assert style.startswith("body { color: red }")
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in page.replace("&#43;", "+")
    assert len(list(parse(page).iter("script"))) == 2


def test_a_wrong_template_is_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "report.html.j2").write_text("{{ nothing.there }}", "utf-8")
    with pytest.raises(TemplateError, match="'nothing' is undefined"):
        render_html(make_report(), templates=tmp_path)

"""The HTML report in a real browser: it filters, sorts, opens samples, and lets nothing foreign run."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragguard.adapters.renderers.html import render_html
from tests.fakes.hostile import HOSTILE
from tests.fakes.reports import make_report
from tests.parts.chromium import browser

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Chrome"]:
    with browser(tmp_path_factory.mktemp("chromium")) as started:
        yield started


Show = Callable[[str], "Page"]


class Page:
    """What a reader does with the report."""

    def __init__(self, chrome: "Chrome") -> None:
        self.chrome = chrome

    def all(self, selector: str) -> list["WebElement"]:
        return self.chrome.find_elements("css selector", selector)

    def one(self, selector: str) -> "WebElement":
        return self.chrome.find_element("css selector", selector)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.chrome.execute_script(script, *arguments)

    def ids(self) -> list[str]:
        return [found.text for found in self.all("#list .id > span:first-child")]

    def choose(self, field: str, value: str) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.one(f"#f-{field}")).select_by_value(value)

    def search(self, words: str) -> None:
        field = self.one("#f-text")
        field.clear()
        field.send_keys(words)
        # The list follows the typing with a small delay.
        self.run("document.getElementById('filters').requestSubmit()")

    def complaints(self) -> list[str]:
        return [f"{entry['level']}: {entry['message']}" for entry in self.chrome.get_log("browser")]


@pytest.fixture
def show(chrome: "Chrome", tmp_path: Path) -> Show:
    def open_page(html: str, address: str = "") -> Page:
        path = tmp_path / "report.html"
        path.write_text(html, "utf-8")
        chrome.get("about:blank")
        chrome.get_log("browser")
        chrome.get(path.as_uri() + address)
        return Page(chrome)

    return open_page


def test_filters_and_counts(show: Show) -> None:
    page = show(render_html(make_report("failed", "vi", n_samples=12, n_regressed=4)))
    assert page.one("#count").text == "12 samples"
    page.choose("show", "regressed")
    assert page.one("#count").text == "4 of 12 samples"
    page.choose("cause", "retrieval")
    assert page.ids() == ["thi-cuoi-ky-02"]
    page.one("#filters button[type=reset]").click()
    page.search("không có gì như thế")
    assert page.ids() == []
    # Without its marks, in capitals and in any order, a Vietnamese text is still found.
    page.search("HOC PHI rut")
    assert page.one("#count").text == "6 of 12 samples"
    page.choose("metric", "answer_relevance")
    page.choose("show", "low")
    assert page.one("#count").text == "0 of 12 samples"
    page.choose("show", "")
    page.choose("tag", "vi")
    assert page.one("#count").text == "6 of 12 samples"
    assert page.complaints() == []


def test_sorts(show: Show) -> None:
    page = show(render_html(make_report("failed", n_samples=6, n_regressed=2)))
    assert page.ids()[:2] == ["refund-01", "exam-02"]
    page.choose("sort", "high")
    assert page.ids()[-2:] == ["refund-01", "exam-02"]
    page.choose("sort", "id")
    assert page.ids() == ["exam-02", "exam-04", "exam-06", "refund-01", "refund-03", "refund-05"]
    page.choose("sort", "line")
    assert page.ids() == ["refund-01", "exam-02", "refund-03", "exam-04", "refund-05", "exam-06"]


def test_opens_a_sample_by_keyboard_with_both_answers_and_leads_to_the_passage(show: Show) -> None:
    from selenium.webdriver.common.keys import Keys

    page = show(render_html(make_report("failed")))
    head = page.one("#list .head")
    assert head.get_attribute("aria-expanded") == "false"
    head.send_keys(Keys.ENTER)
    assert head.get_attribute("aria-expanded") == "true"
    region = page.one(f"#{head.get_attribute('aria-controls')}")
    assert region.is_displayed()
    before, after = page.all(".side")
    assert "40% of the fee is refunded in the third week ✔ supported" in before.text
    assert "60% of the fee is refunded in the third week ✘ contradicted" in after.text
    after.find_element("css selector", ".to-passage").send_keys(Keys.ENTER)
    lit = page.run("return document.activeElement.textContent")
    assert "refunds#1" in lit
    assert "From day 15 to day 30 it is 40%." in lit
    head.send_keys(Keys.ENTER)
    assert not region.is_displayed()
    assert page.complaints() == []


def test_an_address_opens_its_sample(show: Show) -> None:
    page = show(render_html(make_report("failed", "zh", n_samples=200)), "#sample=%E9%80%80%E8%B4%B9-151")
    opened = page.all('.head[aria-expanded="true"]')
    assert [found.find_element("css selector", ".id > span").text for found in opened] == ["退费-151"]
    assert "第三周退课可退还40%的学费" in page.one(".detail").text


def test_five_thousand_samples_are_drawn_little_by_little(show: Show) -> None:
    page = show(render_html(make_report("failed", n_samples=5_000, n_regressed=50)))
    assert page.one("#count").text == "5,000 samples"
    assert len(page.all("#list > li")) < 400
    page.search("refund-4999")
    assert page.ids() == ["refund-4999"]
    page.choose("show", "regressed")
    assert page.one("#count").text == "0 of 5,000 samples"
    assert page.complaints() == []


def test_more_samples_are_shown_on_demand(show: Show) -> None:
    page = show(render_html(make_report("passed", n_samples=300)))
    # As for a reader whose browser never says that the end is in sight.
    before = len(page.all("#list > li"))
    page.run("document.getElementById('more').click()")
    assert len(page.all("#list > li")) > before


def test_policy_stops_what_is_not_the_pages_own(show: Show) -> None:
    page = show(render_html(make_report("failed")))
    page.run(
        """
        window.stopped = [];
        document.addEventListener("securitypolicyviolation", (event) => stopped.push(event.effectiveDirective));
        const script = document.createElement("script");
        try { script.textContent = "window.ran = true"; } catch { stopped.push("trusted types"); }
        const style = document.createElement("style");
        style.textContent = "body { display: none }";
        const picture = document.createElement("img");
        picture.src = "http://127.0.0.1:9/pixel.png";
        document.body.append(script, style, picture);
        """
    )
    stopped = page.chrome.execute_async_script("setTimeout(arguments[0], 50, [...new Set(stopped)].sort())")
    assert "trusted types" in stopped
    assert "img-src" in stopped
    assert "style-src-elem" in stopped
    assert page.run("return window.ran === undefined && getComputedStyle(document.body).display === 'block'")


def test_foreign_text_runs_nothing_and_loads_nothing(show: Show) -> None:
    for start in range(6):
        hostile = " ".join(HOSTILE[start::6])
        report = make_report("failed", text=lambda text, hostile=hostile: f"{hostile} {text}", suite=hostile)
        page = show(render_html(report))
        for head in page.all("#list .head"):
            page.run("arguments[0].click()", head)
        assert len(page.all(".detail")) == 8
        assert (
            page.run("return document.querySelectorAll('main img, main iframe, main a, main script, h1 *').length") == 1
        )
        assert page.run("return performance.getEntriesByType('resource').length") == 0
        assert page.complaints() == []


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_its_window_and_is_readable_in_light_and_dark(show: Show, width: int, scheme: str) -> None:
    page = show(render_html(make_report("failed", "vi", text=lambda text: f"{text} {'rấtdài' * 60}")))
    view = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", view)
    page.chrome.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    page.run("document.querySelector('#list .head').click()")
    too_wide = "return [...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > innerWidth)"
    assert page.run(f"{too_wide}.map((e) => e.tagName + '.' + e.className)") == []
    contrasts = page.run(CONTRASTS)
    assert len(contrasts) > 40
    too_faint = [found for found in contrasts if found[1] < 4.5]
    assert too_faint == []
    page.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


CONTRASTS = """
const channel = (part) => { const share = part / 255; return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; };
const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
const behind = (node) => { for (; node; node = node.parentElement) { const colour = getComputedStyle(node).backgroundColor; if (!/, 0\\)$|transparent/.test(colour)) return colour; } return "rgb(255, 255, 255)"; };
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !node.checkVisibility() || ["SCRIPT", "STYLE", "OPTION", "TITLE", "text"].includes(node.tagName)) continue;
  const [one, other] = [light(getComputedStyle(node).color), light(behind(node))];
  found.push([node.className + ": " + walker.currentNode.data.trim().slice(0, 30), (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)]);
}
return found;
"""

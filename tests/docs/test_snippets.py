"""Every snippet of the documentation is run as it stands there, with the offline judge."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragguard.entrypoints.cli import run_cli
from ragguard.errors import ConfigError
from tests.docs.snippets import blocks_of, run_page

ROOT = Path(__file__).parents[2]
PAGES = {
    "sdk": 10,
    "own-metrics": 6,
    "coming-from-dingo": 20,
    "coming-from-ragas": 4,
    "coming-from-deepeval": 4,
    "calibrate": 3,
}
"""The pages, and how many blocks at least are run in each."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder; what a page's modules are called is forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        origin = getattr(sys.modules[name], "__file__", None)
        if origin and Path(origin).is_relative_to(tmp_path):
            del sys.modules[name]


@pytest.mark.parametrize("name", PAGES)
def test_the_page_s_snippets_run(name: str, folder: Path) -> None:
    assert run_page(ROOT / "docs" / f"{name}.md", folder) >= PAGES[name]


def test_a_snippet_that_is_wrong_is_found(folder: Path) -> None:
    page = folder / "page.md"
    wrong = ("python\nassert 1 == 2", "bash\nragguard run", "pthon\n", "json\n{", "jsonl\n", "yaml\nmetrics: [faith]")
    for text in wrong:
        page.write_text(f"```{text}\n```\n", encoding="utf-8")
        with pytest.raises((AssertionError, ConfigError, json.JSONDecodeError)):
            run_page(page, folder)
    page.write_text("```python\nx = 1\n```\n```bash\nragguard run # exit 2\n```\n", encoding="utf-8")
    assert run_page(page, folder) == 2


DINGO_SECTIONS = [
    "Run an example", "One sample", "A data set", "Which field each metric needs", "One sample for each metric",
    "Data sets as JSON Lines", "Field mapping", "What a result holds", "summary.json", "Several groups of fields",
    "Many samples", "Thresholds and settings in Python", "Thresholds and settings in a config", "Sets of metrics",
    "Invented facts", "Ranking", "Missing information", "Beside the point", "Noise",
]  # fmt: skip
"""What the guide to the five metrics shows, in its order; each has its section, and each section a snippet."""


def test_the_page_for_dingo_s_users_has_a_snippet_for_everything_their_guide_shows() -> None:
    page = ROOT / "docs" / "coming-from-dingo.md"
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    starts = {line.lstrip("# "): number for number, line in enumerate(lines, 1) if line.startswith("##")}
    blocks = [block.line for block in blocks_of(page) if block.language != "text"]
    ordered = sorted(starts.values())
    assert [name for name in starts if name in DINGO_SECTIONS] == DINGO_SECTIONS
    for name in DINGO_SECTIONS:
        end = next((other for other in ordered if other > starts[name]), len(lines) + 1)
        assert any(starts[name] < line < end for line in blocks), f"{name} has no snippet"


def test_the_example_of_an_own_metric_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "examples" / "own_metric", folder, dirs_exist_ok=True)
    assert run_cli(["validate"]) == 0
    assert run_cli(["run", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "  politeness      0.700" in out
    assert "0.70" in (folder / "README.md").read_text(encoding="utf-8")

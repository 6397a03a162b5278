import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from ragguard.adapters.renderers import FORMATS, RENDERERS, FormatName, render_files
from ragguard.adapters.renderers.budget import size
from ragguard.adapters.renderers.markdown import CHANNELS, render_markdown
from ragguard.core.metrics.answer_relevance import AnswerRelevance
from ragguard.core.metrics.faithfulness import Faithfulness
from ragguard.core.report import Report
from ragguard.core.summary import Summary, summarize
from ragguard.errors import TemplateError
from tests.fakes.reports import make_report


def summary_of(report: Report) -> Summary:
    results = (result for result in report.results() if result.side == "candidate")
    return summarize(results, [Faithfulness(), AnswerRelevance()])


def test_no_format_is_left_out() -> None:
    assert tuple(RENDERERS) == FORMATS == get_args(FormatName)
    assert len({renderer.file_name for renderer in RENDERERS.values()}) == len(FORMATS)


def test_writes_every_format_under_its_name(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    report = make_report("failed", "vi")
    written = render_files(report, FORMATS, tmp_path / "out", summary=summary_of(report))
    names = ["report.md", "report.json", "report.html", "junit.xml", "scores.csv", "scores.parquet", "summary.json"]
    assert [path.name for path in written.values()] == names
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)
    assert "Rút khỏi khóa học" in (tmp_path / "out" / "report.md").read_text("utf-8")


def test_writes_again_over_what_is_there(tmp_path: Path) -> None:
    render_files(make_report("failed"), ["json"], tmp_path)
    render_files(make_report("passed"), ["json", "json"], tmp_path)
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["outcome"] == "passed"


def test_one_that_cannot_be_rendered_leaves_the_old_files_whole(tmp_path: Path) -> None:
    render_files(make_report("passed"), ["json", "markdown"], tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    bad = tmp_path.parent / "bad"
    bad.mkdir()
    (bad / "report.md.j2").write_text("{% broken", "utf-8")
    with pytest.raises(TemplateError):
        render_files(make_report("failed"), ["json", "markdown"], tmp_path, templates=bad)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_summary_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs the summary"):
        render_files(make_report(), ["summary"], tmp_path)


def test_importing_the_family_is_light() -> None:
    code = "import sys, ragguard.adapters.renderers, ragguard.adapters.renderers.markdown; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"jinja2", "junitparser", "lxml", "pyarrow"} & set(loaded) == set()


def test_five_thousand_samples_and_megabytes_of_text_stay_under_each_limit(tmp_path: Path) -> None:
    report = make_report("failed", n_samples=5_000, n_regressed=50, text=lambda text: f"{text} {'dài 长 ' * 10}")
    texts = sum(len(result.model_dump_json()) for result in report.results())
    assert texts > 3_000_000
    for name, place in CHANNELS.items():
        text = render_markdown(report, name)
        assert place.most is None or size(text, place.unit) <= place.most - place.reserve
        shown = 50 if place.samples is None else place.samples
        assert (f"{50 - shown} more regressed samples left out here" in text) == (shown < 50)
    written = render_files(report, ["html", "json", "junit", "csv"], tmp_path)
    assert written["html"].stat().st_size < 30_000_000
    assert written["junit"].read_text("utf-8").count("<testcase ") == 10_002
    assert written["csv"].read_text("utf-8").count("\n") == 10_001

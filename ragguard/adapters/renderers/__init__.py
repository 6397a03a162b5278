"""Reports as files: one module for each format, and `render_files`, which writes those that were asked for."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ragguard.adapters.local_files import mend_of
from ragguard.core.report import Report
from ragguard.core.runs import RunHead
from ragguard.core.summary import Summary
from ragguard.errors import ObjectError

FormatName = Literal["markdown", "json", "html", "junit", "csv", "parquet", "summary"]
FORMATS: tuple[FormatName, ...] = get_args(FormatName)


@dataclass(frozen=True)
class Material:
    """What some formats need besides the report.

    Attributes:
        templates: A folder whose templates win over the ones that come with ragguard.
        summary: For `summary`, the run's results in numbers.
        history: For `html`, earlier runs of the suite, in any order.
    """

    templates: Path | None = None
    summary: Summary | None = None
    history: Sequence[RunHead] = ()


@dataclass(frozen=True)
class Renderer:
    """A format: the name of its file, and what makes the file's content."""

    file_name: str
    render: Callable[[Report, Material], bytes]


def _markdown(report: Report, material: Material) -> bytes:
    from ragguard.adapters.renderers.markdown import render_markdown

    return render_markdown(report, templates=material.templates).encode()


def _json(report: Report, _material: Material) -> bytes:
    from ragguard.adapters.renderers.json import render_json

    return render_json(report).encode()


def _html(report: Report, material: Material) -> bytes:
    from ragguard.adapters.renderers.html import render_html

    return render_html(report, templates=material.templates, history=material.history).encode()


def _junit(report: Report, _material: Material) -> bytes:
    from ragguard.adapters.renderers.junit import render_junit

    return render_junit(report)


def _csv(report: Report, _material: Material) -> bytes:
    from ragguard.adapters.renderers.csv import render_csv

    return render_csv(report)


def _parquet(report: Report, _material: Material) -> bytes:
    from ragguard.adapters.renderers.csv import render_parquet

    return render_parquet(report)


def _summary(_report: Report, material: Material) -> bytes:
    from ragguard.adapters.renderers.summary import render_summary

    if material.summary is None:
        raise ValueError("the format summary needs the summary of the results")
    return render_summary(material.summary).encode()


RENDERERS: Mapping[FormatName, Renderer] = {
    "markdown": Renderer("report.md", _markdown),
    "json": Renderer("report.json", _json),
    "html": Renderer("report.html", _html),
    "junit": Renderer("junit.xml", _junit),
    "csv": Renderer("scores.csv", _csv),
    "parquet": Renderer("scores.parquet", _parquet),
    "summary": Renderer("summary.json", _summary),
}


def render_files(
    report: Report,
    formats: Sequence[FormatName],
    folder: Path,
    *,
    templates: Path | None = None,
    summary: Summary | None = None,
    history: Sequence[RunHead] = (),
) -> dict[FormatName, Path]:
    """Writes reports: all of them, or where one cannot be rendered none.

    Args:
        report: What to tell.
        formats: Which files to write; one named twice is written once.
        folder: Where to; made if missing.
        templates: See `Material`.
        summary: See `Material`.
        history: See `Material`.

    Returns:
        Where each format was written.

    Raises:
        TemplateError: A template of the user's own cannot be rendered.
        ConfigError: A format needs a package that is not installed.
        ObjectError: The folder cannot be written.
    """
    material = Material(templates, summary, history)
    try:
        return _written(report, formats, folder, material)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ObjectError(f"{folder}: cannot write the reports ({why})", mend=mend_of(error)) from None


def _written(report: Report, formats: Sequence[FormatName], folder: Path, material: Material) -> dict[FormatName, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".reports-", dir=folder) as name:
        unfinished = Path(name)
        for key in dict.fromkeys(formats):
            (unfinished / RENDERERS[key].file_name).write_bytes(RENDERERS[key].render(report, material))
        written: dict[FormatName, Path] = {}
        for key in dict.fromkeys(formats):
            written[key] = folder / RENDERERS[key].file_name
            (unfinished / RENDERERS[key].file_name).replace(written[key])
    return written

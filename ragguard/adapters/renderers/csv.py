"""Per-sample scores as a table, one row for each sample and metric: CSV for spreadsheets, Parquet for programs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from ragguard.adapters.renderers.escaping import clean_line, defuse_commands
from ragguard.adapters.renderers.pairs import pairs
from ragguard.core.report import Report
from ragguard.core.text import without_lone_surrogates
from ragguard.errors import ConfigError

COLUMNS = (
    "run_id", "suite", "sample_id", "line", "tags", "metric", "status", "value", "baseline_value", "change", "passed",
    "regressed", "cause", "confirmed", "flags", "reason",
)  # fmt: skip
# A spreadsheet takes a cell that begins so for a formula; its wide forms too.
_FORMULA = re.compile(r"^\s*[=+\-@|%＝＋－＠\t\r]")


def score_rows(report: Report) -> Iterator[dict[str, Any]]:
    """Yields the rows, values as they are; unknown is None."""
    for pair in pairs(report):
        for score in pair.after.scores:
            fell = pair.regressed.get(score.metric)
            yield {
                "run_id": report.head.run_id,
                "suite": report.head.suite,
                "sample_id": pair.after.id,
                "line": pair.after.sample.line if pair.after.sample else None,
                "tags": " ".join(pair.after.tags),
                "metric": score.metric,
                "status": score.status,
                "value": score.value,
                "baseline_value": pair.value_before(score.metric),
                "change": pair.change(score.metric),
                "passed": score.passed,
                "regressed": fell is not None,
                "cause": fell.cause if fell else None,
                "confirmed": fell.confirmed if fell else None,
                "flags": " ".join(score.flags),
                "reason": score.reason,
            }


def render_csv(report: Report) -> bytes:
    """CSV in UTF-8 with a byte-order mark, by which spreadsheets know the encoding; text never forms a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in score_rows(report):
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return text.getvalue().encode("utf-8-sig")


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    text = defuse_commands(clean_line(value))
    return f"'{text}" if _FORMULA.match(text) else text


def render_parquet(report: Report) -> bytes:
    """The same rows as Parquet, texts as they are.

    Raises:
        ConfigError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ConfigError(
            "the format parquet needs the package pyarrow, which is not installed",
            mend="pip install pyarrow, or leave parquet out of reporting.format",
        ) from error
    types = {"line": pa.int64(), **dict.fromkeys(("value", "baseline_value", "change"), pa.float64())}
    types |= dict.fromkeys(("passed", "regressed", "confirmed"), pa.bool_())
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    rows = [{name: without_lone_surrogates(value) for name, value in row.items()} for row in score_rows(report)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())

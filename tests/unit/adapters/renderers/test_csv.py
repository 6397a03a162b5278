import csv
import io
import math

import pytest

from ragguard.adapters.renderers.csv import COLUMNS, render_csv, render_parquet
from ragguard.core.report import Report
from tests.fakes.hostile import HOSTILE
from tests.fakes.report_texts import Language
from tests.fakes.reports import make_report
from tests.unit.adapters.renderers.golden import assert_golden
from tests.unit.adapters.renderers.reading import commands, controls


def read(report: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(report).decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_golden(language: Language) -> None:
    assert_golden(render_csv(make_report("failed", language)).decode("utf-8"), f"scores.{language}.csv")


def test_a_row_for_each_sample_and_metric() -> None:
    rows = read(make_report("failed"))
    assert len(rows) == 16
    assert rows[0] | {"reason": ""} == {
        "run_id": "run-2026-03-02", "suite": "tutor", "sample_id": "refund-01", "line": "1", "tags": "en",
        "metric": "faithfulness", "status": "scored", "value": "0.0", "baseline_value": "1.0", "change": "-1.0",
        "passed": "false", "regressed": "true", "cause": "generation", "confirmed": "true", "flags": "", "reason": "",
    }  # fmt: skip


def test_unknown_is_empty_never_0() -> None:
    rows = [row for row in read(make_report("error")) if row["status"] == "failed"]
    assert len(rows) == 8
    assert {row["value"] for row in rows} == {""}
    assert {row["change"] for row in rows} == {""}
    first_run = read(make_report("warned"))
    assert {row["baseline_value"] for row in first_run} == {""}


def test_spreadsheets_see_utf_8() -> None:
    assert render_csv(make_report("passed", "vi")).startswith("\ufeff".encode())


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_forms_no_formula_and_no_row(hostile: str) -> None:
    report = make_report("failed", text=lambda text: f"{hostile} {text} {hostile}")
    text = render_csv(report).decode("utf-8-sig")
    rows = read(report)
    assert len(rows) == 16
    assert text.count("\r\n") == 17
    assert commands(text) == []
    assert controls(text.replace("\r\n", "\n")) == []
    for row in rows:
        assert None not in row
        for name in ("sample_id", "tags", "reason"):
            assert not row[name].lstrip().startswith(tuple("=+-@|%＝＋－＠\t"))


def test_parquet_has_the_same_rows_with_their_types() -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    report = make_report("error", "zh")
    table = pq.read_table(io.BytesIO(render_parquet(report)))
    assert table.column_names == list(COLUMNS)
    rows, text_rows = table.to_pylist(), read(report)
    assert [row["sample_id"] for row in rows] == [row["sample_id"] for row in text_rows]
    assert [row["value"] for row in rows] == [float(row["value"]) if row["value"] else None for row in text_rows]
    assert table.schema.field("value").type == pa.float64()
    assert all(row["value"] is None or math.isfinite(row["value"]) for row in rows)


def test_parquet_takes_hostile_text() -> None:
    pytest.importorskip("pyarrow")
    for hostile in HOSTILE:
        assert render_parquet(make_report("failed", text=lambda text, hostile=hostile: hostile + text))

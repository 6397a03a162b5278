"""The table of faults tells what the tests assert, and the suite is as wide as it claims."""

from __future__ import annotations

from tests.faults.table import DOC, all_faults, document


def test_the_document_tells_what_the_tests_assert() -> None:
    text = DOC.read_text(encoding="utf-8")
    assert text == document(text), "run: python -m tests.faults.table"


def test_no_fault_is_told_twice() -> None:
    ids = [fault.id for fault in all_faults()]
    assert len(ids) == len(set(ids))

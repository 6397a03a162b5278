"""Compact columns: they hold what a dictionary would hold, and little memory."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.core.digests import digest
from ragguard.core.tables import Digests, DigestTable, ScoreColumn, Status

HEX = st.integers(0, 50).map(digest)
ANY_DIGEST = st.one_of(HEX, st.text(max_size=5), HEX.map(str.upper), HEX.map(lambda text: f" {text[1:]}"))
DIGESTS = st.tuples(ANY_DIGEST, ANY_DIGEST, st.none() | ANY_DIGEST)


@given(st.lists(st.tuples(st.text(max_size=2), DIGESTS)))
def test_a_table_of_digests_is_a_dictionary(entries: list[tuple[str, Digests]]) -> None:
    table = DigestTable()
    for id_, digests in entries:
        table[id_] = digests
    expected = dict(entries)
    assert dict(table) == expected
    assert list(table) == list(expected)
    assert DigestTable(expected) == expected


def test_a_table_only_grows() -> None:
    table = DigestTable({"a": ("s", "p", None)})
    with pytest.raises(TypeError):
        del table["a"]


SCORES = st.one_of(
    st.tuples(st.just("scored"), st.floats(allow_nan=False, allow_infinity=False)),
    st.tuples(st.sampled_from(["failed", "not_applicable"]), st.none()),
)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), SCORES)))
def test_a_column_holds_each_samples_last_score(entries: list[tuple[str, tuple[Status, float | None]]]) -> None:
    rows = {id_: row for row, id_ in enumerate("abcdefg")}
    column = ScoreColumn(rows)
    for id_, (status, value) in entries:
        column.add(id_, status, value)
    last = dict(entries)
    assert {id_: column.seen(id_) for id_ in rows} == {id_: last.get(id_) for id_ in rows}
    applies = {id_: value for id_, (status, value) in last.items() if status != "not_applicable"}
    assert dict(column) == applies
    assert len(column) == len(applies)
    assert column.get("unknown") is None


def test_a_thousand_entries_take_less_than_125_bytes_each_besides_their_ids() -> None:
    table = DigestTable()
    column = ScoreColumn(table.rows)
    for number in range(1000):
        table[f"sample {number}"] = (digest(number), digest(-number), digest([number]))
        column.add(f"sample {number}", "scored", number / 1000)
    held = sum(map(sys.getsizeof, (table._packed, table._kinds, column._values, column._statuses)))
    assert held < 1000 * 125

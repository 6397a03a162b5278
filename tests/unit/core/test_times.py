"""Times from outside are told in every zone, or unknown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from ragguard.core.times import Moment, read_moment

ADAPTER: TypeAdapter[datetime] = TypeAdapter(Moment)


@pytest.mark.parametrize("text", ["2026-03-01T09:00:00Z", "2026-03-01T16:00:00+07:00", "0001-01-01T00:00:00Z"])
def test_a_time_with_its_zone(text: str) -> None:
    found = read_moment(text)
    assert found is not None
    assert found == ADAPTER.validate_python(text)
    assert found.astimezone(UTC)


@pytest.mark.parametrize(
    "text",
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-03-01T09:00:00", "2026-03-01", "yesterday", "", None, 5],
)  # fmt: skip
def test_anything_else_is_unknown_and_no_record_holds_it(text: object) -> None:
    assert read_moment(text) is None
    if isinstance(text, str):
        with pytest.raises(ValidationError):
            ADAPTER.validate_python(text)

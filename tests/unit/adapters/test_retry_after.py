"""How long a server asks to wait, in every form that servers use and in some that they should not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ragguard.adapters.retry_after import retry_after_s

NOON = "Wed, 21 Oct 2015 12:00:00 GMT"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "NaN"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "\u00b2"}, None),
        ({"retry-after": "9" * 5000}, 999_999_999.0),
        ({"retry-after": "9" * 300}, 999_999_999.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "-1500"}, 0.0),
        ({"retry-after-ms": "inf"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 12:00:30 GMT", "date": NOON}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 11:59:30 GMT", "date": NOON}, 0.0),
        ({"retry-after": "Wed, 99 Oct 2015 12:00:30 GMT", "date": NOON}, None),
        ({"retry-after": "Wed, 21 Oct 2015 12:00:30", "date": NOON}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 12:00:30 GMT", "date": "yesterday"}, None),
    ],
)
def test_what_the_headers_say(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds
    assert retry_after_s(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0),
        ("Thu, 01 Jan 2026 00:00:30 -0000", 30.0),
        ("Wed, 31 Dec 2025 23:00:00 GMT", 0.0),
    ],
)
def test_a_date_alone_needs_a_clock(value: str, seconds: float) -> None:
    assert retry_after_s({"retry-after": value}) is None
    assert retry_after_s({"retry-after": value}, NOW) == seconds

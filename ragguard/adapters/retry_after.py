"""How long a server asks to wait before the next request, as its headers say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"\d+(\.\d+)?", re.ASCII)
_LONGEST_S = 999_999_999.0


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Reads `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3).

    Args:
        headers: Of the reply, names in lower case. A date is compared with the reply's own `Date`, so that the two
            clocks need not agree.
        now: Stands in for a `Date` that is not there; None: a date without one says nothing.

    Returns:
        Seconds, 0 to 999,999,999; None where the headers do not say or cannot be read.
    """
    try:
        if "retry-after-ms" in headers:
            return _bounded(float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "").strip()
        if _SECONDS.fullmatch(value):
            return min(float(value), _LONGEST_S)
        until, since = _date(value), _date(headers["date"]) if "date" in headers else now
        return None if since is None else _bounded((until - since).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _date(value: str) -> datetime:
    """A date of HTTP; one that names no zone is in UTC, as all of them are."""
    date = parsedate_to_datetime(value)
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _bounded(seconds: float) -> float | None:
    return None if not seconds < float("inf") else min(max(0.0, seconds), _LONGEST_S)

"""Times from outside: with a zone, and such that every zone can tell them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime


def is_told_everywhere(time: datetime) -> bool:
    """Whether a time has a zone and can be told in UTC: the first and last hours of the calendar cannot."""
    try:
        return time.tzinfo is not None and time.astimezone(UTC) is not None
    except OverflowError:
        return False


def _told_everywhere(time: datetime) -> datetime:
    if not is_told_everywhere(time):
        raise ValueError("is no time that can be told in UTC")
    return time


Moment = Annotated[AwareDatetime, AfterValidator(_told_everywhere)]
"""A time in a record."""


def read_moment(text: object) -> datetime | None:
    """Reads a time in ISO 8601 with its zone; None where it is anything else."""
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return time if time is not None and is_told_everywhere(time) else None

"""Names of stored objects: made from anybody's text, safe in any folder or bucket, in an order that is time."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime

MAX_NAME = 200
"""Longest file name we make, in bytes; file systems allow 255, drafts need a few more."""

_UNSAFE = re.compile(rb"[^A-Za-z0-9_-]")
_ESCAPED = re.compile(rb"=([0-9A-F]{2})")
_LONG = 80
_TIME_NAME = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{6})Z")
_TIME = "%Y%m%dT%H%M%S%fZ"


def escaped(text: str) -> str:
    """Writes a text as one segment of a path: letters, digits, `_`, `-`, and `=XX` for every other byte.

    Dots and slashes are escaped, so that no name leads elsewhere and dots can separate the parts of a name. A long
    text keeps its start and ends in a digest.
    """
    data = text.encode("utf-8", "surrogatepass")
    if not data:
        return "=empty"
    safe = _UNSAFE.sub(lambda found: b"=%02X" % found[0][0], data).decode()
    if len(safe) <= _LONG:
        return safe
    return f"{safe[:40]}=sha-{hashlib.sha256(data).hexdigest()[:32]}"


def unescaped(name: str) -> str | None:
    """Returns the text that `escaped` was given, None where it kept only a digest."""
    if "=sha-" in name:
        return None
    if name == "=empty":
        return ""
    data = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), name.encode())
    return data.decode("utf-8", "surrogatepass")


def escaped_or_none(text: str | None) -> str:
    """Writes a text that may be missing; what is missing has a name that no text has."""
    return "=none" if text is None else escaped(text)


def time_name(time: datetime) -> str:
    """Writes a time so that names sort by time: UTC, to the microsecond."""
    return time.astimezone(UTC).strftime(_TIME).zfill(len("20260101T000000000000Z"))


def is_time_name(name: str) -> bool:
    """Says whether a name has the form that `time_name` gives."""
    return _TIME_NAME.fullmatch(name) is not None


def parse_time(name: str) -> datetime | None:
    """Reads a time that `time_name` wrote, None where it is something else."""
    found = _TIME_NAME.fullmatch(name)
    try:
        return datetime(*map(int, found.groups()), tzinfo=UTC) if found else None  # type: ignore[misc, arg-type]
    except ValueError:
        return None

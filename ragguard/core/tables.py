"""Columns by sample id, a few bytes an entry: a run of a million samples beside five baseline runs fits in memory."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Literal

Digests = tuple[str, str, str | None]
"""Digests of a sample, its passages and its answer."""
Status = Literal["scored", "failed", "not_applicable"]
Seen = tuple[Status, float | None]

_DIGEST_BYTES = 32
_HEX = re.compile(r"[0-9a-f]{64}")
_PACKED, _NO_ANSWER, _AS_IT_IS = 0, 1, 2
_STATUSES: tuple[Status | None, ...] = (None, "scored", "failed", "not_applicable")


class DigestTable(MutableMapping[str, Digests]):
    """Digests by sample id, in the order in which they came.

    Attributes:
        rows: The row of each id; columns of scores share it.
    """

    def __init__(self, given: Mapping[str, Digests] | None = None) -> None:
        self.rows: dict[str, int] = {}
        self._kinds = bytearray()
        self._packed = bytearray()
        self._as_they_are: dict[int, Digests] = {}
        self.update(given or {})

    def __setitem__(self, id_: str, digests: Digests) -> None:
        row = self.rows.setdefault(sys.intern(id_), len(self.rows))
        kind, packed = _pack(digests)
        if kind == _AS_IT_IS:
            self._as_they_are[row] = digests
        if row == len(self._kinds):
            self._kinds.append(kind)
            self._packed += packed
        else:
            self._kinds[row] = kind
            self._packed[row * len(packed) : (row + 1) * len(packed)] = packed

    def __getitem__(self, id_: str) -> Digests:
        row = self.rows[id_]
        if self._kinds[row] == _AS_IT_IS:
            return self._as_they_are[row]
        start = 3 * _DIGEST_BYTES * row
        sample, passages, answer = (
            self._packed[start + n * _DIGEST_BYTES : start + (n + 1) * _DIGEST_BYTES].hex() for n in range(3)
        )
        return sample, passages, None if self._kinds[row] == _NO_ANSWER else answer

    def __delitem__(self, id_: str) -> None:
        raise TypeError("a table of digests only grows")

    def __contains__(self, id_: object) -> bool:
        return id_ in self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def _pack(digests: Digests) -> tuple[int, bytes]:
    if not all(digest is None or _HEX.fullmatch(digest) for digest in digests):
        return _AS_IT_IS, bytes(3 * _DIGEST_BYTES)
    packed = b"".join(bytes(_DIGEST_BYTES) if digest is None else bytes.fromhex(digest) for digest in digests)
    return _NO_ANSWER if digests[2] is None else _PACKED, packed


class ScoreColumn(Mapping[str, float | None]):
    """One metric's scores by sample id; as a mapping, what the metric applies to: None where it failed.

    Args:
        rows: The row of each id, kept by the table of digests; an id stands there before its score comes.
    """

    def __init__(self, rows: Mapping[str, int]) -> None:
        self._rows = rows
        self._values = array("d")
        self._statuses = bytearray()
        self._applies = 0

    def add(self, id_: str, status: Status, value: float | None) -> None:
        """Takes in a score; a later one of the same sample replaces it."""
        row = self._rows[id_]
        while len(self._statuses) <= row:
            self._statuses.append(0)
            self._values.append(0.0)
        self._applies += (status != "not_applicable") - (self._statuses[row] in {1, 2})
        self._statuses[row] = _STATUSES.index(status)
        self._values[row] = 0.0 if value is None else value

    def seen(self, id_: str) -> Seen | None:
        """Status and value; None where there is no score."""
        row = self._rows.get(id_, -1)
        if not 0 <= row < len(self._statuses):
            return None
        status = _STATUSES[self._statuses[row]]
        return None if status is None else (status, self._values[row] if status == "scored" else None)

    def __getitem__(self, id_: str) -> float | None:
        found = self.seen(id_)
        if found is None or found[0] == "not_applicable":
            raise KeyError(id_)
        return found[1]

    def __iter__(self) -> Iterator[str]:
        return (id_ for id_ in self._rows if id_ in self)

    def __len__(self) -> int:
        return self._applies

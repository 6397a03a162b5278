"""Vectors for tests: hashed character trigrams, the same on every machine."""

import base64
import math
import struct
import zlib
from collections.abc import Sequence


def hashed_vector(text: str, dim: int) -> list[float]:
    """A unit vector of hashed character trigrams: shape (dim,)."""
    padded = f"  {text.casefold()} "
    row = [0.0] * dim
    for first in range(len(padded) - 2):
        row[zlib.crc32(padded[first : first + 3].encode("utf-8", "replace")) % dim] += 1.0
    length = math.sqrt(math.fsum(value * value for value in row))
    return [value / length for value in row]


def packed_row(row: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()

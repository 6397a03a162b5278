"""One way to turn a value into a digest, so that equal things are equal everywhere and on every machine."""

from __future__ import annotations

import hashlib
import json


def canonical_json(value: object) -> str:
    """Writes a JSON value so that equal values give equal text.

    Args:
        value: Anything that JSON can hold; no NaN or infinity.

    Returns:
        JSON with sorted keys and no spaces; text stands as it is, not escaped.

    Raises:
        ValueError: A number is NaN or infinite.
        TypeError: The value is not a JSON value.
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(value: object) -> str:
    """Returns the SHA-256 of the canonical JSON of a value, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()

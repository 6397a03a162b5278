"""Foreign text made safe to store; what makes it safe to print stands in `printable`."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from pydantic import BeforeValidator

from ragguard.core.printable import harmless, one_line

__all__ = ["Text", "harmless", "is_blank", "one_line", "without_lone_surrogates"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "�"


def without_lone_surrogates(value: object) -> object:
    """Replaces each lone surrogate, which no UTF-8 file can hold, by U+FFFD; leaves other values alone."""
    return _LONE_SURROGATE.sub(_REPLACEMENT, value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(without_lone_surrogates)]
"""A string from outside that can be written as UTF-8."""


def is_blank(text: str) -> bool:
    """Whether there is nothing to see in a text: white space, control, format and tag characters alone."""
    return all(char.isspace() or unicodedata.category(char) in {"Cc", "Cf"} for char in text)

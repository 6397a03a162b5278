"""Foreign text made safe to store: what cannot be written as UTF-8 is replaced, nothing else is changed."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "�"


def without_lone_surrogates(value: object) -> object:
    """Replaces each lone surrogate, which no UTF-8 file can hold, by U+FFFD; leaves other values alone."""
    return _LONE_SURROGATE.sub(_REPLACEMENT, value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(without_lone_surrogates)]
"""A string from outside that can be written as UTF-8."""


def one_line(text: str) -> str:
    """Collapses all white space, line ends of every kind included, to single spaces."""
    return " ".join(text.split())

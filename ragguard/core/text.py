"""Foreign text made safe to store, and to print where a terminal or a CI runner reads along."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated

from pydantic import BeforeValidator

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "�"
_COMMAND = re.compile(r"^(\s*)::|##\[", re.MULTILINE)
_ZERO_WIDTH = "\u200b"


def without_lone_surrogates(value: object) -> object:
    """Replaces each lone surrogate, which no UTF-8 file can hold, by U+FFFD; leaves other values alone."""
    return _LONE_SURROGATE.sub(_REPLACEMENT, value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(without_lone_surrogates)]
"""A string from outside that can be written as UTF-8."""


def is_blank(text: str) -> bool:
    """Whether there is nothing to see in a text: white space, control, format and tag characters alone."""
    return all(char.isspace() or unicodedata.category(char) in {"Cc", "Cf"} for char in text)


def harmless(text: str) -> str:
    """Takes terminal escapes and workflow commands out of foreign text; line ends and tabs stay."""
    kept = "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf"})
    return _COMMAND.sub(lambda match: f"{match.group()[:-1]}{_ZERO_WIDTH}{match.group()[-1]}", kept)


def one_line(text: str) -> str:
    """Collapses all white space, line ends of every kind included, to single spaces."""
    return " ".join(text.split())

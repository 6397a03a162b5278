"""Foreign text made safe to print where a terminal or a CI runner reads along; imports nothing heavy, for `--help`."""

from __future__ import annotations

import re
import unicodedata

_COMMAND = re.compile(r"^(\s*)::|##\[", re.MULTILINE)
_ZERO_WIDTH = "\u200b"


def harmless(text: str) -> str:
    """Takes terminal escapes and workflow commands out of foreign text; line ends and tabs stay."""
    kept = "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf"})
    return _COMMAND.sub(lambda match: f"{match.group()[:-1]}{_ZERO_WIDTH}{match.group()[-1]}", kept)


def one_line(text: str) -> str:
    """Collapses all white space, line ends of every kind included, to single spaces."""
    return " ".join(text.split())

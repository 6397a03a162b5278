"""Foreign text made harmless for Slack: it forms no mention, link, date, emoji or markup.

Slack's mrkdwn has no escape for its own signs but for `&`, `<` and `>`; the others are replaced by signs that look
like them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ragguard.adapters.renderers.escaping import ZERO_WIDTH, brief, clean_line, defuse

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LOOKALIKES = str.maketrans({"*": "\u2217", "~": "\u223c", "`": "\u02cb"})
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_EMOJI = re.compile(r":(?=[a-z0-9_+'-]+:)", re.IGNORECASE)
LONGEST_SECTION = 3_000
_LENGTHS = (240, 160, 100, 60, 30, 10)


def mrkdwn(text: str, most: int | None = None) -> str:
    """Prose on one line, cut to about `most` characters before it is escaped."""
    line = defuse(clean_line(text) if most is None else brief(text, most)).translate(_LOOKALIKES)
    line = _EMOJI.sub(":" + ZERO_WIDTH, _UNDERSCORE.sub("\u02cd", line))
    return line.translate(_ENTITIES)


def name(text: str, most: int = 80) -> str:
    """A name between backticks, to be copied as it is; `&`, `<` and `>` are escaped there too."""
    line = brief(text, most).replace("`", "\u02cb").translate(_ENTITIES)
    return f"`{line or ' '}`"


def plain(text: str, most: int) -> str:
    """For Slack's plain text, which parses nothing; at most so many characters as UTF-16 counts them."""
    line = clean_line(text[: 4 * most])
    if units(line) <= most:
        return line
    while units(line) > most - 1:
        line = line[:-1]
    return f"{line}…"


def units(text: str) -> int:
    """Characters as UTF-16 counts them, which is never fewer than Slack counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def within(make: Callable[[int], str], most: int = LONGEST_SECTION) -> str:
    """Makes a text with ever shorter foreign parts until it fits.

    Args:
        make: Makes it with foreign parts of at most so many characters.
        most: What fits.
    """
    text = ""
    for length in _LENGTHS:
        text = make(length)
        if units(text) <= most:
            return text
    kept = text.split("\n")
    while kept and units("\n".join(kept)) > most - 2:
        kept.pop()
    return "\n".join([*kept, "…"])

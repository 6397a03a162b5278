"""Foreign text made harmless for the places where reports are read.

Questions, passages, answers and judges' words come from outside. Cleaned, they hold no control characters, terminal
escapes or direction overrides; escaped for Markdown, they form no markup, link, mention or reference.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from markupsafe import Markup

from ragguard.core.text import one_line

ZERO_WIDTH = "\u200b"
_CONTROL_PICTURES = 0x2400
_DELETE, _DELETE_PICTURE = 0x7F, "\u2421"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# Direction overrides and isolates, invisible separators, tag characters, and what XML cannot hold.
_INVISIBLE = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
_NO_CHARACTER = re.compile("[\ud800-\udfff\ufffe\uffff]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

_MENTION = re.compile(r"[@＠]")
_REFERENCE = re.compile(r"#(?=[\d\[#])")
_GH_REFERENCE = re.compile(r"\b(GH-)(?=\d)", re.IGNORECASE)
_COMMIT = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)([0-9a-f]{6})([0-9a-f]{1,58})\b", re.IGNORECASE)
_SCHEME = re.compile(r"(?<=:)(?=//)|(?<=\bwww)(?=\.)|(?<=\bmailto:)|(?<=\bxmpp:)", re.IGNORECASE)
_COMMAND = re.compile("::")
_INLINE = re.compile(r"[\\`*\[\]~|$<>&]|(?<![^\W_])_|_(?![^\W_])")
_AT_START = re.compile(r"^(?:[#+=-]|\d+(?=[.)](?:\s|$)))")
_WORTH_KEEPING = 200
_WEB = re.compile(r"https?://[^\s<>()\[\]\\\"'`|]+")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_PLAIN_CODE = re.compile(r"(?:[\w.\-/#]|:(?=\w))+(?: (?:[\w.\-/#]|:(?=\w))+)*")


def clean(text: str) -> str:
    """Shows control characters as their pictures, drops invisible ones and direction marks; line ends stay."""
    # What is printable holds none of all these; most texts are.
    if text.isprintable():
        return text
    text = _NO_CHARACTER.sub(_REPLACEMENT, _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return _CONTROL.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    return _DELETE_PICTURE if code == _DELETE else _REPLACEMENT


def clean_line(text: str) -> str:
    """Cleaned, and flattened to one line."""
    return one_line(clean(text))


def brief(text: str, most: int | None) -> str:
    """Cleans a text to one line of about `most` characters, never cut inside a composed character.

    A text that is cut says how much of it is missing.
    """
    # Cleaning only shortens a text, and rarely by much: looking at a part keeps megabytes cheap.
    part = text if most is None else text[: 4 * most + 64]
    line = clean_line(part)
    if most is None or (len(line) <= most and len(part) == len(text)):
        return line
    end = min(most, len(line) - 1)
    while end > 0 and (unicodedata.combining(line[end]) or line[end] == "\u200d" or line[end - 1] == "\u200d"):
        end -= 1
    missing = len(line) - end + len(text) - len(part)
    return f"{line[:end].rstrip()}… ({missing:,} more characters)"


def defuse(text: str) -> str:
    """Breaks mentions, references, bare addresses and workflow commands with a zero-width character."""
    text = _MENTION.sub(lambda found: found.group() + ZERO_WIDTH, text)
    text = _REFERENCE.sub("#" + ZERO_WIDTH, text)
    text = _GH_REFERENCE.sub(r"\1" + ZERO_WIDTH, text)
    text = _COMMIT.sub(r"\1" + ZERO_WIDTH + r"\2", text)
    return _COMMAND.sub(f":{ZERO_WIDTH}:", _SCHEME.sub(ZERO_WIDTH, text))


def defuse_commands(text: str) -> str:
    """Breaks workflow commands alone, for files whose other letters mean nothing where they are shown."""
    return text.replace("##[", f"#{ZERO_WIDTH}#[").replace("::", f":{ZERO_WIDTH}:")


def page_line(text: str) -> str:
    """Cleans a text to one line for an HTML page, whose own escaping comes after it."""
    return defuse_commands(clean_line(text))


def markdown(value: object) -> Markup:
    """Escapes a text for one line of Markdown, in a paragraph, a list item or a table's cell."""
    if isinstance(value, Markup):
        return value
    text = "" if value is None else str(value)
    return _escape_again(text) if len(text) <= _WORTH_KEEPING else _escape(text)


def _escape(text: str) -> Markup:
    text = defuse(clean_line(text))
    text = _INLINE.sub(lambda found: _ENTITIES.get(found.group(), "\\" + found.group()), text)
    return Markup(_AT_START.sub(_escaped_start, text))  # noqa: S704 - this is the escaping


# A report that is fitted to its channel is rendered several times, mostly with the same words.
_escape_again = lru_cache(maxsize=4_096)(_escape)


def _escaped_start(found: re.Match[str]) -> str:
    start = found.group()
    # A backslash before a digit is no escape; one before the point after it is.
    return f"{start}\\" if start[0].isdigit() else f"\\{start}"


def code(value: object) -> Markup:
    """A short name as code: between backticks where it is plain, else escaped between tags."""
    text = clean_line(str(value))
    plain = _PLAIN_CODE.fullmatch(text) is not None and "##" not in text
    return Markup(f"`{text}`") if plain else Markup(f"<code>{markdown(text)}</code>")  # noqa: S704 - escaped above


def heading(level: int) -> Markup:
    """The mark that opens a heading of a level from 1 to 6."""
    return Markup("#" * level)  # noqa: S704 - our own mark


def link(address: str | None, words: str) -> Markup:
    """A Markdown link to an address of our own making; the words alone where there is none or it is no web address."""
    safe = web_address(address)
    # No bracket, quote or space is left in the address to end it early.
    return Markup(f"[{markdown(words)}]({safe})") if safe else markdown(words)  # noqa: S704


def web_address(address: str | None) -> str | None:
    """The address, cleaned, where it is one of the web and can stand in Markdown; else None."""
    found = _WEB.fullmatch(clean_line(address)) if address else None
    return found.group() if found else None

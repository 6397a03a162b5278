"""Sentence splitting for English, Vietnamese and Chinese: by a library, and what it breaks merged again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import sentencex

from ragguard.core.text import is_blank, one_line

_HAN = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]")
_VIETNAMESE = re.compile(r"[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]", re.IGNORECASE)

_ABBREVIATIONS = (
    # Vietnamese titles, places and legal forms
    "TP", "Tp", "GS", "PGS", "TS", "ThS", "BS", "CN", "KS", "NXB", "TX", "TT", "Ths", "ĐH", "THPT",
    # English, where the library splits
    "approx", "vs", "Dr", "Mr", "Mrs", "Ms", "Prof", "St", "Jr", "Sr", "Fig", "Eq", "Ch", "Sec", "Vol",
    "e.g", "i.e", "cf", "al",
)  # fmt: skip
_ENDS_IN_ABBREVIATION = re.compile(rf"(?:^|[\s(\[\"“.])(?:{'|'.join(re.escape(a) for a in _ABBREVIATIONS)})\.$")
_ENDS_IN_INITIAL = re.compile(r"(?:^|\s)(?:[A-ZĐ]\.\s?)?[QP]\.$|^[A-ZĐ]\.$|(?:^|\s)[A-ZĐ]\.\s?[A-ZĐ]\.$")
_WRAPPED_FROM = 40
_LONG_QUOTATION = 200
_WITHOUT_QUOTES = str.maketrans(dict.fromkeys('"“”‘’«»「」『』()[]（）' + "'", " "))
# A Chinese full stop before a digit, and a number with its unit before a full stop: "1,470 m. It …".
_MISSED_END = re.compile(r"(?P<cjk>[。！？](?![”’」』）。！？]))|\d\s?[^\W\d_]{1,3}(?:/[^\W\d_]{1,3})?\.\s+")
_ONLY_A_LIST_MARK = re.compile(r"^\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)]$|^[-*•·–—]+$")


def language_of(text: str) -> str:
    """Guesses the language for splitting: `zh`, `vi` or `en`, by the script and the diacritics of the text."""
    han = len(_HAN.findall(text))
    if han * 4 >= len(text.replace(" ", "")):
        return "zh" if han else "en"
    return "vi" if _VIETNAMESE.search(text) else "en"


@lru_cache(maxsize=4096)
def split_sentences(text: str) -> tuple[str, ...]:
    """Splits a text into sentences.

    Line breaks that end a paragraph, a heading or a list item end a sentence too; a list mark stays with its item.

    Args:
        text: Any text.

    Returns:
        The sentences in order, each on one line and with something to see in it; empty for a blank text.
    """
    pieces: list[str] = []
    for block in _blocks(text):
        pieces.extend(_merged(one_line(piece) for piece in _segments(block)))
    # Of a sentence of invisible characters a judge would see an empty line, and not answer for it.
    return tuple(piece for piece in _with_list_marks(pieces) if not is_blank(piece))


def _segments(block: str) -> Iterator[str]:
    """Splits by the library, and once more where it is known to keep sentences together."""
    language = language_of(block)
    for piece in sentencex.segment(language, block):
        if len(piece) <= _LONG_QUOTATION:
            yield from _split_after(_MISSED_END, piece)
            continue
        # The library keeps long quotations and brackets whole; without the marks it does not.
        for boundary in sentencex.get_sentence_boundaries(language, piece.translate(_WITHOUT_QUOTES)):
            yield from _split_after(_MISSED_END, piece[boundary["start_index"] : boundary["end_index"]])


def _split_after(end: re.Pattern[str], piece: str) -> Iterator[str]:
    start = 0
    for match in end.finditer(piece):
        following = piece[match.end() : match.end() + 1]
        if match["cjk"] or following.isupper():
            yield piece[start : match.end()]
            start = match.end()
    yield piece[start:]


def _blocks(text: str) -> Iterator[str]:
    """Joins lines that were only wrapped: a line that ends without punctuation and goes on in lower case."""
    lines = [line.strip() for line in text.splitlines()]
    block = ""
    for line, following in pairwise([*lines, ""]):
        block = f"{block} {line}".strip()
        wrapped = len(line) > _WRAPPED_FROM and following[:1].islower() and line[-1:] not in ".!?。！？:：;；"
        if not wrapped and block:
            yield block
            block = ""


def _merged(pieces: Iterator[str]) -> Iterator[str]:
    held = ""
    for piece in pieces:
        if not piece:
            continue
        joined = f"{held} {piece}".strip()
        held = ""
        if _is_unfinished(joined):
            held = joined
        else:
            yield joined
    if held:
        yield held


def _is_unfinished(piece: str) -> bool:
    return bool(_ENDS_IN_ABBREVIATION.search(piece) or _ENDS_IN_INITIAL.search(piece))


def _with_list_marks(pieces: list[str]) -> Iterator[str]:
    mark = ""
    for piece in pieces:
        if _ONLY_A_LIST_MARK.match(piece):
            mark = f"{mark} {piece}".strip()
            continue
        yield f"{mark} {piece}".strip()
        mark = ""
    if mark:
        yield mark

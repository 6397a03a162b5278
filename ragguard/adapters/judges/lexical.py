"""What the offline judge can see of a text: its numbers, and the characters it shares with another text."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache

from ragguard.core.refusals import folded

Readings = frozenset[Decimal]
"""Everything one written number may mean: "1.000" is one thousand or one."""

_FULL_WIDTH_SEPARATOR = re.compile(r"(?<![０-９])[，．]|[，．](?![０-９])")
_NO_BREAK_GROUP = re.compile(r"(?<=\d)[\u00a0\u202f\u2009'’](?=\d{3}(?!\d))")
_SPACED_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3}){2,}(?![\d.,]\d)")
_NOT_A_QUANTITY = re.compile(r"\[\d{1,3}\]|【\d{1,3}】|^\s*\(?\d{1,2}[.)](?=\s)")
_NUMBER = re.compile(
    r"(\d{1,40}(?:[.,]\d{1,40})*)(?:\s*(thousand|million|billion|nghìn|ngàn|triệu|tỷ|tỉ|[万萬亿億千]"
    r"(?![米克瓦卡字])))?"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")
_TIMES = {
    "thousand": 3, "million": 6, "billion": 9, "nghìn": 3, "ngàn": 3, "triệu": 6, "tỷ": 9, "tỉ": 9,
    "万": 4, "萬": 4, "亿": 8, "億": 8, "千": 3,
}  # fmt: skip
_IN_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "một": 1, "hai": 2, "ba": 3, "bốn": 4, "sáu": 6, "bảy": 7,
    "tám": 8, "chín": 9, "mười": 10,
}  # fmt: skip
_HAN_NUMERAL = re.compile("[零一二两三四五六七八九十百]+")
_HAN_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2}
_LATIN_WORD = re.compile(r"[^\W\d_]+")
_REMEMBERED = 1024
"""Texts: the passages of the samples in flight; long ones take tens of kilobytes each."""
_HAN = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]")


@lru_cache(maxsize=_REMEMBERED)
def numbers(text: str) -> tuple[Readings, ...]:
    """Numbers written in digits, in order, each with everything it may mean.

    1.000,5 and 1,000.5 are equal, so are full-width digits, 2.4 million and 2.400.000, 15% and 15 percent. Signs
    are not read (a hyphen is more often a range), nor are list marks and citation marks.
    """
    plain = _FULL_WIDTH_SEPARATOR.sub(" ", _NOT_A_QUANTITY.sub(" ", text))
    plain = _SPACED_GROUPS.sub(lambda group: group[0].replace(" ", ""), folded(_NO_BREAK_GROUP.sub("", plain)))
    return tuple(readings for match in _NUMBER.finditer(plain) for readings in _readings(match[1], match[2]))


def _readings(written: str, unit: str | None) -> list[Readings]:
    marks = [char for char in written if char in ".,"]
    scale = Decimal(10) ** _TIMES.get(unit or "", 0)
    if not marks:
        return [frozenset({_plain(written, scale)})]
    readings = set()
    if _THOUSANDS.fullmatch(written):
        readings.add(_plain(re.sub("[.,]", "", written), scale))
    if len(marks) == 1:
        readings.add(_plain(written.replace(",", "."), scale))
    whole, _, fraction = written.rpartition(marks[-1])
    if len(marks) > 1 and marks[-1] not in marks[:-1] and _THOUSANDS.fullmatch(whole):
        readings.add(_plain(f"{re.sub('[.,]', '', whole)}.{fraction}", scale))
    if readings:
        return [frozenset(readings)]
    return [frozenset({_plain(part, Decimal(1))}) for part in re.split("[.,]", written)]


def _plain(digits: str, scale: Decimal) -> Decimal:
    return (Decimal(digits) * scale).normalize()


@lru_cache(maxsize=_REMEMBERED)
def held_numbers(text: str) -> Readings:
    """Every number that a text holds under any reading, small ones in words included."""
    found = {value for readings in numbers(text) for value in readings}
    plain = folded(text)
    found.update(Decimal(_IN_WORDS[word]) for word in _LATIN_WORD.findall(plain) if word in _IN_WORDS)
    found.update(Decimal(value) for value in map(_han_number, _HAN_NUMERAL.findall(plain)) if value is not None)
    return frozenset(found)


def _han_number(numeral: str) -> int | None:
    """The value of a Chinese numeral below 1000; None where it is none."""
    total, digit = 0, 0
    for char in numeral:
        if char in "十百":
            total += (digit or 1) * (10 if char == "十" else 100)
            digit = 0
        else:
            digit = _HAN_DIGITS[char]
    return total + digit or None


def foreign_numbers(claim: str, texts: Iterable[str]) -> bool:
    """Whether a claim holds a number that none of the texts holds."""
    wanted = numbers(claim)
    if not wanted:
        return False
    held = [held_numbers(text) for text in texts]  # not united: that would cost a long passage's length at every line
    return any(all(readings.isdisjoint(some) for some in held) for readings in wanted)


@lru_cache(maxsize=_REMEMBERED)
def grams(text: str) -> frozenset[str]:
    """Character n-grams: three characters of a spaced word with its borders, two of a run of Chinese or Japanese."""
    plain = unicodedata.normalize("NFC", folded(text))
    found: set[str] = set()
    for word in re.findall(r"\w+", _HAN.sub(" ", plain)):
        padded = f" {word} "
        found.update(padded[start : start + 3] for start in range(len(padded) - 2))
    for run in re.findall(r"[぀-ヿ㐀-鿿豈-﫿]+", plain):
        found.update(run[start : start + 2] for start in range(max(1, len(run) - 1)))
    return frozenset(found)


def shared(part: str, whole: str) -> float:
    """Share of one text's n-grams that another holds, in [0, 1]; 0.0 for a text without any."""
    wanted = grams(part)
    return len(wanted & grams(whole)) / len(wanted) if wanted else 0.0


def likeness(one: str, other: str) -> float:
    """Cosine of two texts' sets of n-grams, in [0, 1]; 0.0 where either has none."""
    left, right = grams(one), grams(other)
    return len(left & right) / math.sqrt(len(left) * len(right)) if left and right else 0.0


def best_match(text: str, candidates: Sequence[str]) -> tuple[int, float]:
    """Index and `shared` of the candidate that holds most of a text, the first of equals.

    Raises:
        ValueError: There are no candidates.
    """
    shares = [shared(text, candidate) for candidate in candidates]
    best = max(range(len(shares)), key=lambda index: (shares[index], -index))
    return best, shares[best]

"""Texts as hashed character n-grams: no model, no network, the same bits on every machine.

It sees spelling, not meaning: texts are alike as far as they share pieces of words, in one language.
Signed hashing: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009 (arXiv 0902.2206).
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from ragguard.core.ports import Vectors

NGRAMS_NAME = "char-ngrams-1"
"""Name of this recipe; a change of any vector needs a new one."""

NGRAMS_DIM = 1024

_SPACELESS = (
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),  # Han
    (0xAC00, 0xD7AF),  # Hangul: spaced, but a syllable says as much as a Han character
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_BLANK = "blank:"


def ngram_vectors(texts: Sequence[str]) -> Vectors:
    """Embeds texts, each by itself.

    A component is the signed sum of sqrt(count) over the n-grams that fall on it, scaled to length 1. Square root and
    division are exact in IEEE arithmetic and the sum of squares is `math.fsum`, so that no batch, thread or processor
    changes a bit.

    Returns:
        Unit vectors, shape (len(texts), 1024); a text without letters or digits has the vector of the blank text.
    """
    vectors = np.zeros((len(texts), NGRAMS_DIM), dtype=np.float64)
    for row, text in zip(vectors, texts, strict=True):
        _fill(row, Counter(ngrams(text)) or Counter([_BLANK]))
    return vectors


def ngrams(text: str) -> Iterator[str]:
    """Yields the n-grams of a text: 3 characters within a word, 1 and 2 where a script writes no spaces.

    Words are normalised (NFKC, case folded) and stand between marks, so that their ends count: "học" gives `<họ`,
    `học`, `ọc>`.
    """
    for run in _runs(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())):
        if _is_spaceless(run[0]):
            yield from run
            yield from (run[at : at + 2] for at in range(len(run) - 1))
        else:
            marked = f"<{run}>"
            yield from (marked[at : at + 3] for at in range(len(marked) - 2))


def _fill(row: Vectors, counts: Counter[str]) -> None:
    for gram in sorted(counts):  # a fixed order, since additions on one component do not commute in floating point
        index, sign = _slot(gram)
        row[index] += sign * math.sqrt(counts[gram])
    squares = math.fsum(float(value) * float(value) for value in row[row.nonzero()])
    if squares == 0.0:  # every n-gram met its opposite
        index, sign = _slot(_BLANK)
        row[index] = sign
        return
    row /= math.sqrt(squares)


@lru_cache(maxsize=65_536)
def _slot(gram: str) -> tuple[int, float]:
    number = int.from_bytes(hashlib.blake2b(gram.encode("utf-8", "replace"), digest_size=8).digest(), "little")
    return (number >> 1) % NGRAMS_DIM, 1.0 if number & 1 else -1.0


def _runs(text: str) -> Iterator[str]:
    run = ""
    for char in text:
        if unicodedata.category(char)[0] not in "LNM":
            if run:
                yield run
            run = ""
        elif run and _is_spaceless(run[-1]) != _is_spaceless(char):
            yield run
            run = char
        else:
            run += char
    if run:
        yield run


def _is_spaceless(char: str) -> bool:
    return char >= "\u3040" and any(first <= ord(char) <= last for first, last in _SPACELESS)

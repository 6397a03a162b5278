"""Samples and hand-written parts for tests of the Python interface."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

QUESTION = "Lệ phí thi lại là bao nhiêu?"
PASSAGE = "Lệ phí thi lại là 150.000 đồng."
RIGHT = "Lệ phí thi lại là 150.000 đồng."
WRONG = "Lệ phí thi lại là 95.000 đồng."


def row(id_: str, answer: str = RIGHT, **more: object) -> dict[str, object]:
    """A row in the project's own field names."""
    return {"id": id_, "question": QUESTION, "contexts": [PASSAGE], "answer": answer} | more


def rows(n: int, wrong: int = 0) -> list[dict[str, object]]:
    """n rows that ask different things, of which the first are answered wrongly."""
    questions = [f"Lệ phí thi lại môn {k} là bao nhiêu?" for k in range(n)]
    return [row(f"s{k:02d}", WRONG if k < wrong else RIGHT, question=question) for k, question in enumerate(questions)]


class LoopJudge:
    """A judge of single verdicts by plain rules; sync."""

    def decompose_to_claims(self, answer: str) -> list[str]:
        return [part.strip() for part in answer.rstrip(".").split(";") if part.strip()]

    def is_supported(self, *, claim: str, context: Sequence[str]) -> bool:
        return any(claim in passage for passage in context)

    def split_into_sentences(self, context: Sequence[str]) -> list[str]:
        return [f"{part.strip()}." for passage in context for part in passage.split(".") if part.strip()]

    def is_relevant(self, *, sentence: str, query: str) -> bool:
        return bool(set(query.lower().strip("?").split()) & set(sentence.lower().strip(".").split()))

    def generate_questions(self, *, answer: str, n: int) -> list[str]:
        return [f"{answer} {number}?" for number in range(n)] if answer != "Nothing is known." else []


class AsyncLoopJudge:
    """The same, async."""

    def __init__(self) -> None:
        self._inner = LoopJudge()

    async def decompose_to_claims(self, answer: str) -> list[str]:
        return self._inner.decompose_to_claims(answer)

    async def is_supported(self, *, claim: str, context: Sequence[str]) -> bool:
        return self._inner.is_supported(claim=claim, context=context)

    async def is_relevant(self, *, sentence: str, query: str) -> bool:
        return self._inner.is_relevant(sentence=sentence, query=query)

    async def generate_questions(self, *, answer: str, n: int) -> list[str]:
        return self._inner.generate_questions(answer=answer, n=n)


def embed(text: str) -> list[float]:
    """A vector by letters; never zero."""
    vector = [0.1] * 8
    for word in text.lower().split():
        vector[zlib.crc32(word.encode()) % 8] += 1.0
    return vector

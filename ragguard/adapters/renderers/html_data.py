"""The samples as data for the HTML report's script, no more of them than a browser opens without effort.

Texts of the samples that fell come first, then those with the lowest scores, until the page is full; what is left out
is counted, and the page says where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from ragguard.adapters.renderers.changes import claims_of
from ragguard.adapters.renderers.escaping import brief, clean
from ragguard.adapters.renderers.json import json_text
from ragguard.adapters.renderers.pairs import Pair
from ragguard.core.runs import RunHead
from ragguard.core.samples import Passage, passages_of
from ragguard.core.scores import SampleResult, Score

MOST_BYTES = 24_000_000
LONGEST_TEXT = 100_000
_SHORT_QUESTION = 160
Row = dict[str, Any]


@dataclass
class PageData:
    """What the script gets.

    Attributes:
        rows: The samples as JSON, in the data set's order.
        passages: Each passage once, as `[id, text]`; rows name it by its place.
        without_texts: Samples whose texts are left out.
        left_out: Samples that are left out altogether.
    """

    rows: list[str] = field(default_factory=list)
    passages: list[list[str | None]] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    without_texts: int = 0
    left_out: int = 0


def page_data(pairs: Sequence[Pair], most_bytes: int = MOST_BYTES) -> PageData:
    """Chooses what the page holds."""
    shelf = _Shelf()
    data = PageData(passages=shelf.passages)
    used = 0
    rows: dict[int, str] = {}
    for place in sorted(range(len(pairs)), key=lambda place: _priority(pairs[place])):
        bare = _bare_row(pairs[place])
        row = json_text(_full_row(pairs[place], bare, shelf))
        size = shelf.new_bytes + len(row.encode())
        if used + size > most_bytes:
            shelf.forget()
            row = json_text(bare)
            size = len(row.encode())
            data.without_texts += 1
        if used + size > most_bytes:
            data.left_out += 1
            continue
        shelf.keep()
        used += size
        rows[place] = row
        data.tags.update(bare["tags"])
    data.without_texts -= data.left_out
    data.rows = [rows[place] for place in sorted(rows)]
    return data


def _priority(pair: Pair) -> tuple[bool, float]:
    values = [score.value for score in pair.after.scores if score.value is not None]
    return not pair.regressed, min(values, default=0.0)


class _Shelf:
    """Passages by content, each once; the last sample's can be taken back."""

    def __init__(self) -> None:
        self.passages: list[list[str | None]] = []
        self._places: dict[tuple[str | None, str], int] = {}
        self._kept = 0

    @property
    def new_bytes(self) -> int:
        return sum(len((key or "") + (text or "")) * 2 for key, text in self.passages[self._kept :])

    def place(self, passage: Passage) -> int:
        content = (passage.id, passage.text)
        if content not in self._places:
            self._places[content] = len(self.passages)
            self.passages.append([_text(passage.id), _text(passage.text)])
        return self._places[content]

    def keep(self) -> None:
        self._kept = len(self.passages)

    def forget(self) -> None:
        del self.passages[self._kept :]
        self._places = {content: place for content, place in self._places.items() if place < self._kept}


def _text(text: str | None) -> str | None:
    if text is None:
        return None
    return clean(text) if len(text) <= LONGEST_TEXT else brief(text, LONGEST_TEXT)


def _full_row(pair: Pair, bare: Row, shelf: _Shelf) -> Row:
    row = dict(bare)
    after, before = pair.after, pair.before
    sample = after.sample
    row["scores"] = {score.metric: _score(pair, score, full=True) for score in after.scores}
    if before is not None:
        row["was"] = {score.metric: _told(score) for score in before.scores}
    if sample is None:
        return row
    row["question"] = _text(sample.question)
    row["history"] = [[turn.role, _text(turn.content)] for turn in sample.history]
    row["reference"] = [_text(reference) for reference in sample.reference or ()]
    row["answer"] = _text(after.answer.text) if after.answer else None
    row["passages"] = _passages(after, shelf)
    if before is not None and before.answer is not None:
        row["answer_was"] = _text(before.answer.text)
        row["passages_was"] = _passages(before, shelf)
    return {key: value for key, value in row.items() if value not in ([], None)}


def _bare_row(pair: Pair) -> Row:
    sample = pair.after.sample
    return {
        "id": brief(pair.after.id, 300),
        "line": sample.line if sample else 0,
        "tags": [brief(tag, 60) for tag in pair.after.tags[:20]],
        "question": brief(sample.question, _SHORT_QUESTION) if sample else None,
        "scores": {score.metric: _score(pair, score, full=False) for score in pair.after.scores},
        "fell": {key: [entry.cause, entry.confirmed] for key, entry in pair.regressed.items()},
    }


def _score(pair: Pair, score: Score, *, full: bool) -> Row:
    row: Row = {"status": score.status, "value": score.value, "passed": score.passed}
    before = pair.value_before(score.metric)
    if before is not None:
        row["before"] = before
    return {**row, **_told(score)} if full else row


def _told(score: Score) -> Row:
    """What a score says of itself, for either side."""
    row: Row = {"reason": _text(score.reason), "flags": list(score.flags)}
    row["claims"] = [[_text(claim.text), claim.verdict, claim.passage_rank or 0] for claim in claims_of(score)]
    row["helps"] = _helps(score.details.get("passages"))
    row["questions"] = _questions(score.details.get("questions"))
    row["lists"] = _lists(score)
    return {key: value for key, value in row.items() if value}


def _helps(rows: JsonValue) -> list[list[Any]]:
    """By passage: rank, how many of its sentences help, and of how many; 1 of 1 where it was judged as a whole."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or not isinstance(row.get("rank"), int):
            continue
        relevant, sentences = row.get("relevant", row.get("helps")), row.get("sentences")
        if isinstance(relevant, list):
            found.append([row["rank"], len(relevant), sentences if isinstance(sentences, int) else None])
        elif isinstance(relevant, bool):
            found.append([row["rank"], int(relevant), 1])
    return found


def _questions(rows: JsonValue) -> list[list[Any]]:
    found: list[list[Any]] = []
    for row in rows if isinstance(rows, list) else ():
        question = row.get("question") if isinstance(row, dict) else None
        if isinstance(row, dict) and isinstance(question, str):
            found.append([_text(question), row.get("cosine")])
    return found


def _lists(score: Score) -> list[list[Any]]:
    """Other details that are lists of texts, such as the claims an answer left out."""
    return [
        [key, [_text(text) for text in rows if isinstance(text, str)]]
        for key, rows in score.details.items()
        if isinstance(rows, list) and rows and all(isinstance(text, str) for text in rows)
    ]


def _passages(result: SampleResult, shelf: _Shelf) -> list[list[Any]]:
    if result.sample is None:
        return []
    found: Iterable[Passage] = passages_of(result.sample, result.answer) or ()
    return [[shelf.place(passage), passage.rank, passage.score] for passage in found]


def metric_data(head: RunHead) -> list[Row]:
    """The metrics as the script needs them."""
    return [
        {"id": key, "unit": metric.unit, "higher": metric.direction == "higher", "outcome": metric.outcome}
        for key, metric in head.metrics.items()
    ]

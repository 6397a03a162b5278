"""Turns what a live RAG app gave back into an `Answer`, under the same names and checks as recorded rows."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Mapping
from functools import cache

from pydantic import BaseModel

from ragguard.core.fields import Cell
from ragguard.core.row_values import Reading, RowError
from ragguard.core.rows import RowReader, parse_row
from ragguard.core.samples import Answer

_PASSAGE_IDS = ("id", "chunk_id", "document_id")
_NEVER_NULL = {
    "answer": 'give a text, "" where the app answered nothing',
    "contexts": "give [] where nothing was retrieved",
}


class ReplyError(ValueError):
    """A reply came, but it is not an answer; the message says why."""


def parse(text: bytes) -> object:
    """Parses JSON strictly.

    Raises:
        ReplyError: It is not JSON in UTF-8.
    """
    try:
        return parse_row(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ReplyError(f"is not UTF-8 at byte {error.start}") from error
    except RowError as error:
        raise ReplyError(str(error)) from error


def answer_from_cells(cells: Mapping[str, Cell], latency_s: float) -> Answer:
    """Returns the answer in cells that were picked out of a reply by pointers.

    Args:
        cells: `answer`, and `contexts`, `citations`, `cost_usd` where they are configured.
        latency_s: Seconds that were measured.

    Raises:
        ReplyError: A cell holds something else than it should. Null means not told, which an answer and retrieved
            passages may not be.
    """
    reading = Reading()
    for field, mend in _NEVER_NULL.items():
        if field in cells and cells[field].value is None:
            reading.wrong(cells[field].column, f"is null; {mend}")
    told = {field: cell for field, cell in cells.items() if cell.value is not None}
    text = reading.text(told["answer"].value, told["answer"].column, "give a text") if "answer" in told else ""
    contexts = reading.passages(told.get("contexts"))
    citations = reading.ids(_ids(told.get("citations")))
    cost_usd = reading.number(told.get("cost_usd"), minimum=0)
    try:
        reading.stop_if_wrong()
    except RowError as error:
        raise ReplyError(str(error)) from error
    return Answer(text=text, contexts=contexts, citations=citations, latency_s=latency_s, cost_usd=cost_usd)


def _ids(cell: Cell | None) -> Cell | None:
    """Takes the ids out of cited passages that are given as objects."""
    if cell is None or not isinstance(cell.value, list):
        return cell
    return Cell(cell.column, [_id_in(item) if isinstance(item, dict) else item for item in cell.value])


def _id_in(passage: dict[str, object]) -> object:
    return next((passage[name] for name in _PASSAGE_IDS if passage.get(name) is not None), passage)


@cache
def _reader() -> RowReader:
    return RowReader()


def answer_from_row(row: object) -> tuple[str, Answer]:
    """Returns id and answer of a row such as `{"id": …, "answer": …, "contexts": …}`.

    Raises:
        ReplyError: It holds no answer, or something that cannot be one.
    """
    try:
        return _reader().answer(row)
    except RowError as error:
        raise ReplyError(str(error)) from error


def plain(value: object) -> object:
    """Turns a Python value into what JSON has: models, data classes and tuples become objects and lists.

    Retrievers hand out such passages, and their scores are numpy's numbers.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, numbers.Real):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    if isinstance(value, BaseModel):
        value = value.model_dump()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value

"""Rows to records: a raw JSON row becomes a Sample or an Answer, or a list of all that is wrong with it."""

from __future__ import annotations

import json
import math
from typing import cast

from ragguard.core.fields import ANSWER_FIELDS, SAMPLE_FIELDS, Columns, FieldMapping, Problem, shown_name
from ragguard.core.row_values import NotANumber, Reading, RowError, kind
from ragguard.core.samples import Answer, Sample, derived_id

_MAX_INT_DIGITS = 400


class RowReader:
    """Reads rows under one mapping; build it once for a file."""

    def __init__(self, mapping: FieldMapping | None = None) -> None:
        """Compiles the mapping.

        Raises:
            ConfigError: The mapping names an unknown field, or one field twice.
        """
        self._sample = Columns(SAMPLE_FIELDS, mapping)
        # The mapping was written for the data set: an answers file of our own form must do as well.
        self._answer = Columns(ANSWER_FIELDS, mapping, fall_back=True)

    @property
    def mapped(self) -> dict[str, str]:
        """Our field -> the user's column, for fields that were mapped to one."""
        return {field: column for field, column in self._sample.mapped.items() if column is not None}

    def has_id(self, row: object) -> bool:
        """Says whether a row gives its own id, so that none is derived."""
        return isinstance(row, dict) and row.get(self.mapped.get("id", "id")) is not None

    def sample(self, row: object, line: int = 0) -> Sample:
        """Turns a row of a data set into a sample.

        Args:
            row: A JSON value as `parse_row` gives it.
            line: Its line in the file, from 1.

        Raises:
            RowError: Anything is wrong; all of it is named.
        """
        reading = Reading()
        cells = self._sample.pick(_an_object(row), reading.problems)
        question = reading.required_text(cells, "question")
        history = reading.history(cells.get("history"))
        id_ = reading.id(cells.get("id"))
        answer = reading.answer(cells)
        contexts = reading.passages(cells.get("contexts"))
        reference = reading.texts(cells.get("reference"), blank_is_none=True)
        answerable = reading.flag(cells.get("answerable"))
        keys = reading.texts(cells.get("unanswerable_keys"))
        gold_ids = reading.ids(cells.get("gold_passage_ids"))
        gold_facts = reading.texts(cells.get("gold_facts"))
        tags = reading.texts(cells.get("tags")) or ()
        reading.stop_if_wrong()
        return Sample(
            id=id_ or derived_id(question, history), question=question, history=history, contexts=contexts,
            reference=reference, answerable=answerable, unanswerable_keys=keys, gold_passage_ids=gold_ids,
            gold_facts=gold_facts, tags=tags, line=line, answer=answer,
        )  # fmt: skip

    def answer(self, row: object) -> tuple[str, Answer]:
        """Turns a row of an answers file into a sample's id and its answer.

        The id is derived from question and history where the row has none, as for samples.

        Raises:
            RowError: Anything is wrong; all of it is named.
        """
        reading = Reading()
        cells = self._answer.pick(_an_object(row), reading.problems)
        id_ = reading.id(cells.get("id"))
        if "id" not in cells:
            if "question" in cells:
                id_ = derived_id(reading.required_text(cells, "question"), reading.history(cells.get("history")))
            elif not reading.has_meant("id"):
                reading.wrong("id", "is missing; give the sample's id, or its question where samples have no ids")
        if "answer" not in cells and not reading.has_meant("answer"):
            reading.wrong("answer", 'is missing; give the answer as a text, "" where the app answered nothing')
        answer = reading.answer(cells)
        contexts = reading.passages(cells.get("contexts"))
        reading.stop_if_wrong()
        answer = cast("Answer", answer)
        if answer.contexts is None:
            answer = answer.model_copy(update={"contexts": contexts})
        return cast("str", id_), answer


def parse_row(text: str) -> object:
    """Parses one line of JSON, strictly: no repeated keys; NaN and infinities become `NotANumber`.

    Raises:
        RowError: It is not JSON; the problem says where and what mends it.
    """
    try:
        return json.loads(
            text, parse_constant=NotANumber, parse_float=_float, parse_int=_int, object_pairs_hook=_without_repeats
        )
    except json.JSONDecodeError as error:
        raise RowError([Problem("", _syntax(error))]) from None
    except RecursionError:
        raise RowError([Problem("", "is nested too deeply; a sample is an object of texts and lists")]) from None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RowError([Problem(shown_name(twice), "stands twice in one object; keep one of them")])
    return found


def _float(text: str) -> object:
    value = float(text)
    return value if math.isfinite(value) else NotANumber(text)


def _int(text: str) -> object:
    return int(text) if len(text) <= _MAX_INT_DIGITS else NotANumber(text)


def _syntax(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos :]
    if error.msg.startswith("Extra data"):
        mend = "write one object a line"
    elif error.msg.startswith("Invalid control character"):
        mend = "escape control characters (a line end inside a text is \\n)"
    elif not rest.strip() or error.msg.startswith("Unterminated string"):
        mend = "the line ends too early: write each object on one line, and see whether the file was cut off"
    elif rest.startswith("'"):
        mend = "JSON wants double quotes"
    else:
        mend = "write the row with a JSON library"
    return f"is not JSON at column {error.colno} ({error.msg}); {mend}"


def _an_object(row: object) -> dict[str, object]:
    if not isinstance(row, dict):
        raise RowError([Problem("", f'is {kind(row)}, not an object such as {{"id": "1", "question": "…"}}')])
    return row

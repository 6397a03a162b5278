"""The values of a row: each kind (text, id, number, passages, …) is read by one method that notes what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragguard.core.fields import ANSWER_OBJECT_FIELDS, PASSAGE_FIELDS, TURN_FIELDS, Cell, Columns, Problem, shown
from ragguard.core.quantities import LARGEST
from ragguard.core.samples import Answer, Passage, Turn
from ragguard.core.text import is_blank, without_lone_surrogates

MAX_ID_CHARS = 512
MAX_RANK = 1_000_000

_ROLES = ("user", "assistant", "system")
# A chunk often has its document's id and a reranker's score as well: the closest to the chunk counts.
_PASSAGE = Columns(PASSAGE_FIELDS, first_wins=frozenset({"id", "score"}))
_TURN = Columns(TURN_FIELDS)
_ANSWER_OBJECT = Columns(ANSWER_OBJECT_FIELDS)


class RowError(Exception):
    """A row cannot be used; every problem in it is named."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class NotANumber:
    """What JSON has no number for: NaN, an infinity, or more digits than anybody means."""

    text: str


def kind(value: object) -> str:
    """Says in a reader's words what a value is, with a short text or number shown."""
    if isinstance(value, NotANumber):
        return f"the number {value.text[:20]}, which JSON cannot hold"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return f"a number ({shown(value)})"
    if isinstance(value, str):
        return f"a text ({shown(value)})"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else "null"


class Reading:
    """The reading of one row: each method reads one kind of value and notes what is wrong with it."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def wrong(self, where: str, text: str) -> None:
        """Notes a problem."""
        self.problems.append(Problem(where, text))

    def stop_if_wrong(self) -> None:
        """Raises `RowError` if anything was noted."""
        if self.problems:
            raise RowError(self.problems)

    def has_meant(self, field: str) -> bool:
        """Says whether a misspelt column was noted that probably means the field."""
        return any(problem.meant == field for problem in self.problems)

    def text(self, value: object, where: str, mend: str = "write a text in double quotes") -> str:
        """Reads a text, blank ones too."""
        if isinstance(value, str):
            return _clean(value)
        self.wrong(where, f"is {kind(value)}; {mend}")
        return ""

    def required_text(self, cells: dict[str, Cell], field: str) -> str:
        """Reads a text that must be there and not be blank."""
        cell = cells.get(field)
        if cell is None:
            if not self.has_meant(field):
                self.wrong(field, f"is missing; write it, or map your column: pipeline.fields: {{{field}: <column>}}")
            return ""
        text = self.text(cell.value, cell.column)
        if isinstance(cell.value, str) and is_blank(text):
            self.wrong(cell.column, "is blank; write the question, or remove the row")
        return text

    def name(self, value: object, where: str) -> str:
        """Reads an id: a text or a whole number, on one line."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        text = self.text(value, where, "write it as a text or a whole number")
        if not isinstance(value, str):
            return ""
        if is_blank(text):
            self.wrong(where, "is blank; give an id, or leave the field out")
        elif len(text) > MAX_ID_CHARS:
            self.wrong(where, f"is {len(text)} characters long; at most {MAX_ID_CHARS}")
        elif any(ord(char) < ord(" ") or char in "\x7f\u2028\u2029" for char in value):
            self.wrong(where, "holds a control character; an id is plain text on one line")
        return text

    def id(self, cell: Cell | None) -> str | None:
        """Reads an id, None where there is none."""
        return None if cell is None else self.name(cell.value, cell.column)

    def ids(self, cell: Cell | None) -> tuple[str, ...] | None:
        """Reads an id or a list of ids."""
        if cell is None:
            return None
        values = cell.value if isinstance(cell.value, list) else [cell.value]
        return tuple(self.name(value, f"{cell.column}[{i}]") for i, value in enumerate(values))

    def texts(self, cell: Cell | None, *, blank_is_none: bool = False) -> tuple[str, ...] | None:
        """Reads a text or a list of texts."""
        if cell is None:
            return None
        if not isinstance(cell.value, list):
            text = self.text(cell.value, cell.column, "write a text or a list of texts")
            return None if blank_is_none and is_blank(text) else (text,)
        found = []
        for i, value in enumerate(cell.value):
            text = self.text(value, f"{cell.column}[{i}]")
            if isinstance(value, str) and is_blank(text):
                self.wrong(f"{cell.column}[{i}]", "is blank; remove it")
            found.append(text)
        return tuple(found) or (None if blank_is_none else ())

    def flag(self, cell: Cell | None) -> bool | None:
        """Reads true or false."""
        if cell is None or isinstance(cell.value, bool):
            return None if cell is None else bool(cell.value)
        self.wrong(cell.column, f"is {kind(cell.value)}; write true or false, without quotes")
        return None

    def number(self, cell: Cell | None, *, minimum: float = -math.inf) -> float | None:
        """Reads a number of at least `minimum`, of a size that can be computed with."""
        if cell is None:
            return None
        value = cell.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.wrong(cell.column, f"is {kind(value)}; write a number, or null where it is unknown")
            return None
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not abs(number) <= LARGEST:
            self.wrong(cell.column, "is too large a number; write it smaller, or null where it is unknown")
            return None
        if number < minimum:
            self.wrong(cell.column, f"is {shown(value)}, must be at least {minimum:g}")
            return None
        return number

    def rank(self, cell: Cell | None, place: int) -> int:
        """Reads a rank from 1; the place in the list where none is given."""
        if cell is None:
            return place
        value = cell.value
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_RANK:
            self.wrong(cell.column, f"is {kind(value)}; ranks are whole numbers from 1, or leave it out")
            return place
        return value

    def passages(self, cell: Cell | None) -> tuple[Passage, ...] | None:
        """Reads passages; a single text is one passage."""
        if cell is None:
            return None
        values = [cell.value] if isinstance(cell.value, str) else cell.value
        if not isinstance(values, list):
            self.wrong(cell.column, f"is {kind(cell.value)}; write a list of passages, [] where nothing was retrieved")
            return None
        found = [self._passage(value, f"{cell.column}[{i}]", i + 1) for i, value in enumerate(values)]
        return tuple(passage for passage in found if passage is not None)

    def _passage(self, value: object, where: str, place: int) -> Passage | None:
        if isinstance(value, str):
            return Passage(text=_clean(value), rank=place)
        if not isinstance(value, dict):
            self.wrong(where, f"is {kind(value)}; a passage is a text or an object with a text")
            return None
        cells = self._inside(_PASSAGE, value, where)
        if "text" not in cells:
            self.wrong(f"{where}.text", "is missing; give the passage's text as text, content or page_content")
            return None
        before = len(self.problems)
        found = (
            self.id(cells.get("id")),
            self.text(cells["text"].value, cells["text"].column),
            self.rank(cells.get("rank"), place),
            self.number(cells.get("score")),
            self.flag(cells.get("is_ground_truth")),
        )
        if len(self.problems) > before:
            return None
        id_, text, rank, score, is_ground_truth = found
        return Passage(id=id_, text=text, rank=rank, score=score, is_ground_truth=is_ground_truth)

    def history(self, cell: Cell | None) -> tuple[Turn, ...]:
        """Reads the turns of a conversation."""
        if cell is None:
            return ()
        if not isinstance(cell.value, list):
            self.wrong(cell.column, f"is {kind(cell.value)}; write a list of turns, each with role and content")
            return ()
        found = [self._turn(value, f"{cell.column}[{i}]") for i, value in enumerate(cell.value)]
        return tuple(turn for turn in found if turn is not None)

    def _turn(self, value: object, where: str) -> Turn | None:
        if not isinstance(value, dict):
            self.wrong(where, f'is {kind(value)}; a turn is an object such as {{"role": "user", "content": "…"}}')
            return None
        cells = self._inside(_TURN, value, where)
        for field in TURN_FIELDS:
            if field not in cells:
                self.wrong(f"{where}.{field}", "is missing; a turn has role and content")
        if len(cells) < len(TURN_FIELDS):
            return None
        role = cells["role"].value
        content = self.text(cells["content"].value, cells["content"].column)
        if role not in _ROLES:
            self.wrong(cells["role"].column, f"is {kind(role)}; write user, assistant or system")
            return None
        return Turn(role=role, content=content)

    def answer(self, cells: dict[str, Cell]) -> Answer | None:
        """Reads a recorded answer: a text, or an object with a text; None where the row has none."""
        cell = cells.get("answer")
        if cell is None:
            return None
        contexts = None
        if isinstance(cell.value, dict):
            inner = self._inside(_ANSWER_OBJECT, cell.value, cell.column)
            contexts = self.passages(inner.get("contexts"))
            if "answer" not in inner:
                self.wrong(f"{cell.column}.text", "is missing; give the answer's text")
                return None
            cells = {**cells, **inner}
        text = self.text(cells["answer"].value, cells["answer"].column, "write a text, or an object with a text")
        citations = self.ids(cells.get("citations"))
        latency_s = self.number(cells.get("latency_s"), minimum=0)
        cost_usd = self.number(cells.get("cost_usd"), minimum=0)
        return Answer(text=text, contexts=contexts, citations=citations, latency_s=latency_s, cost_usd=cost_usd)

    def _inside(self, columns: Columns, value: dict[str, object], where: str) -> dict[str, Cell]:
        cells = columns.pick(value, self.problems, f"{where}.")
        return {field: Cell(f"{where}.{cell.column}", cell.value) for field, cell in cells.items()}


def _clean(text: str) -> str:
    """Replaces what files, tables and services cannot hold: lone surrogates and NUL."""
    return str(without_lone_surrogates(text)).replace("\x00", "�")

"""Field names of a user's rows: the aliases we know, the user's own mapping, and misspelt names found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from ragguard.errors import ConfigError

FieldMapping = Mapping[str, str | None]
"""Our field -> the user's column; None: the data has no such field, whatever its columns are called."""

_QUESTION = {
    "id": ("id",),
    "question": ("question", "query", "user_input", "prompt", "input"),
    "history": ("history",),
}
_ANSWER = {
    "answer": ("answer", "response", "content", "output", "actual_output"),
    "contexts": ("contexts", "retrieved_contexts", "retrieved_context", "context", "passages"),
    "citations": ("citations",),
    "latency_s": ("latency_s",),
    "cost_usd": ("cost_usd",),
}
_GOLDEN = {
    "reference": ("reference", "expected_output", "ground_truth", "reference_answer"),
    "answerable": ("answerable",),
    "unanswerable_keys": ("unanswerable_keys",),
    "gold_passage_ids": ("gold_passage_ids",),
    "gold_facts": ("gold_facts",),
    "tags": ("tags",),
}
SAMPLE_FIELDS: Mapping[str, tuple[str, ...]] = {**_QUESTION, **_ANSWER, **_GOLDEN}
ANSWER_FIELDS: Mapping[str, tuple[str, ...]] = {**_QUESTION, **_ANSWER}
ANSWER_OBJECT_FIELDS: Mapping[str, tuple[str, ...]] = {**_ANSWER, "answer": ("text", *_ANSWER["answer"])}
PASSAGE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "chunk_id", "document_id"),
    "text": ("text", "content", "page_content"),
    "score": ("score", "relevance_score"),
    "is_ground_truth": ("is_ground_truth",),
    "rank": ("rank",),
}
TURN_FIELDS: Mapping[str, tuple[str, ...]] = {"role": ("role",), "content": ("content",)}

_EVERY_NAME = frozenset(name for names in SAMPLE_FIELDS.values() for name in names)
_SHORT = 4
"""Names up to this length are alike only when they differ in case, punctuation or a plural s."""
_LONG = 8
"""Names from this length may differ in two places."""
_SHOWN_CHARS = 40
_MOST_LOOKED_AT = 200
"""Unknown names of one object that are compared with ours; each takes a while."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a row.

    Attributes:
        field: Where in the row, in the row's own names, such as `contexts[2].text`; empty for the whole row.
        text: What is wrong and what mends it.
        meant: Our field that a misspelt column probably means; empty otherwise.
    """

    field: str
    text: str
    meant: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


@dataclass(frozen=True)
class Cell:
    """A value and the name of the column that it stood in."""

    column: str
    value: object


class Columns:
    """Which columns each field is read from."""

    def __init__(
        self,
        aliases: Mapping[str, tuple[str, ...]],
        mapping: FieldMapping | None = None,
        *,
        first_wins: frozenset[str] = frozenset(),
        fall_back: bool = False,
    ) -> None:
        """Compiles aliases and mapping.

        Args:
            aliases: Our field -> the column names it may have, the preferred first.
            mapping: Overrules the aliases of the fields it names; a column it names is read for nothing else.
            first_wins: Fields whose aliases may stand side by side with different values; the preferred one counts.
            fall_back: Whether a mapped field may stand under its own names too; the mapped column is preferred.

        Raises:
            ConfigError: The mapping names an unknown field, or one field twice.
        """
        self.mapped = {key: column for key, column in field_mapping(mapping or {}).items() if key in aliases}
        self._first_wins = first_wins | (self.mapped.keys() if fall_back else frozenset())
        claimed = set(self.mapped.values())
        self._names: dict[str, tuple[str, ...]] = {}
        for field, names in aliases.items():
            own = tuple(name for name in names if name not in claimed)
            column = self.mapped.get(field)
            mapped = () if column is None else (column,)
            self._names[field] = (*mapped, *own) if fall_back or field not in self.mapped else mapped
        self._known = frozenset(name for names in self._names.values() for name in names) | _EVERY_NAME

    def pick(self, row: Mapping[str, object], problems: list[Problem], where: str = "") -> dict[str, Cell]:
        """Finds each field's value; nulls count as absent.

        Args:
            row: A JSON object.
            problems: Takes what is wrong: two aliases with different values, names that look misspelt.
            where: Path of the object inside its row, such as `contexts[2].`; empty for the row itself.
        """
        cells = {}
        for field, names in self._names.items():
            given = [Cell(name, row[name]) for name in names if row.get(name) is not None]
            if not given:
                continue
            cells[field] = given[0]
            if len(given) > 1 and field not in self._first_wins:
                text = _conflict(field, given[0], nested=bool(where))
                problems.extend(Problem(where + each.column, text) for each in given if each.value != given[0].value)
        if not row.keys() <= self._known:
            problems.extend(self._misspelt(row, where))
        return cells

    def _misspelt(self, row: Mapping[str, object], where: str) -> Iterator[Problem]:
        unknown = (column for column in row if column not in self._known and len(column) <= _SHOWN_CHARS)
        for column in islice(unknown, _MOST_LOOKED_AT):
            for field, names in self._names.items():
                if (name := alike(column, names)) and not any(each in row for each in names):
                    text = _did_you_mean(field, name, nested=bool(where))
                    yield Problem(where + shown_name(column), text, meant=field)
                    break


def field_mapping(mapping: FieldMapping) -> dict[str, str | None]:
    """Returns the mapping under our own field names; its keys may be aliases.

    Raises:
        ConfigError: A key is no field of ours, or two keys name the same field.
    """
    found: dict[str, str | None] = {}
    for key, column in mapping.items():
        field = next((field for field, names in SAMPLE_FIELDS.items() if key in names), None)
        if field is None:
            guess = alike(key, tuple(sorted(_EVERY_NAME)))
            raise ConfigError(
                f"pipeline.fields: {shown_name(key)} is not a field of a sample",
                mend=f"did you mean {guess}?" if guess else f"the fields are {', '.join(SAMPLE_FIELDS)}",
            )
        if field in found:
            raise ConfigError(
                f"pipeline.fields: {field} is mapped twice, the second time as {shown_name(key)}",
                mend="keep one of the two",
            )
        found[field] = column
    return found


@lru_cache(maxsize=4096)
def alike(name: str, known: tuple[str, ...]) -> str | None:
    """Returns the known name that this one probably misspells, or None.

    Unequal names are alike when they differ in case, punctuation or a plural s only, or by one slip (two in long
    names): a letter missing, added, changed, or two neighbours swapped.
    """
    plain = _plain(name)
    for candidate in known:
        if name != candidate and plain == _plain(candidate):
            return candidate
    if len(name) <= _SHORT or len(name) > 2 * max(map(len, known), default=0):
        return None
    slips = 2 if len(name) >= _LONG else 1
    near = [(distance, candidate) for candidate in known if 0 < (distance := _slips(name, candidate)) <= slips]
    return min(near)[1] if near else None


def _plain(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum()).rstrip("s")


def _slips(left: str, right: str) -> int:
    """Edit distance with swaps of neighbours (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def shown(value: object) -> str:
    """Writes an untrusted value into a message: short, on one line, nothing unprintable."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "a value too large to show"
    text = "".join(char if char.isprintable() else "�" for char in text[: _SHOWN_CHARS + 1])
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def shown_name(name: str) -> str:
    """Writes an untrusted field name into a message: bare where it is a plain word, else quoted."""
    return name if name.isidentifier() and len(name) <= _SHOWN_CHARS else shown(name)


def _conflict(field: str, first: Cell, *, nested: bool) -> str:
    mend = "" if nested else f", or say which: pipeline.fields: {{{field}: {first.column}}}"
    return f"is another name of {first.column}, which has a different value here; keep one of them{mend}"


def _did_you_mean(field: str, name: str, *, nested: bool) -> str:
    question = f"unknown field, did you mean {name}? rename it"
    if nested:
        return question
    no_such = "" if field in _QUESTION else f", or say that there is none: {{{field}: null}}"
    return f"{question}, or map it: pipeline.fields: {{{field}: <column>}}{no_such}"

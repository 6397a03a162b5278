"""Reads answers that people have labelled: good or bad, as true and false, or as several people's votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragguard.adapters.addresses import DEFAULT_ACCESS, redacted
from ragguard.adapters.rowfiles import MAX_DETAILS, RowFile
from ragguard.core.fields import ANSWER_FIELDS, SAMPLE_FIELDS, FieldMapping, shown
from ragguard.core.rows import RowReader
from ragguard.core.samples import Answer, Sample
from ragguard.errors import ConfigError, DatasetError

_KNOWN = frozenset(name for fields in (SAMPLE_FIELDS, ANSWER_FIELDS) for names in fields.values() for name in names)


@dataclass(frozen=True)
class Opinion:
    """One answer, and what people say of it.

    Attributes:
        good: None where nobody says anything, or the votes are tied.
        votes: Each person's, where they are known.
        source: The file that the answer stands in.
    """

    sample: Sample
    answer: Answer
    good: bool | None
    votes: tuple[bool, ...]
    source: str


@dataclass
class _Row:
    """One row with an answer, before its label is read.

    Attributes:
        extra: The columns that are no field of ours: the label is among them.
    """

    sample: Sample
    answer: Answer
    extra: Mapping[str, Any]
    where: str
    source: str


@dataclass(frozen=True)
class Opinions:
    """All answers that were read.

    Attributes:
        label: The field that the labels stood in.
        without_answer: Rows that have no answer to judge.
    """

    label: str
    opinions: tuple[Opinion, ...] = field(repr=False)
    without_answer: int = 0


def read_opinions(
    labelled: str,
    answers: Sequence[str] = (),
    *,
    label: str | None = None,
    good_from: float | None = None,
    fields: FieldMapping | None = None,
) -> Opinions:
    """Reads labelled answers.

    Args:
        labelled: Path or URL of a JSON Lines file of samples, with answers and labels unless `answers` has them.
        answers: Files of answers to these samples, joined by id.
        label: The label's field; where not given, the only field of true and false that is none of ours.
        good_from: For grades: the least grade of a good answer.
        fields: Our field name -> the files' own.

    Raises:
        DatasetError: Rows are wrong, or no answer has a label.
        ConfigError: It is not clear which field is the label, or grades have no `good_from`.
    """
    reader = RowReader(fields)
    samples = _samples(labelled, reader)
    rows, missing = _own_answers(samples, labelled) if not answers else _joined(samples, answers, reader)
    name = label or _only_flag_field(rows)
    return Opinions(name, tuple(_opinions(rows, name, good_from)), missing)


def _samples(uri: str, reader: RowReader) -> list[tuple[int, Sample, Mapping[str, Any]]]:
    file = RowFile(uri, DEFAULT_ACCESS)
    found = [
        (line, sample, extra)
        for line, (sample, extra) in file.read(lambda row, line: (reader.sample(row, line), _extra(row)))
    ]
    file.finish("labelled file")
    return found


def _extra(row: object) -> Mapping[str, Any]:
    return {name: value for name, value in row.items() if name not in _KNOWN} if isinstance(row, dict) else {}


def _own_answers(samples: Iterable[tuple[int, Sample, Mapping[str, Any]]], uri: str) -> tuple[list[_Row], int]:
    """Rows that bring their answer; an id may stand in several of them, one for each answer."""
    name = redacted(uri)
    rows: list[_Row] = []
    missing = 0
    for line, sample, extra in samples:
        if sample.answer is None:
            missing += 1
        else:
            rows.append(_Row(sample, sample.answer, extra, f"{name}:{line}", name))
    return rows, missing


def _joined(
    samples: Sequence[tuple[int, Sample, Mapping[str, Any]]], uris: Sequence[str], reader: RowReader
) -> tuple[list[_Row], int]:
    by_id = {sample.id: (sample, extra) for _, sample, extra in samples}
    if len(by_id) < len(samples):
        raise DatasetError(
            "ids stand twice in the labelled file, so that answers cannot be joined to it",
            mend="give each sample its own id, or put the answers beside the samples",
        )
    rows: list[_Row] = []
    problems: list[str] = []
    missing = 0
    for uri in uris:
        file = RowFile(uri, DEFAULT_ACCESS)
        seen: set[str] = set()
        for line, ((id_, answer), extra) in file.read(lambda row, _: (reader.answer(row), _extra(row))):
            where = f"{file.name}:{line}"
            if id_ in seen or id_ not in by_id:
                problems.append(f"{where}: id: {shown(id_)} {'stands twice' if id_ in seen else 'is no sample'}")
                continue
            seen.add(id_)
            sample, own = by_id[id_]
            rows.append(_Row(sample, answer, {**own, **extra}, where, file.name))
        file.finish("answers file")
        missing += len(by_id) - len(seen)
    _stop(problems)
    return rows, missing


def _only_flag_field(rows: Iterable[_Row]) -> str:
    values: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.extra.items():
            if value is not None:
                values.setdefault(name, set()).add(type(value))
    flags = [name for name, kinds in values.items() if kinds == {bool}]
    if len(flags) == 1:
        return flags[0]
    found = f"several could be: {', '.join(flags)}" if flags else "no field holds true and false"
    raise ConfigError(f"it is not clear which field is the label; {found}", mend="name it with --label")


def _opinions(rows: Iterable[_Row], label: str, good_from: float | None) -> Iterator[Opinion]:
    problems: list[str] = []
    opinions: list[Opinion] = []
    for row in rows:
        try:
            votes = _votes(row.extra.get(label), good_from)
        except ValueError as error:
            problems.append(f"{row.where}: {label}: {error}")
            continue
        opinions.append(Opinion(row.sample, row.answer, _majority(votes), votes, row.source))
    _stop(problems)
    if not any(opinion.votes for opinion in opinions):
        raise DatasetError(f"no answer has a label {label!r}", mend="name the label's field with --label")
    yield from opinions


def _votes(value: object, good_from: float | None) -> tuple[bool, ...]:
    """One person's label, or several people's; nobody's where there is none."""
    if value is None:
        return ()
    return tuple(_vote(each, good_from) for each in (value if isinstance(value, list) else [value]) if each is not None)


def _vote(value: object, good_from: float | None) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        if good_from is None:
            raise ValueError(f"is a grade ({shown(value)}); say with --good-from which is the least good one")
        return value >= good_from
    raise ValueError(f"is {shown(value)}; a label is true or false, a grade, or a list of people's votes")


def _majority(votes: Sequence[bool]) -> bool | None:
    good = sum(votes)
    return None if 2 * good == len(votes) else 2 * good > len(votes)


def _stop(problems: Sequence[str]) -> None:
    if problems:
        more = [f"and {len(problems) - MAX_DETAILS} more"] if len(problems) > MAX_DETAILS else []
        raise DatasetError(
            f"{len(problems)} {'problem' if len(problems) == 1 else 'problems'} in the labelled answers",
            mend="correct the rows named above",
            details=[*problems[:MAX_DETAILS], *more],
        )

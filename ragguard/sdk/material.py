"""Reads what `evaluate` is given: samples and answers in any usual shape, as records, with every mistake named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragguard.adapters.datasets.answers import load_answers
from ragguard.adapters.datasets.jsonl import JsonlDataset
from ragguard.adapters.rowfiles import MAX_DETAILS
from ragguard.core import samples
from ragguard.core.fields import FieldMapping
from ragguard.core.ports import Answered
from ragguard.core.row_values import RowError
from ragguard.core.rows import RowReader
from ragguard.core.samples import Answer
from ragguard.errors import DatasetError
from ragguard.sdk.values import is_row, plain, plain_row, rows_of

NO_ANSWER = "the app gave no answer"


@dataclass(frozen=True)
class Material:
    """What is to be judged.

    Attributes:
        samples: Each with an id of its own.
        answers: One for each sample; an answer of None without a failure: there is none to judge.
        source: Where the samples came from, for a saved run.
    """

    samples: tuple[samples.Sample, ...]
    answers: tuple[Answered, ...]
    source: str = "memory"


def read_material(given: object, answers: object = None, fields: FieldMapping | None = None) -> Material:
    """Reads samples and answers.

    Args:
        given: A sample, many, a data frame, or the path of a JSON Lines file.
        answers: See `evaluate`; None: the samples bring their own.
        fields: Our field -> the rows' own name, where aliases do not do.

    Raises:
        DatasetError: Rows or answers are wrong; all of them are named.
    """
    reader = RowReader(fields)
    source = "memory"
    if isinstance(given, str | os.PathLike):
        loaded = JsonlDataset(uri=os.fspath(given), fields=dict(fields or {})).read()
        source, found = loaded.uri, list(loaded.samples)
    else:
        found = _with_own_ids(_read_rows(_rows(given, "samples"), reader))
    if not found:
        raise DatasetError("evaluate(): there are no samples", mend="give at least one: nothing judged is no pass")
    if answers is None:
        answered = _own_answers(found)
    else:
        by_id = _answers_by_id(answers, [sample.id for sample in found], reader, fields)
        answered = [by_id[sample.id] for sample in found]
    return Material(tuple(found), tuple(answered), source)


def _rows(given: Any, what: str) -> list[Any]:
    if is_row(given):
        return [given]
    frame = rows_of(given)
    if frame is not None:
        return frame
    if isinstance(given, Iterable) and not isinstance(given, bytes):
        return list(given)
    raise DatasetError(
        f"evaluate(): {what} is a {type(given).__name__}",
        mend="give a Sample, a dict, a list or data frame of them, or the path of a JSON Lines file",
    )


def _read_rows(rows: Sequence[Any], reader: RowReader) -> list[tuple[samples.Sample, bool]]:
    """The samples, each with whether it brought its own id."""
    found: list[tuple[samples.Sample, bool]] = []
    problems: list[str] = []
    for place, row in enumerate(rows):
        if isinstance(row, samples.Sample):
            own = row.id != samples.derived_id(row.question, row.history)
            found.append((_core(row), own))
            continue
        try:
            values = plain_row(row)
            found.append((reader.sample(values), reader.has_id(values)))
        except RowError as error:
            problems.extend(f"samples[{place}]: {_told(str(problem))}" for problem in error.problems)
    _stop(problems, "samples")
    return found


def _core(sample: samples.Sample) -> samples.Sample:
    """The plain record of a sample, whatever was derived from it."""
    if type(sample) is samples.Sample:
        return sample
    return samples.Sample(**{field: getattr(sample, field) for field in samples.Sample.model_fields})


def _with_own_ids(found: Iterable[tuple[samples.Sample, bool]]) -> list[samples.Sample]:
    """Tells apart what asks the same question without an id; an id that was given twice is a mistake."""
    seen: dict[str, int] = {}
    twice: list[str] = []
    kept: list[samples.Sample] = []
    for place, (sample, own_id) in enumerate(found):
        count = seen[sample.id] = seen.get(sample.id, 0) + 1
        if count > 1 and own_id:
            twice.append(f"samples[{place}]: id: {sample.id!r} stands already; give each sample its own id")
        kept.append(sample if count == 1 else sample.model_copy(update={"id": f"{sample.id}-{count}"}))
    _stop(twice, "samples")
    return kept


def _own_answers(found: Sequence[samples.Sample]) -> list[Answered]:
    """The answers beside the samples; one that is missing among others is a failure, or it would not count."""
    failure = NO_ANSWER if any(sample.answer is not None for sample in found) else None
    return [Answered(sample.id, sample.answer, None if sample.answer else failure) for sample in found]


def _answers_by_id(
    answers: Any, ids: Sequence[str], reader: RowReader, fields: FieldMapping | None
) -> dict[str, Answered]:
    if isinstance(answers, str | os.PathLike):
        recorded = load_answers(os.fspath(answers), fields)
        found = {id_: Answered(id_, answer) for id_, answer in recorded.items()}
    else:
        pairs = _mapping_pairs(answers) if isinstance(answers, Mapping) else _listed_pairs(answers, ids)
        found = _read_answers(pairs, reader)
    missing = [f"no answer for sample {id_!r}" for id_ in ids if id_ not in found]
    unknown = [f"no sample for answer {id_!r}" for id_ in found if id_ not in set(ids)]
    if not isinstance(answers, str | os.PathLike) or missing:
        _stop([*missing, *unknown], "answers")
    return found


def _mapping_pairs(answers: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    return ((str(id_), answer) for id_, answer in answers.items())


def _listed_pairs(answers: Any, ids: Sequence[str]) -> list[tuple[str, Any]]:
    """Answers in the order of the samples, unless they name the sample's id."""
    rows = [answers] if isinstance(answers, Answer) else _rows(_unpacked(answers), "answers")
    named = [isinstance(row, Mapping) and row.get("id") is not None for row in rows]
    if any(named):
        keys = [
            str(row["id"]) if own else f"answers[{i}]" for i, (row, own) in enumerate(zip(rows, named, strict=True))
        ]
        return list(zip(keys, rows, strict=True))
    if len(rows) != len(ids):
        raise DatasetError(
            f"evaluate(): {len(rows)} answers for {len(ids)} samples",
            mend="give one answer for each sample, in their order, or answers by id",
        )
    return list(zip(ids, rows, strict=True))


def _unpacked(answers: Any) -> Any:
    """A column of a data frame or an array as a list; anything else as it is."""
    return answers.tolist() if callable(getattr(answers, "tolist", None)) else answers


def _read_answers(pairs: Iterable[tuple[str, Any]], reader: RowReader) -> dict[str, Answered]:
    found: dict[str, Answered] = {}
    problems: list[str] = []
    for id_, given in pairs:
        if id_ in found:
            problems.append(f"the answer to {id_!r} stands twice; keep one")
        elif isinstance(given, Answer):
            found[id_] = Answered(id_, given)
        elif plain(given) is None:
            found[id_] = Answered(id_, None, NO_ANSWER)
        else:
            try:
                found[id_] = Answered(id_, reader.answer(_answer_row(id_, plain(given)))[1])
            except RowError as error:
                problems.extend(f"answer to {id_!r}: {_told(str(problem))}" for problem in error.problems)
    _stop(problems, "answers")
    return found


def _answer_row(id_: str, given: object) -> object:
    """A text, an object with a text, or fields as they stand in an answers file."""
    if isinstance(given, dict) and "text" not in given:
        return {**given, "id": id_}
    return {"id": id_, "answer": given}


def _told(problem: str) -> str:
    """A reader's sentence in the words of this interface."""
    return problem.replace("pipeline.fields: {", "fields={")


def _stop(problems: Sequence[str], what: str) -> None:
    if problems:
        more = [f"and {len(problems) - MAX_DETAILS} more"] if len(problems) > MAX_DETAILS else []
        raise DatasetError(
            f"evaluate(): {len(problems)} {'problem' if len(problems) == 1 else 'problems'} in the {what}",
            mend=f"correct the {what} named above",
            details=[*problems[:MAX_DETAILS], *more],
        )

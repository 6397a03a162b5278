"""Tasks longer than a judge's window: split by passages, asked in parts, and their replies merged. Nothing is cut off.

Every part sees the whole question, answer and references, and a run of the passages' sentences in order; numbers in
the parts' replies are brought back to the numbers of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from pydantic import JsonValue

from ragguard.core.tasks import Task

Output = Mapping[str, Any]
_ALIKE = 0.6
_WORST_LAST = ("supported", "contradicted", "absent")


@dataclass(frozen=True)
class Part:
    """One part of a task.

    Attributes:
        task: The task with some of the passages.
        passages: For each of its passages the number in the whole, from 1.
        sentences_before: Sentences of the whole that stand before it.
    """

    task: Task
    passages: tuple[int, ...]
    sentences_before: int

    def whole_passage(self, number: int) -> int:
        """The whole's number of a passage of this part; 0 stays 0."""
        return self.passages[number - 1] if number else 0


def can_split(task: Task) -> bool:
    """Whether a task has passages to split by, and a rule by which its replies are merged."""
    return task.name in _MERGES and _sentence_count(task) > 1


def split(task: Task, pieces: int) -> tuple[Part, ...]:
    """Splits a task by its passages.

    Args:
        task: A task for which `can_split` holds.
        pieces: How many parts are wanted; as many come if there are so many sentences.

    Returns:
        At least two parts of about equal length that together hold every sentence once, in order. A passage is
        divided only where it is longer than a part.
    """
    rows = _passages(task)
    limit = math.ceil(sum(map(_length, rows)) / max(2, pieces))
    parts: list[list[tuple[int, list[str]]]] = [[]]
    room = limit
    for number, sentences in enumerate(rows, 1):
        if parts[-1] and _length(sentences) > room:
            parts.append([])
            room = limit
        for piece in _pieces(sentences, limit):
            if parts[-1] and piece and _length(piece) > room:
                parts.append([])
                room = limit
            parts[-1].append((number, piece))
            room -= _length(piece)
    if len(parts) == 1:  # one long sentence and a short one
        flat = [(number, [sentence]) for number, row in enumerate(rows, 1) for sentence in row]
        parts = [flat[: len(flat) // 2], flat[len(flat) // 2 :]]
    return _as_parts(task, [part for part in parts if part])


def merge(task: Task, parts: Sequence[Part], outputs: Sequence[Output]) -> dict[str, JsonValue]:
    """Merges the accepted replies of the parts into a reply to the whole.

    A claim is supported if any part supports it, else contradicted if any part contradicts it, else absent; lists of
    sentences are joined; a passage that was divided gets its best grade.
    """
    return _MERGES[task.name](parts, outputs)


def _length(sentences: Sequence[str]) -> int:
    return sum(len(sentence.encode()) + 6 for sentence in sentences)


def _passages(task: Task) -> list[list[str]]:
    rows = task.inputs.get("passages")
    return (
        [[str(sentence) for sentence in row] for row in rows if isinstance(row, list)] if isinstance(rows, list) else []
    )


def _sentence_count(task: Task) -> int:
    return sum(map(len, _passages(task)))


def _pieces(sentences: list[str], limit: int) -> list[list[str]]:
    """A passage whole, or, where it is longer than a part, in runs of sentences."""
    if _length(sentences) <= limit:
        return [sentences]
    runs: list[list[str]] = [[]]
    for sentence in sentences:
        if runs[-1] and _length([*runs[-1], sentence]) > limit:
            runs.append([])
        runs[-1].append(sentence)
    return runs


def _as_parts(task: Task, groups: Sequence[Sequence[tuple[int, list[str]]]]) -> tuple[Part, ...]:
    parts = []
    before = 0
    for group in groups:
        joined: dict[int, list[str]] = {}
        for number, sentences in group:
            joined.setdefault(number, []).extend(sentences)
        numbers = tuple(joined)
        inputs: dict[str, JsonValue] = {**task.inputs, "passages": [list[JsonValue](row) for row in joined.values()]}
        if "cites" in inputs:
            inputs["cites"] = _local_cites(inputs["cites"], numbers)
        parts.append(Part(replace(task, inputs=inputs), numbers, before))
        before += sum(map(len, joined.values()))
    return tuple(parts)


def _local_cites(cites: JsonValue, numbers: tuple[int, ...]) -> list[JsonValue]:
    """For each line the cited passages that this part holds, by the part's own numbers."""
    local = {number: index for index, number in enumerate(numbers, 1)}
    rows = cites if isinstance(cites, list) else []
    return [
        [local[n] for n in row if isinstance(n, int) and n in local] if isinstance(row, list) else [] for row in rows
    ]


def _merged_sentences(parts: Sequence[Part], outputs: Sequence[Output]) -> dict[str, JsonValue]:
    return {
        key: [
            part.sentences_before + number
            for part, output in zip(parts, outputs, strict=True)
            for number in output[key]
        ]
        for key in ("relevant", "irrelevant")
    }


def _merged_grades(parts: Sequence[Part], outputs: Sequence[Output]) -> dict[str, JsonValue]:
    best: dict[int, int] = {}
    for part, output in zip(parts, outputs, strict=True):
        for row in output["grades"]:
            number = part.whole_passage(row["passage"])
            best[number] = max(best.get(number, 0), row["grade"])
    return {"grades": [{"passage": number, "grade": grade} for number, grade in sorted(best.items())]}


def _merged_claims(parts: Sequence[Part], outputs: Sequence[Output]) -> dict[str, JsonValue]:
    found: list[list[dict[str, Any]]] = [
        [{**claim, "passage": part.whole_passage(claim["passage"])} for claim in output["claims"]]
        for part, output in zip(parts, outputs, strict=True)
    ]
    lines = sorted({claim["source"] for claims in found for claim in claims} | set(outputs[0]["no_claim"]))
    merged: list[JsonValue] = []
    no_claim: list[JsonValue] = []
    for line in lines:
        versions = [rows for claims in found if (rows := [claim for claim in claims if claim["source"] == line])]
        merged.extend(_one_line(versions)) if versions else no_claim.append(line)
    return {"claims": merged, "no_claim": no_claim}


def _one_line(versions: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Merges the parts' claims of one line: a part that supports all of it settles it, else claim by claim."""
    for claims in versions:
        if all(claim["verdict"] == "supported" for claim in claims):
            return claims
    finest = max(versions, key=len)
    return [
        min(_same_claims(claim, index, finest, versions), key=lambda one: _WORST_LAST.index(one["verdict"]))
        | {"claim": claim["claim"]}
        for index, claim in enumerate(finest)
    ]


def _same_claims(
    claim: dict[str, Any], index: int, finest: list[dict[str, Any]], versions: Sequence[list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The claim as each part tells it: in the same place where a part tells as many, else by the likest words."""
    same = []
    for claims in versions:
        if len(claims) == len(finest):
            same.append(claims[index])
            continue
        likeness = [SequenceMatcher(None, claim["claim"], other["claim"]).ratio() for other in claims]
        if max(likeness) >= _ALIKE:
            same.append(claims[likeness.index(max(likeness))])
    return same


def _merged_reference(parts: Sequence[Part], outputs: Sequence[Output]) -> dict[str, JsonValue]:
    helps: dict[int, set[int]] = {}
    for part, output in zip(parts, outputs, strict=True):
        for row in output["passages"]:
            helps.setdefault(part.whole_passage(row["passage"]), set()).update(row["helps"])
    passages: list[JsonValue] = [
        {"passage": number, "helps": list[JsonValue](sorted(found))} for number, found in sorted(helps.items())
    ]
    return {**_merged_claims(parts, outputs), "passages": passages}


_MERGES: dict[str, Callable[[Sequence[Part], Sequence[Output]], dict[str, JsonValue]]] = {
    "claims": _merged_claims,
    "citations": _merged_claims,
    "sentences": _merged_sentences,
    "passages_a": _merged_grades,
    "passages_b": _merged_grades,
    "reference": _merged_reference,
}

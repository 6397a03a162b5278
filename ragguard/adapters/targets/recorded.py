"""Answers that were recorded before: beside the samples, or in a file of their own, joined by id."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final, Literal

from pydantic import Field, SkipValidation
from pydantic.json_schema import SkipJsonSchema

from ragguard.adapters.targets.settings import TargetSettings
from ragguard.adapters.targets.wording import excerpt
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer, Sample
from ragguard.errors import DatasetError

_SHOWN: Final = 20
_COMPARED: Final = 2_000  # ids looked at for one "did you mean"
_LONGEST_COMPARED: Final = 200  # characters; comparing takes time in their square


class RecordedTarget(TargetSettings):
    """Recorded answers.

    Attributes:
        answers: Answers by sample id, all that count; None: each sample brings its own.
        known_ids: Ids of the whole data set, so that answers to samples that were not selected are no error.
    """

    type: Literal["recorded"] = "recorded"
    answers: SkipValidation[SkipJsonSchema[Mapping[str, Answer] | None]] = Field(default=None, exclude=True, repr=False)
    known_ids: SkipValidation[SkipJsonSchema[AbstractSet[str]]] = Field(default=frozenset(), exclude=True, repr=False)

    async def answer_all(self, samples: Sequence[Sample]) -> AsyncIterator[Answered]:
        """Yields each sample's recorded answer, in the order of the samples.

        Raises:
            DatasetError: A sample has no answer, or an answer no sample; nothing is yielded then.
        """
        asked: set[str] = set()
        missing = []
        for sample in samples:
            asked.add(sample.id)
            if sample.answer is None if self.answers is None else sample.id not in self.answers:
                missing.append(sample.id)
        unknown = [id_ for id_ in self.answers or () if id_ not in asked and id_ not in self.known_ids]
        if missing or unknown:
            raise self._mismatch(missing, unknown, len(samples))
        for sample in samples:
            yield Answered(sample.id, self._answer(sample))

    def _answer(self, sample: Sample) -> Answer | None:
        return sample.answer if self.answers is None else self.answers.get(sample.id)

    def _mismatch(self, missing: Sequence[str], unknown: Sequence[str], n_samples: int) -> DatasetError:
        parts = []
        if missing:
            parts.append(f"{len(missing)} of {n_samples} samples have no recorded answer")
        if unknown:
            parts.append(f"{len(unknown)} answers belong to no sample")
        details = [
            *_lines("no answer for sample", missing, unknown),
            *_lines("no sample for answer", unknown, missing),
        ]
        return DatasetError("; ".join(parts), mend=self._mend(missing, n_samples), details=details)

    def _mend(self, missing: Sequence[str], n_samples: int) -> str:
        if self.answers is None:
            return "put an `answer` into these rows, give an answers file, or set `pipeline.target` to the live app"
        if len(missing) == n_samples:
            return "no id is common to both: check that the answers belong to this data set"
        return "give exactly one answer row for each sample, under the sample's id"


def _lines(what: str, ids: Sequence[str], others: Sequence[str]) -> list[str]:
    """One line for each id, at most 20, with the id of the other side that it may have meant."""
    compared = list(islice((other for other in others if len(other) <= _LONGEST_COMPARED), _COMPARED))
    lines = []
    for id_ in ids[:_SHOWN]:
        near = difflib.get_close_matches(id_[:_LONGEST_COMPARED], compared, n=1, cutoff=0.7)
        hint = f" (did you mean `{excerpt(near[0], 80)}`?)" if near else ""
        lines.append(f"{what} `{excerpt(id_, 80)}`{hint}")
    if len(ids) > _SHOWN:
        lines.append(f"… and {len(ids) - _SHOWN} more")
    return lines

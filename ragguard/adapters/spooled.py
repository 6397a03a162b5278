"""What is spooled: samples, answers, and what a baseline already knows, as compact JSON."""

from __future__ import annotations

from typing import TypeVar

from ragguard.adapters.runfiles import record_bytes
from ragguard.adapters.spool import Spool
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer, Record, Sample
from ragguard.core.scores import Judgment, SampleResult, Score
from ragguard.core.work import Carried

R = TypeVar("R", bound=Record)


class CarriedRecord(Record):
    """What an earlier run knows of a sample."""

    judgments: tuple[Judgment, ...] = ()
    scores: tuple[Score, ...] = ()

    @classmethod
    def of(cls, carried: Carried) -> CarriedRecord:
        """From the values by key."""
        return cls.model_construct(judgments=tuple(carried.judgments.values()), scores=tuple(carried.scores.values()))

    def carried(self) -> Carried:
        """The values by key again."""
        return Carried(
            judgments={judgment.key: judgment for judgment in self.judgments},
            scores={score.score_key: score for score in self.scores},
        )


class _AnsweredRecord(Record):
    id: str
    answer: Answer | None = None
    failure: str | None = None


def records(kind: type[R]) -> Spool[R]:
    """A spool of records of one kind."""
    return Spool(record_bytes, kind.model_validate_json)


def sample_spool() -> Spool[Sample]:
    """Samples by id."""
    return records(Sample)


def answer_spool() -> Spool[Answer]:
    """Recorded answers by id."""
    return records(Answer)


def result_spool() -> Spool[SampleResult]:
    """Results by id."""
    return records(SampleResult)


def answered_spool() -> Spool[Answered]:
    """What a target gave, by id."""
    return Spool(
        lambda one: record_bytes(_AnsweredRecord.model_construct(id=one.id, answer=one.answer, failure=one.failure)),
        lambda data: _answered(_AnsweredRecord.model_validate_json(data)),
    )


def carried_spool() -> Spool[Carried]:
    """What can be carried over, by sample id."""
    return Spool(
        lambda carried: record_bytes(CarriedRecord.of(carried)),
        lambda data: CarriedRecord.model_validate_json(data).carried(),
    )


def _answered(record: _AnsweredRecord) -> Answered:
    return Answered(record.id, record.answer, record.failure)

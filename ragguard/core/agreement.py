"""How far judges, or repeats of one judge, agree on the same task: the share of single verdicts on which they differ.

Units are what a verdict stands for: a sentence, a line of the answer, a passage. A line counts as supported when all
its claims are, since judges cut a line into claims in different ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragguard.core.runs import TaskAgreement
from ragguard.core.scores import Judgment, SampleResult, Score
from ragguard.core.work import CANDIDATE

Output = Mapping[str, Any]


@dataclass(frozen=True)
class Agreement:
    """Verdicts that two or more judgments gave on the same unit.

    Attributes:
        units: Units that at least two judgments speak of.
        differing: Units on which not all of them agree.
    """

    units: int = 0
    differing: int = 0

    @property
    def flip_rate(self) -> float | None:
        """Units that differ / units, a fraction in [0, 1]; None where there is nothing to compare."""
        return self.differing / self.units if self.units else None

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.units + other.units, self.differing + other.differing)


def unit_verdicts(output: Output) -> dict[str, Any]:
    """Returns a reply's verdicts by unit, whatever the task: its lists are read by their shape."""
    verdicts: dict[str, Any] = {}
    for field, value in output.items():
        if isinstance(value, bool | int) or field == "verdict":
            verdicts[field] = value
        elif isinstance(value, list) and all(isinstance(item, int) for item in value):
            verdicts.update({f"item {number}": field for number in value})
        elif isinstance(value, list):
            _add_rows(verdicts, field, value)
    return verdicts


def _add_rows(verdicts: dict[str, Any], field: str, rows: Sequence[Any]) -> None:
    for row in rows:
        if not isinstance(row, dict):
            continue
        if "source" in row:
            unit, good = (f"{field} {row['source']}" if field != "claims" else f"item {row['source']}"), _is_good(row)
            verdicts[unit] = good and verdicts.get(unit, True)
        elif "passage" in row:
            rest = {key: value for key, value in row.items() if key != "passage"}
            verdicts[f"{field} {row['passage']}"] = rest


def _is_good(claim: Mapping[str, Any]) -> bool:
    return claim.get("verdict") == "supported" or bool(claim.get("in_references")) or claim.get("in_answer") is True


def agreement(outputs: Iterable[Output]) -> Agreement:
    """Compares the replies of several judges or repeats to one task."""
    by_unit: dict[str, list[Any]] = {}
    for output in outputs:
        for unit, verdict in unit_verdicts(output).items():
            by_unit.setdefault(unit, []).append(verdict)
    compared = [verdicts for verdicts in by_unit.values() if len(verdicts) > 1]
    return Agreement(len(compared), sum(any(one != verdicts[0] for one in verdicts) for verdicts in compared))


@dataclass
class _Counts:
    judges: Agreement = Agreement()
    repeats: Agreement = Agreement()
    verdicts: int = 0
    tied: int = 0


class AgreementMeter:
    """Adds up, task by task, how far a run's judges differ from each other, and each from itself.

    Only the candidate's first look is counted: later looks judge samples that were chosen because they differed.
    """

    def __init__(self) -> None:
        self._by_task: dict[str, _Counts] = {}

    def add(self, result: SampleResult) -> None:
        """Counts one result; one of a later look, or of the baseline, is left out."""
        if result.side != CANDIDATE or result.session is not None:
            return
        by_task: dict[str, list[Judgment]] = {}
        for judgment in result.judgments:
            if judgment.status == "ok":
                by_task.setdefault(judgment.task, []).append(judgment)
        for task, judgments in by_task.items():
            if len(judgments) > 1:
                counts = self._by_task.setdefault(task, _Counts())
                counts.judges += _between_judges(judgments)
                counts.repeats += _between_repeats(judgments)
        for task, verdicts, tied in _votes(result.scores):
            counts = self._by_task.setdefault(task, _Counts())
            counts.verdicts += verdicts
            counts.tied += tied

    @property
    def by_task(self) -> dict[str, TaskAgreement]:
        """By task; tasks that were judged once only are left out."""
        return {task: _told(counts) for task, counts in sorted(self._by_task.items())}


def _told(counts: _Counts) -> TaskAgreement:
    return TaskAgreement(
        n_compared=counts.judges.units,
        n_differing=counts.judges.differing,
        disagreement=counts.judges.flip_rate,
        n_repeated=counts.repeats.units,
        n_flipped=counts.repeats.differing,
        flip_rate=counts.repeats.flip_rate,
        n_voted=counts.verdicts,
        n_tied=counts.tied,
    )


def _between_judges(judgments: Sequence[Judgment]) -> Agreement:
    """Compares each judge's first reply; one model with two settings is two judges."""
    firsts = []
    for replies in _by_model(judgments).values():
        first = min(judgment.repeat for judgment in replies)
        firsts += [judgment.output for judgment in replies if judgment.repeat == first]
    return agreement(firsts)


def _between_repeats(judgments: Sequence[Judgment]) -> Agreement:
    """Compares each judge with itself; judges of one model cannot be told apart and are left out."""
    found = Agreement()
    for replies in _by_model(judgments).values():
        if len({judgment.repeat for judgment in replies}) == len(replies):
            found += agreement(judgment.output for judgment in replies)
    return found


def _by_model(judgments: Iterable[Judgment]) -> dict[str, list[Judgment]]:
    found: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        found.setdefault(judgment.model, []).append(judgment)
    return found


def _votes(scores: Iterable[Score]) -> Iterator[tuple[str, int, int]]:
    """Task, verdicts and ties of each vote; one that several metrics share is told once."""
    seen: set[str] = set()
    for score in scores:
        votes = score.details.get("votes")
        for task, ballot in votes.items() if isinstance(votes, dict) else ():
            if task not in seen and isinstance(ballot, dict):
                seen.add(task)
                yield task, _whole(ballot.get("verdicts")), _whole(ballot.get("tied"))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0

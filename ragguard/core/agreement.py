"""How far judges, or repeats of one judge, agree on the same task: the share of single verdicts on which they differ.

Units are what a verdict stands for: a sentence, a line of the answer, a passage. A line counts as supported when all
its claims are, since judges cut a line into claims in different ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragguard.core.scores import Judgment

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


def agreement_by_task(samples: Iterable[Iterable[Judgment]]) -> dict[str, Agreement]:
    """Adds up the agreement of the accepted judgments, task by task.

    Args:
        samples: For each sample its judgments, of all judges and repeats.

    Returns:
        By task; tasks that were judged once only are left out.
    """
    totals: dict[str, Agreement] = {}
    for judgments in samples:
        outputs: dict[str, list[Output]] = {}
        for judgment in judgments:
            if judgment.status == "ok":
                outputs.setdefault(judgment.task, []).append(judgment.output)
        for task, replies in outputs.items():
            if len(replies) > 1:
                totals[task] = totals.get(task, Agreement()) + agreement(replies)
    return totals

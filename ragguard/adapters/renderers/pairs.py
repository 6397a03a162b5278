"""Each candidate sample beside what the run kept of it in the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragguard.core.report import Report
from ragguard.core.runs import RegressedSample
from ragguard.core.scores import SampleResult
from ragguard.core.work import CANDIDATE


@dataclass(frozen=True)
class Pair:
    """One sample.

    Attributes:
        after: The candidate's result at look 1.
        before: The newest baseline run's, as far as it was kept.
        regressed: By metric, the entry of a sample that fell.
    """

    after: SampleResult
    before: SampleResult | None
    regressed: dict[str, RegressedSample]

    def change(self, metric: str) -> float | None:
        """After minus before; None where one of them is not known."""
        now, was = self.value(metric), self.value_before(metric)
        return now - was if now is not None and was is not None else None

    def value(self, metric: str) -> float | None:
        """The candidate's value."""
        score = self.after.score(metric)
        return score.value if score else None

    def value_before(self, metric: str) -> float | None:
        """The baseline's value; of a regressed sample the mean over all baseline runs."""
        if metric in self.regressed:
            return self.regressed[metric].before
        score = self.before.score(metric) if self.before else None
        return score.value if score else None


def pairs(report: Report) -> Iterator[Pair]:
    """Yields the candidate's samples in their order."""
    kept = _baseline_results(report)
    fell: dict[str, dict[str, RegressedSample]] = {}
    for detail in report.regressed:
        fell.setdefault(detail.entry.id, {})[detail.entry.metric] = detail.entry
    for result in report.results():
        if result.side == CANDIDATE and result.session is None:
            yield Pair(result, kept.get(result.id), fell.get(result.id, {}))


def _baseline_results(report: Report) -> dict[str, SampleResult]:
    """By sample id; of several runs the newest counts."""
    order = {run_id: place for place, run_id in enumerate(report.head.baseline_run_ids)}
    found: dict[str, tuple[int, SampleResult]] = {}
    for result in report.results():
        if result.side == CANDIDATE or result.session is not None:
            continue
        place = order.get(result.side, len(order))
        if result.id not in found or place < found[result.id][0]:
            found[result.id] = (place, result)
    return {key: result for key, (_, result) in found.items()}

"""The gate alone, on two saved runs: nothing is judged, nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragguard.app.comparison import compare
from ragguard.app.heads import coverage, summaries
from ragguard.app.ledger import Asked, Ledger, Traits, cluster_of
from ragguard.core.baseline import Baseline, BaselineRun
from ragguard.core.decisions import Decision
from ragguard.core.gate import step
from ragguard.core.policy import GatePolicy
from ragguard.core.report import Report, Results
from ragguard.core.runs import RunHead, Selection
from ragguard.core.scores import SampleResult
from ragguard.core.selection import selects
from ragguard.core.work import CANDIDATE
from ragguard.errors import RunFileError

_FIRST_LOOKS = (
    "Compared by the first looks alone: the candidate's run had judged some samples again, beside the baseline it had "
    "then, and what it saw does not count here."
)


@dataclass(frozen=True)
class SavedRun:
    """A run as it lies in a folder.

    Attributes:
        results: Gives its sample results, each time anew.
    """

    head: RunHead
    results: Results

    def first_looks(self) -> Iterator[SampleResult]:
        """The candidate's own look-1 results."""
        for result in self.results():
            if result.side == CANDIDATE and result.session is None:
                yield result


def compare_saved(base: SavedRun, candidate: SavedRun, policy: GatePolicy, *, pull_request: bool = False) -> Report:
    """Judges a saved run against another one.

    Nothing can be judged again offline, so the staged rule has one look and says what that cannot guard against.

    Args:
        base: The baseline.
        candidate: The run to judge.
        policy: The gate's settings; `looks` is taken as 1.
        pull_request: Whether not being comparable blocks.

    Raises:
        RunFileError: The two runs have no sample in common, or one does not tell how its metrics were made.
    """
    for run in (base, candidate):
        if unknown := sorted(run.head.metrics.keys() - run.head.fingerprints.keys()):
            raise RunFileError(
                f"{run.head.run_id}: does not tell how its metric {unknown[0]} was made",
                mend="compare runs as `ragguard run` wrote them",
            )
    policy = policy.model_copy(update={"looks": 1})
    baseline = BaselineRun.of(base.head, base.results(), carry_over=False)
    results = list(_light(candidate.first_looks(), policy.cluster_by))
    if not baseline.digests.keys() & {result.id for result, _ in results}:
        raise RunFileError(
            f"{base.head.run_id} and {candidate.head.run_id} have no sample in common",
            mend="compare two runs of the same data set; ids must be the same",
        )
    ledger = _ledger(results, candidate.head, Baseline((baseline,)))
    looked = candidate.head.comparison.looks
    evidence = ledger.evidence()
    decision = step(evidence, policy)
    if not isinstance(decision, Decision):
        raise TypeError("a single look asks for no other")
    head = candidate.head.model_copy(
        update={
            "policy": policy.model_dump(mode="json"),
            "metrics": summaries(decision, candidate.head.metrics, policy),
            "outcome": decision.outcome,
            "reasons": decision.reasons,
            "notices": (*candidate.head.notices, *((_FIRST_LOOKS,) if looked else ())),
            "notes": decision.notes,
            "comparison": compare(ledger, evidence, decision, (), {}),
            "baseline_run_ids": (base.head.run_id,),
            "coverage": coverage(decision),
            "pinned": None,
            "exit_code": int(code := decision.exit_code(policy, pull_request=pull_request)),
        }
    )
    return Report.of(head, lambda: _both(base, candidate), exit_code=code)


def _both(base: SavedRun, candidate: SavedRun) -> Iterator[SampleResult]:
    yield from candidate.first_looks()
    for result in base.first_looks():
        yield result.model_copy(update={"side": base.head.run_id})


def _light(results: Iterable[SampleResult], cluster_by: str) -> Iterator[tuple[SampleResult, str | None]]:
    """Results without their judgments and texts, each with its cluster; None where its sample is not stored."""
    for result in results:
        cluster = cluster_of(result.sample, cluster_by) if result.sample is not None else None
        yield result.model_copy(update={"judgments": (), "sample": None, "answer": None}), cluster


def _ledger(results: list[tuple[SampleResult, str | None]], head: RunHead, baseline: Baseline) -> Ledger:
    selection: Selection = head.dataset.selection
    ledger = Ledger(
        asked={result.id: Asked(result.sample_digest, 0, cluster) for result, cluster in results},
        traits={name: Traits(metric.direction, metric.aggregate) for name, metric in head.metrics.items()},
        fingerprints=head.fingerprints,
        baseline=baseline,
        would_select=lambda id_, tags: selects(id_, tags, selection, None),
    )
    for result, _ in results:
        ledger.add(result)
    return ledger

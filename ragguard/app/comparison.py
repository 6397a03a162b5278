"""What the report tells of candidate and baseline besides the gate's numbers: which samples fell, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ragguard.app.ledger import Ledger
from ragguard.core.decisions import Decision, LookRequest
from ragguard.core.evidence import MetricEvidence
from ragguard.core.regressions import regressed_samples
from ragguard.core.runs import Cause, Comparison, IdList, LookNote, RegressedSample

MOST_LISTED = 50
_MOST_IDS = 20


def attribute(before: tuple[str, str, str | None] | None, after: tuple[str, str, str | None] | None) -> Cause:
    """Says what a fall can be blamed on, from (sample, passages, answer) digests.

    Passages changed: retrieval. Passages equal, answer changed: generation. Both equal: the judge, by noise or drift.
    """
    if before is None or after is None:
        return "unknown"
    if before[1] != after[1]:
        return "retrieval"
    return "generation" if before[2] != after[2] else "judge"


def compare(
    ledger: Ledger,
    evidence: Mapping[str, MetricEvidence],
    decision: Decision,
    looks: Iterable[LookRequest],
    rescored: Mapping[str, str],
) -> Comparison:
    """Puts the comparison together; empty where there is no baseline."""
    newest = ledger.baseline.newest
    if newest is None:
        return Comparison()
    fallen = _fallen(ledger, evidence, decision)
    ids = ledger.asked.keys()
    unpaired = [id_ for id_ in ids & newest.digests.keys() if not ledger.is_paired(id_, newest)]
    gone = [
        id_ for id_ in newest.digests if id_ not in ids and ledger.would_select(id_, newest.tags.get(id_, ()))
    ]  # fmt: skip
    return Comparison(
        regressed=tuple(fallen[:MOST_LISTED]),
        n_regressed=len(fallen),
        causes=dict(Counter(entry.cause for entry in fallen)),
        added=_listed([id_ for id_ in ids if id_ not in newest.digests]),
        removed=_listed(gone),
        changed=_listed(unpaired),
        rescored=dict(rescored),
        looks=tuple(
            LookNote(look=request.look, metric=metric, n_samples=len(plan.ids), why=why)
            for request in looks
            for (metric, plan), why in zip(request.metrics.items(), request.reasons, strict=True)
        ),
    )


def _fallen(ledger: Ledger, evidence: Mapping[str, MetricEvidence], decision: Decision) -> list[RegressedSample]:
    """Regressed samples of the metrics that did not simply pass, the worst first; all metrics' where all passed."""
    newest = ledger.baseline.newest
    found: list[RegressedSample] = []
    for metric, seen in evidence.items():
        if not _worth_listing(decision, metric) or not len(seen.ids):
            continue
        for sample in regressed_samples(seen).samples:
            before = newest.digests.get(sample.id) if newest is not None else None
            found.append(
                RegressedSample(
                    id=sample.id,
                    metric=metric,
                    before=sample.before,
                    after=sample.after,
                    cause=attribute(before, ledger.digests.get(sample.id)),
                    confirmed=sample.confirmed,
                    line=ledger.asked[sample.id].line,
                )
            )
    return sorted(found, key=lambda entry: (entry.after - entry.before, entry.metric, entry.id))


def _worth_listing(decision: Decision, metric: str) -> bool:
    judged = decision.metrics.get(metric)
    return judged is not None and (judged.outcome in {"failed", "inconclusive"} or judged.small_real_drop)


def _listed(ids: Sequence[str]) -> IdList:
    return IdList(count=len(ids), first=tuple(sorted(ids)[:_MOST_IDS]))

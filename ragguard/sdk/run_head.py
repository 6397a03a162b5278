"""An evaluation as the head of a run, so that it can be kept, compared, rendered and explained like any other."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import ragguard
from ragguard.app.heads import coverage, summaries
from ragguard.app.ledger import Ledger, asked_samples, traits_of
from ragguard.app.usage import UsageMeter
from ragguard.core.agreement import AgreementMeter
from ragguard.core.baseline import Baseline
from ragguard.core.decisions import Decision
from ragguard.core.digests import digest
from ragguard.core.gate import step
from ragguard.core.metrics.base import Metric
from ragguard.core.policy import GatePolicy
from ragguard.core.runs import DatasetInfo, Execution, Fingerprint, RunHead, Usage
from ragguard.core.scores import SampleResult
from ragguard.core.voting import VoteRule


@dataclass(frozen=True)
class RunFacts:
    """Where an evaluation came from.

    Attributes:
        started_at: With time zone.
        source: What stands for the data set's address.
        embedder_model: None where no metric embeds.
    """

    run_id: str
    started_at: datetime
    finished_at: datetime
    source: str
    fingerprints: Mapping[str, Fingerprint]
    judge_models: tuple[str, ...] = ()
    embedder_model: str | None = None
    vote: VoteRule = "mean"


def head_of(
    facts: RunFacts,
    records: Sequence[SampleResult],
    metrics: Sequence[Metric],
    notices: Sequence[str],
    usage: Usage,
    min_coverage: float,
) -> RunHead:
    """Puts the head together; without a baseline nothing can have fallen."""
    policy = GatePolicy(looks=1, min_coverage=min_coverage)
    decision = _decision(facts, records, metrics, policy)
    meter, agreement = UsageMeter(), AgreementMeter()
    for record in records:
        meter.add(record)
        agreement.add(record)
    return RunHead(
        run_id=facts.run_id,
        suite="default",
        event="local",
        created_at=facts.started_at,
        dataset=_dataset(facts.source, records),
        answers_digest=digest([[record.id, record.answer_digest] for record in records]),
        judge_models=facts.judge_models,
        vote=facts.vote,
        embedder_model=facts.embedder_model,
        fingerprints=dict(facts.fingerprints),
        policy=policy.model_dump(mode="json"),
        metrics=summaries(decision, {metric.id: metric for metric in metrics}, policy),
        outcome=decision.outcome,
        reasons=decision.reasons,
        notices=tuple(notices),
        notes=decision.notes,
        coverage=coverage(decision),
        usage=usage,
        usage_by_task=meter.by_task,
        agreement_by_task=agreement.by_task,
        execution=Execution(
            started_at=facts.started_at,
            finished_at=facts.finished_at,
            versions={"ragguard": ragguard.__version__, "python": platform.python_version()},
        ),
    )


def _decision(
    facts: RunFacts, records: Sequence[SampleResult], metrics: Sequence[Metric], policy: GatePolicy
) -> Decision:
    ledger = Ledger(
        asked=asked_samples([record.sample for record in records if record.sample is not None]),
        traits=traits_of(metrics),
        fingerprints=facts.fingerprints,
        baseline=Baseline(),
        would_select=lambda _id, _tags: True,
    )
    for record in records:
        ledger.add(record)
    decision = step(ledger.evidence(), policy)
    if not isinstance(decision, Decision):
        raise TypeError("a single look asks for no other")
    return decision


def _dataset(source: str, records: Sequence[SampleResult]) -> DatasetInfo:
    ids = sorted(record.id for record in records)
    return DatasetInfo(
        uri=source,
        digest=digest([record.sample_digest for record in records]),
        ids_digest=digest(ids),
        n_total=len(ids),
        n_selected=len(ids),
    )

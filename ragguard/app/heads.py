"""Writes the head of a run: the decision, the numbers and the facts, as run.json holds them."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import ragguard
from ragguard.adapters.redaction import Redactor
from ragguard.app.evaluate import Evaluation
from ragguard.app.parts import Parts
from ragguard.app.request import RunRequest
from ragguard.app.verdicts import Verdict
from ragguard.core.decisions import Decision, MetricDecision
from ragguard.core.digests import digest
from ragguard.core.metrics.base import Metric
from ragguard.core.policy import GatePolicy
from ragguard.core.runs import Execution, MetricSummary, Observed, PinnedComparison, RunHead
from ragguard.core.samples import answer_digest


def summaries(
    decision: Decision, metrics: Mapping[str, Metric | MetricSummary], policy: GatePolicy
) -> dict[str, MetricSummary]:
    """One summary for each metric of the decision, in its order.

    Args:
        decision: The gate's decision.
        metrics: By id, the configured metrics, or their summaries in a saved run.
        policy: The gate's settings.
    """
    return {name: _summary(found, metrics.get(name), policy) for name, found in decision.metrics.items()}


def _summary(found: MetricDecision, metric: Metric | MetricSummary | None, policy: GatePolicy) -> MetricSummary:
    aggregate = metric.aggregate if metric is not None else "mean"
    return MetricSummary(
        unit=metric.unit if metric is not None else "fraction",
        direction=metric.direction if metric is not None else "higher",
        aggregate=aggregate,
        mean=found.mean,
        baseline_mean=found.baseline_mean,
        delta=found.delta,
        ci_low=found.ci_low,
        ci_high=found.ci_high,
        p_value=found.p_value,
        mdd=found.mdd,
        samples_to_halve_mdd=found.samples_to_halve_mdd,
        mdd_of_three_runs=found.mdd_of_three_runs,
        tolerance=found.tolerance,
        tolerance_relative=policy.tolerance_of(found.metric, aggregate)[1],
        slo_min=policy.slo_minima.get(found.metric),
        n_scored=found.n_scored,
        n_failed=found.n_failed,
        n_not_applicable=found.n_not_applicable,
        n_pairs=found.n_pairs,
        look=found.look,
        m=found.m,
        outcome=found.outcome,
        reason=found.reason,
    )


def coverage(decision: Decision) -> float:
    """The least share of samples that any metric could score, of those it applies to; 0 where nothing was scored."""
    shares = [
        found.n_scored / (found.n_scored + found.n_failed)
        for found in decision.metrics.values()
        if found.n_scored + found.n_failed
    ]
    return min(shares, default=0.0)


def head_of(request: RunRequest, parts: Parts, evaluation: Evaluation, verdict: Verdict) -> RunHead:
    """Puts a finished run's head together, but for its samples file."""
    context, config, decision = request.context, request.config, verdict.decision
    # Reasons may repeat a provider's or a store's words, and those a key.
    redact = Redactor.of_environment(request.environment).deep
    by_id = {metric.id: metric for metric in parts.bench.metrics}

    def told(one: Decision) -> dict[str, MetricSummary]:
        found = summaries(one, by_id, parts.policy)
        return {id_: metric.model_copy(update={"reason": redact(metric.reason)}) for id_, metric in found.items()}

    return RunHead(
        run_id=context.run_id,
        suite=config.suite,
        event=context.event,
        repository=context.repository,
        branch=context.branch,
        commit=context.commit,
        base_commit=context.base_commit,
        commit_time=context.commit_time,
        attempt=context.attempt,
        created_at=context.now,
        dataset=parts.golden.info,
        answers_digest=_answers_digest(evaluation),
        judge_models=parts.bench.judge.models,
        vote=parts.bench.vote,
        embedder_model=parts.embedder.name if any(m.uses_embedder for m in parts.bench.metrics) else None,
        fingerprints=dict(evaluation.ledger.fingerprints),
        policy=parts.policy.model_dump(mode="json"),
        metrics=told(decision),
        pinned=PinnedComparison(run_id=decision.pinned_run_id, metrics=told(decision.pinned))
        if decision.pinned is not None and decision.pinned_run_id is not None
        else None,
        outcome=decision.outcome,
        exit_code=int(verdict.exit_code(evaluation, pull_request=context.pull_request)),
        reasons=redact(decision.reasons),
        notices=redact(tuple(dict.fromkeys([*parts.notices, *getattr(parts.judge.judge, "notices", ())]))),
        notes=redact(decision.notes),
        comparison=verdict.comparison,
        baseline_run_ids=tuple(run.run_id for run in parts.baseline.runs),
        coverage=coverage(decision),
        usage=evaluation.meter.usage,
        usage_by_task=evaluation.meter.by_task,
        agreement_by_task=evaluation.agreement.by_task,
        observed=_observed(parts, evaluation),
        execution=Execution(
            started_at=context.now,
            finished_at=request.clock(),
            versions={"ragguard": ragguard.__version__, "python": platform.python_version()},
        ),
    )


def _observed(parts: Parts, evaluation: Evaluation) -> Observed:
    dropped = [note for caller in parts.judge.callers for note in caller.observed.dropped_params]
    return Observed(
        response_models=tuple(sorted(evaluation.meter.response_models)),
        dropped_params=tuple(dict.fromkeys(dropped)),
    )


def _answers_digest(evaluation: Evaluation) -> str:
    return digest([[id_, _answer_digest(id_, evaluation)] for id_ in evaluation.ledger.asked])


def _answer_digest(id_: str, evaluation: Evaluation) -> str | None:
    evaluated = evaluation.ledger.digests.get(id_)
    if evaluated is not None:
        return evaluated[2]
    answer = evaluation.answers[id_].answer
    return answer_digest(answer) if answer is not None else None

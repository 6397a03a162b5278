"""From an evaluation to a verdict: the gate's decision, the pinned run's, or what broke the evaluation off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ragguard.app import baselines
from ragguard.app.comparison import compare
from ragguard.app.evaluate import Evaluation
from ragguard.app.parts import Parts
from ragguard.app.request import RunRequest
from ragguard.app.shards import shard_decision
from ragguard.core.decisions import Decision, merge_decisions
from ragguard.core.gate import step
from ragguard.core.runs import Comparison
from ragguard.core.scores import SampleResult
from ragguard.core.work import CANDIDATE
from ragguard.errors import ExitCode, OutsideWorldError, RagguardError


@dataclass
class Verdict:
    """How an evaluation ended.

    Attributes:
        broken: What kept it from its end.
        interrupted: Whether somebody ended it.
    """

    decision: Decision
    comparison: Comparison
    broken: RagguardError | None = None
    interrupted: bool = False

    def exit_code(self, evaluation: Evaluation, *, pull_request: bool) -> ExitCode:
        """What the command exits with."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if self.broken is not None:
            return self.broken.exit_code
        return self.decision.exit_code(evaluation.policy, pull_request=pull_request)


async def evaluate(evaluation: Evaluation, request: RunRequest, parts: Parts) -> Verdict:
    """Evaluates and decides; an outage or an interruption keeps what was done and is an error."""
    try:
        await evaluation.candidate()
        await evaluation.rescore_baseline()
        if request.shard is not None:
            return Verdict(shard_decision(request.shard, evaluation.ledger.evidence()), Comparison())
        decision, evidence = await evaluation.decide()
        decision = await _against_pinned(decision, evaluation, parts)
    except OutsideWorldError as error:
        # The mend too: nobody sees the error itself any more, only the reasons.
        return _broken(evaluation, f"{error.message}; {error.mend}" if error.mend else error.message, error)
    except (asyncio.CancelledError, KeyboardInterrupt):
        return _broken(evaluation, "interrupted: what was done is kept", None)
    comparison = compare(evaluation.ledger, evidence, decision, evaluation.looks, evaluation.rescored)
    return Verdict(decision, comparison)


def _broken(evaluation: Evaluation, reason: str, error: RagguardError | None) -> Verdict:
    evidence = evaluation.ledger.evidence(look_blocked="the run was broken off")
    said = step(evidence, evaluation.policy)
    decision = said if isinstance(said, Decision) else Decision({}, "error")
    decision = replace(decision, outcome="error", reasons=(reason, *decision.reasons))
    comparison = compare(evaluation.ledger, evidence, decision, evaluation.looks, evaluation.rescored)
    return Verdict(decision, comparison, error, interrupted=error is None)


async def _against_pinned(decision: Decision, evaluation: Evaluation, parts: Parts) -> Decision:
    """Compares with the pinned run as well, so that small drops cannot pass one after another."""
    run_id = parts.pinned
    newest = parts.baseline.newest
    if run_id is None or (newest is not None and len(parts.baseline.runs) == 1 and newest.run_id == run_id):
        return decision
    fixed = baselines.one_run(parts.store, run_id, carry_over=parts.policy.carry_over)
    beside = replace(evaluation, ledger=evaluation.ledger.beside(fixed))
    await beside.rescore_baseline()
    pinned_decision, _ = await beside.decide()
    return merge_decisions(decision, pinned_decision, run_id)


def baseline_details(verdict: Verdict, evaluation: Evaluation, parts: Parts) -> Iterator[SampleResult]:
    """The baseline's results beside the candidate's, so that the run can be shown and explained without the store.

    Of the regressed samples all is kept, of the other pairs the values alone.
    """
    newest = parts.baseline.newest
    if newest is None:
        return
    regressed = {entry.id for entry in verdict.comparison.regressed}
    paired = {id_ for id_ in evaluation.ledger.digests if evaluation.ledger.is_paired(id_, newest)}
    for result in parts.store.samples(newest.run_id, frozenset(paired | regressed)):
        if result.side != CANDIDATE or result.session is not None:
            continue
        beside = result.model_copy(update={"side": newest.run_id})
        yield beside if result.id in regressed else _values_alone(beside)


def _values_alone(result: SampleResult) -> SampleResult:
    scores = tuple(score.model_copy(update={"details": {}, "reason": None}) for score in result.scores)
    return result.model_copy(update={"sample": None, "answer": None, "judgments": (), "scores": scores})

"""Evaluates work and streams the results: to disk, into the ledger, into the usage count."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ragguard.adapters.redaction import foreign
from ragguard.adapters.spooled import result_spool
from ragguard.app import plans
from ragguard.app.ledger import Ledger
from ragguard.app.progress import Progress
from ragguard.app.usage import UsageMeter
from ragguard.core.agreement import AgreementMeter
from ragguard.core.decisions import Decision, LookRequest
from ragguard.core.evaluation import Bench
from ragguard.core.evidence import MetricEvidence
from ragguard.core.gate import step
from ragguard.core.policy import GatePolicy
from ragguard.core.ports import Answered, Executor, Store
from ragguard.core.samples import Sample
from ragguard.core.scores import SampleResult
from ragguard.core.work import CANDIDATE, WorkItem


class ResultSink(Protocol):
    """Where results go as they come."""

    def write(self, result: SampleResult) -> None:
        """Appends one result."""
        ...


@dataclass
class Evaluation:
    """One run's evaluation.

    Attributes:
        samples: The selected samples by id, in order.
        answers: The candidate's answers by id.
        looks: The looks that were made.
        rescored: By metric, what had changed where the baseline was judged again.
        reanswer: Asks the live target anew, where each look is to have answers of its own.
    """

    samples: Mapping[str, Sample]
    answers: Mapping[str, Answered]
    ledger: Ledger
    bench: Bench
    executor: Executor
    sink: ResultSink
    store: Store
    policy: GatePolicy
    progress: Progress
    meter: UsageMeter = field(default_factory=UsageMeter)
    agreement: AgreementMeter = field(default_factory=AgreementMeter)
    looks: list[LookRequest] = field(default_factory=list)
    rescored: dict[str, str] = field(default_factory=dict)
    reanswer: Callable[[Sequence[Sample]], AsyncIterator[Answered]] | None = None

    async def candidate(self) -> None:
        """Look 1 of the candidate."""
        work = plans.first_look(self.samples.values(), self.answers, self.ledger.baseline)
        await self._evaluate("evaluate", work, len(self.samples), self.ledger.add)

    async def rescore_baseline(self) -> None:
        """Judges the newest baseline run's stored answers again in the metrics whose fingerprint changed."""
        newest = self.ledger.baseline.newest
        if newest is None:
            return
        changed = {
            metric: difference
            for metric, fingerprint in self.ledger.fingerprints.items()
            if (difference := self.ledger.baseline.difference(metric, fingerprint)) is not None
        }
        if not changed:
            return
        if self.policy.rescore_baseline == "never":
            self.ledger.blocked.update(dict.fromkeys(changed, "gate.rescore_baseline is never"))
            return
        if not newest.texts:
            self.ledger.blocked.update(dict.fromkeys(changed, f"run {newest.run_id} keeps no texts to judge again"))
            return
        stored = self.store.samples(newest.run_id)
        work = plans.rescoring(stored, frozenset(changed), newest.run_id, self.ledger)
        await self._evaluate("judge the baseline again", work, newest.texts, self.ledger.add)
        self.rescored.update(changed)

    async def decide(self) -> tuple[Decision, dict[str, MetricEvidence]]:
        """Asks the gate, and makes the looks it wishes for."""
        evidence = self.ledger.evidence()
        session = plans.session_of(self.ledger, self.ledger.baseline)
        said = step(evidence, self.policy)
        while isinstance(said, LookRequest):
            evidence = await self._look(said, evidence, session)
            said = step(evidence, self.policy)
        return said, evidence

    async def _look(
        self,
        request: LookRequest,
        evidence: dict[str, MetricEvidence],
        session: str,
    ) -> dict[str, MetricEvidence]:
        fresh = await self._fresh_answers(request)

        def answer_of(id_: str, repeat: int) -> Answered:
            return fresh.get((id_, repeat)) or self.answers[id_]

        work = plans.look(request, self.ledger, self.samples, answer_of, session, self._stored)
        if isinstance(work, str):
            return blocked(evidence, request, work)
        scores = plans.LookScores(request, work)
        for reason in request.reasons:
            self.progress.say(f"look {request.look}: {reason}")
        await self._evaluate(f"look {request.look}", work.items(), work.count, scores.add)
        self.looks.append(request)
        return scores.pooled(evidence)

    async def _fresh_answers(self, request: LookRequest) -> dict[tuple[str, int], Answered]:
        """New answers for each repeat of a look, where they are wanted; one that fails is that judgment's failure."""
        fresh: dict[tuple[str, int], Answered] = {}
        if self.reanswer is None:
            return fresh
        for repeat, ids in sorted(plans.to_answer_again(request).items()):
            self.progress.start(f"look {request.look}: answer again", len(ids))
            async for one in self.reanswer([self.samples[id_] for id_ in sorted(ids)]):
                fresh[one.id, repeat] = one
                self.progress.advance()
            self.progress.stop()
        return fresh

    def _stored(self, run_id: str, ids: frozenset[str]) -> Mapping[str, SampleResult]:
        found = result_spool()
        for result in self.store.samples(run_id, ids):
            has_texts = result.sample is not None and result.answer is not None
            if result.session is None and result.side == CANDIDATE and has_texts:
                found[result.id] = plans.texts_alone(result)
        return found

    async def _evaluate(
        self, phase: str, work: Iterable[WorkItem], total: int, take: Callable[[SampleResult], None]
    ) -> None:
        self.progress.start(phase, total)
        try:
            async for evaluated in self.executor.evaluate(work, self.bench):
                result = _without_secrets(evaluated)
                self.sink.write(result)
                self.meter.add(result)
                self.agreement.add(result)
                take(result)
                self.progress.advance(lambda: self.meter.usage)
        finally:
            self.progress.stop()


def _without_secrets(result: SampleResult) -> SampleResult:
    """Cleans what failures say: a user's own metric may raise anything, and the words are kept for long."""
    if all(score.status != "failed" for score in result.scores):
        return result
    scores = (
        score.model_copy(update={"reason": score.reason and foreign(score.reason)})
        if score.status == "failed"
        else score
        for score in result.scores
    )
    return result.model_copy(update={"scores": tuple(scores)})


def blocked(evidence: Mapping[str, MetricEvidence], request: LookRequest, reason: str) -> dict[str, MetricEvidence]:
    """The evidence with the reason why a look that was asked for cannot be made."""
    return {
        metric: replace(found, look_blocked=reason) if metric in request.metrics else found
        for metric, found in evidence.items()
    }

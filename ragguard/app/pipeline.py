"""The whole job, top to bottom: load, answer, evaluate, compare, decide, save, report."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import ragguard
from ragguard.adapters.renderers import render_files
from ragguard.adapters.runfiles import RunFolder
from ragguard.app import baselines
from ragguard.app.comparison import compare
from ragguard.app.config import Config
from ragguard.app.context import RunContext
from ragguard.app.evaluate import Evaluation, ResultSink
from ragguard.app.heads import coverage, summaries
from ragguard.app.ledger import Ledger, asked_samples, traits_of
from ragguard.app.load import (
    Golden,
    JudgeParts,
    build_bench,
    build_embedder,
    build_judge,
    build_target,
    load_golden,
    open_store,
    policy_of,
)
from ragguard.app.progress import Progress, Silent
from ragguard.core.baseline import Baseline
from ragguard.core.decisions import Decision, merge_decisions
from ragguard.core.digests import digest
from ragguard.core.evaluation import Bench
from ragguard.core.gate import step
from ragguard.core.policy import GatePolicy
from ragguard.core.ports import Answered, Store
from ragguard.core.report import Report
from ragguard.core.runs import Comparison, Execution, Observed, RunHead
from ragguard.core.samples import Sample, answer_digest
from ragguard.core.scores import SampleResult
from ragguard.core.summary import summarize
from ragguard.core.work import CANDIDATE
from ragguard.errors import ExitCode, OutsideWorldError, RagguardError, StoreError

_TREND = 30
"""Runs that the HTML report's trend goes back."""


@dataclass(frozen=True)
class RunRequest:
    """One run to do.

    Attributes:
        folder: Relative paths of the config start here.
        output: Where run.json, samples.jsonl and the reports go.
        environment: Environment variables that adapters may need.
        dataset_overridden: The data set is not the suite's own: the run is never accepted by itself.
        baseline_run_id: Compare with this run instead of the last accepted ones.
    """

    config: Config
    context: RunContext
    folder: Path
    output: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    shard: str | None = None
    dataset_overridden: bool = False
    baseline_run_id: str | None = None
    use_cache: bool = True
    progress: Progress = field(default_factory=Silent)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass
class _Parts:
    golden: Golden
    judge: JudgeParts
    bench: Bench
    store: Store
    policy: GatePolicy
    baseline: Baseline
    notices: list[str]


async def run_pipeline(request: RunRequest) -> Report:
    """Does the whole job; files are written whatever the outcome.

    Raises:
        UserInputError: The config, the data set or the answers are wrong; nothing was spent.
        OutsideWorldError: The store, the judge or the target cannot be used at all; nothing was spent.
    """
    golden = load_golden(request.config, shard=request.shard, overridden=request.dataset_overridden)
    target = build_target(request.config, golden, request.environment)
    parts = _prepare(request, golden)
    folder = RunFolder(request.output)
    try:
        if target.type != "recorded":
            await parts.judge.preflight()
        answers = await _answers(target.answer_all(golden.chosen.samples), golden, request.progress)
        with folder.writing() as writer:
            evaluation = _evaluation(request, parts, answers, writer)
            verdict = await _evaluate(evaluation, request, parts)
            for result in _baseline_details(verdict, parts):
                writer.write(result)
        head = folder.finish(_head(request, parts, answers, evaluation, verdict))
    finally:
        await parts.bench.judge.aclose()
    report = Report.of(head, folder.results, links=request.context.links, exit_code=_exit_code(verdict, request))
    report = _save(report, request, parts, verdict)
    _render(report, request, parts)
    return report


def _render(report: Report, request: RunRequest, parts: _Parts) -> None:
    formats = request.config.reporting.format
    candidates = (result for result in report.results() if result.side == CANDIDATE and result.session is None)
    history = parts.store.heads(request.config.suite, limit=_TREND) if "html" in formats else []
    render_files(
        report,
        formats,
        request.output,
        templates=_templates(request),
        summary=summarize(candidates, parts.bench.metrics) if "summary" in formats else None,
        history=[head for head in history if head.run_id != report.head.run_id],
    )


def _templates(request: RunRequest) -> Path | None:
    return request.folder / request.config.templates if request.config.templates else None


def _prepare(request: RunRequest, golden: Golden) -> _Parts:
    """Everything that can be wrong before anything is spent."""
    config = request.config
    policy = policy_of(config)
    judge = build_judge(config, request.folder, use_cache=request.use_cache and policy.carry_over)
    notices = list(judge.notices)
    embedder = build_embedder(config, request.environment, notices)
    bench = build_bench(config, judge.judge, embedder)
    for metric in bench.metrics:
        bench.fingerprint(metric)  # a user's broken template is found here
    store = open_store(config)
    if request.baseline_run_id is not None:
        baseline = baselines.one_run(store, request.baseline_run_id, carry_over=policy.carry_over)
    else:
        baseline = baselines.last_accepted(store, config.suite, request.context, carry_over=policy.carry_over)
    return _Parts(golden, judge, bench, store, policy, baseline, notices)


async def _answers(answered: AsyncIterator[Answered], golden: Golden, progress: Progress) -> dict[str, Answered]:
    """The answers by sample id; a sample that the target did not speak of has failed."""
    answers: dict[str, Answered] = {}
    progress.start("answer", len(golden.chosen.samples))
    try:
        async for one in answered:
            answers[one.id] = one
            progress.advance()
    finally:
        progress.stop()
    for sample in golden.chosen.samples:
        answers.setdefault(sample.id, Answered(sample.id, None, "the target gave no answer"))
    return answers


@dataclass
class _Verdict:
    """How the evaluation ended.

    Attributes:
        broken: What kept it from its end.
    """

    decision: Decision
    comparison: Comparison
    broken: RagguardError | None = None
    interrupted: bool = False


def _evaluation(request: RunRequest, parts: _Parts, answers: Mapping[str, Answered], sink: ResultSink) -> Evaluation:
    samples = {sample.id: sample for sample in parts.golden.chosen.samples}
    ledger = Ledger(
        asked=asked_samples(tuple(samples.values())),
        traits=traits_of(parts.bench.metrics),
        fingerprints={metric.id: parts.bench.fingerprint(metric) for metric in parts.bench.metrics},
        baseline=parts.baseline,
        would_select=parts.golden.chosen.would_take,
    )
    return Evaluation(
        samples=samples,
        answers=answers,
        ledger=ledger,
        bench=parts.bench,
        executor=request.config.executor,
        sink=sink,
        store=parts.store,
        policy=parts.policy,
        progress=request.progress,
    )


async def _evaluate(evaluation: Evaluation, request: RunRequest, parts: _Parts) -> _Verdict:
    """Evaluates and decides; an outage or an interruption keeps what was done and is an error."""
    try:
        await evaluation.candidate()
        await evaluation.rescore_baseline()
        decision, evidence = await evaluation.decide()
        decision = await _against_pinned(decision, evaluation, request, parts)
    except (OutsideWorldError, asyncio.CancelledError, KeyboardInterrupt) as error:
        return _broken(evaluation, error)
    comparison = compare(evaluation.ledger, evidence, decision, evaluation.looks, evaluation.rescored)
    return _Verdict(decision, comparison)


def _broken(evaluation: Evaluation, error: BaseException) -> _Verdict:
    evidence = evaluation.ledger.evidence(look_blocked="the run was broken off")
    said = step(evidence, evaluation.policy)
    decision = said if isinstance(said, Decision) else Decision({}, "error")
    interrupted = not isinstance(error, RagguardError)
    reason = "interrupted: what was done is kept" if interrupted else str(error).partition("\n")[0]
    decision = replace(decision, outcome="error", reasons=(reason, *decision.reasons))
    comparison = compare(evaluation.ledger, evidence, decision, evaluation.looks, evaluation.rescored)
    return _Verdict(decision, comparison, None if interrupted else error, interrupted)  # type: ignore[arg-type]


async def _against_pinned(decision: Decision, evaluation: Evaluation, request: RunRequest, parts: _Parts) -> Decision:
    """Compares with the pinned run as well, so that small drops cannot pass one after another."""
    run_id = baselines.pinned(parts.store, request.config.suite, request.config.baseline.pin)
    newest = parts.baseline.newest
    if run_id is None or (newest is not None and len(parts.baseline.runs) == 1 and newest.run_id == run_id):
        return decision
    fixed = baselines.one_run(parts.store, run_id, carry_over=parts.policy.carry_over)
    beside = replace(evaluation, ledger=evaluation.ledger.beside(fixed))
    await beside.rescore_baseline()
    pinned_decision, _ = await beside.decide()
    return merge_decisions(decision, pinned_decision)


def _baseline_details(verdict: _Verdict, parts: _Parts) -> Iterator[SampleResult]:
    """The baseline's results of the regressed samples, so that the run can be explained without the store."""
    newest = parts.baseline.newest
    ids = frozenset(entry.id for entry in verdict.comparison.regressed)
    if newest is None or not ids:
        return
    for result in parts.store.samples(newest.run_id, ids):
        if result.side == CANDIDATE and result.session is None:
            yield result.model_copy(update={"side": newest.run_id})


def _head(
    request: RunRequest, parts: _Parts, answers: Mapping[str, Answered], evaluation: Evaluation, verdict: _Verdict
) -> RunHead:
    context, config, decision = request.context, request.config, verdict.decision
    metrics = {metric.id: metric for metric in parts.bench.metrics}
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
        answers_digest=_answers_digest(parts.golden.chosen.samples, answers),
        judge_models=parts.bench.judge.models,
        embedder_model=getattr(parts.bench.embedder, "model", None),
        fingerprints=evaluation.ledger.fingerprints,
        policy=parts.policy.model_dump(mode="json"),
        metrics=summaries(decision, metrics, parts.policy),
        outcome=decision.outcome,
        reasons=decision.reasons,
        notices=tuple(parts.notices),
        notes=decision.notes,
        comparison=verdict.comparison,
        baseline_run_ids=tuple(run.run_id for run in parts.baseline.runs),
        coverage=coverage(decision),
        usage=evaluation.meter.usage,
        usage_by_task=evaluation.meter.by_task,
        observed=Observed(response_models=tuple(sorted(evaluation.meter.response_models))),
        execution=Execution(
            started_at=context.now,
            finished_at=request.clock(),
            versions={"ragguard": ragguard.__version__, "python": platform.python_version()},
        ),
    )


def _answers_digest(samples: Sequence[Sample], answers: Mapping[str, Answered]) -> str:
    found = ((sample.id, answers[sample.id].answer) for sample in samples)
    return digest([[id_, answer_digest(answer) if answer is not None else None] for id_, answer in found])


def _exit_code(verdict: _Verdict, request: RunRequest) -> ExitCode:
    if verdict.interrupted:
        return ExitCode.INTERRUPTED
    if verdict.broken is not None:
        return verdict.broken.exit_code
    return verdict.decision.exit_code(policy_of(request.config), pull_request=request.context.pull_request)


def _save(report: Report, request: RunRequest, parts: _Parts, verdict: _Verdict) -> Report:
    """Stores a whole run; one that cannot be stored stays in the output folder, and success becomes exit 4."""
    if verdict.broken is not None or verdict.interrupted or not request.context.may_write_store:
        return report
    try:
        parts.store.save(report.head, report.results())
    except StoreError as error:
        request.progress.say(str(error))
        request.progress.say(f"the run is kept in {request.output}; store it later: ragguard baseline push")
        code = ExitCode.OUTSIDE_WORLD if report.exit_code == ExitCode.OK else report.exit_code
        notices = (*report.head.notices, f"This run could not be stored: {error.message}")
        return replace(report, head=report.head.model_copy(update={"notices": notices}), exit_code=code)
    return report

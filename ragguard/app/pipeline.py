"""The whole job, top to bottom: load, answer, evaluate, compare, decide, save, report."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from ragguard.adapters.renderers import render_files
from ragguard.adapters.run_folder import RunFolder
from ragguard.adapters.spool import Selected, Spool
from ragguard.adapters.spooled import answered_spool
from ragguard.app.deliver import Courier, recovered
from ragguard.app.evaluate import Evaluation, ResultSink
from ragguard.app.heads import head_of
from ragguard.app.ledger import Ledger, asked_samples, traits_of
from ragguard.app.load import Golden, build_target, load_golden
from ragguard.app.parts import Parts, prepare
from ragguard.app.progress import Progress
from ragguard.app.request import RunRequest
from ragguard.app.verdicts import Verdict, baseline_details, evaluate
from ragguard.core import ports
from ragguard.core.ports import Answered
from ragguard.core.report import Report
from ragguard.core.runs import RunHead
from ragguard.core.summary import summarize
from ragguard.core.text import is_blank
from ragguard.core.work import CANDIDATE
from ragguard.errors import ExitCode, JudgeError, StoreError, TargetError

__all__ = ["RunRequest", "run_pipeline"]

_TREND = 30
"""Runs that the HTML report's trend goes back."""


async def run_pipeline(request: RunRequest) -> Report:
    """Does the whole job; files are written and people are told whatever the outcome.

    Raises:
        UserInputError: The config, the data set or the answers are wrong; nothing was spent.
        OutsideWorldError: The store, the judge or the target cannot be used at all; nothing was spent.
    """
    courier = Courier.of(request)
    with ExitStack() as stack:
        try:
            await courier.announce()
            stack.enter_context(RunFolder(request.output).held())
            report, is_over = await _whole_run(request)
        except BaseException as error:
            await courier.broke(error)
            raise
        report = await courier.deliver(report, recovered=is_over)
        if report.deliveries:
            told = tuple(name for name in request.config.reporting.format if name in {"json", "markdown"})
            render_files(report, told, request.output, templates=request.templates)
        return report


async def _whole_run(request: RunRequest) -> tuple[Report, bool]:
    """Everything but telling people: the report, and whether it ends the suite's last failure.

    Where the judge cannot be used and a fallback is configured, the run starts again under the fallback: judges are
    never mixed in one run, and answers are not asked for twice.
    """
    golden = load_golden(request.config, shard=request.shard, overridden=request.dataset_overridden)
    target = _target(request, golden)
    answers = answered_spool()
    notices = list(request.notices)
    while True:
        parts = prepare(request, golden, notices)
        try:
            done = await _attempt(request, parts, target, answers)
        except JudgeError as error:
            following = _fallback(request, parts)
            if following is None:
                raise
            notices.append(f"Judged by a fallback, because the configured judge could not be used: {error.message}")
        else:
            broken = done.verdict.broken
            following = _fallback(request, parts) if isinstance(broken, JudgeError) else None
            if broken is None or following is None:
                return _conclude(request, parts, done)
            notices.append(f"Judged by a fallback, because the configured judge failed: {broken.message}")
        finally:
            await parts.aclose()
        request.progress.say(notices[-1])
        request = following


@dataclass(frozen=True)
class _Done:
    """One attempt, evaluated and written to the output folder."""

    evaluation: Evaluation
    verdict: Verdict
    folder: RunFolder


async def _attempt(request: RunRequest, parts: Parts, target: ports.Target, answers: Spool[Answered]) -> _Done:
    """Gets the answers where there are none yet, evaluates them and writes the results as they come."""
    if not answers:
        if getattr(target, "type", None) != "recorded":
            await parts.judge.preflight()
        answered = target.answer_all(parts.golden.chosen.samples)
        blank = await _take_in(answered, answers, parts.golden, request.progress)
        failed = [one.failure for sample in parts.golden.chosen.samples if (one := answers[sample.id]).answer is None]
        if failed:
            parts.notices.append(f"{len(failed)} of {len(answers)} samples got no answer; the first: {failed[0]}")
        if blank:
            parts.notices.append(
                f"{blank} of {len(answers)} answers are blank: they claim nothing and pass as faithful."
            )
    folder = RunFolder(request.output)
    with folder.writing() as writer:
        evaluation = _evaluation(request, parts, target, answers, writer)
        verdict = await evaluate(evaluation, request, parts)
        if request.shard is None:
            _write_details(writer, verdict, evaluation, parts)
    return _Done(evaluation, verdict, folder)


def _write_details(writer: ResultSink, verdict: Verdict, evaluation: Evaluation, parts: Parts) -> None:
    """Writes the baseline's side as well; the verdict has been reached and stays where that cannot be read."""
    try:
        for result in baseline_details(verdict, evaluation, parts):
            writer.write(result)
    except StoreError as error:
        parts.notices.append(f"The baseline's texts cannot be shown: {error.message}")


def _target(request: RunRequest, golden: Golden) -> ports.Target:
    """Where answers come from: the shards that have them, else what is configured."""
    if request.shards is None:
        return build_target(request.config, golden, request.environment)
    request.shards.check(golden.info)
    if request.config.pipeline.answers is not None and not request.shards.texts:
        return build_target(request.config, golden, request.environment)
    return request.shards.target


def _fallback(request: RunRequest, parts: Parts) -> RunRequest | None:
    """The same run under the configured judge's next fallback."""
    if len(parts.judge.callers) != 1 or (judge := parts.judge.callers[0].fallback()) is None:
        return None
    return replace(request, config=request.config.model_copy(update={"judge": judge, "judges": ()}))


async def _take_in(
    answered: AsyncIterator[Answered], answers: Spool[Answered], golden: Golden, progress: Progress
) -> int:
    """Keeps the answers by sample id; a sample that the target did not speak of has failed.

    Returns:
        How many answers are blank.

    Raises:
        TargetError: Every answer is blank.
    """
    progress.start("answer", len(golden.chosen.samples))
    try:
        async for one in answered:
            answers[one.id] = one
            progress.advance()
    finally:
        progress.stop()
    blank = 0
    for sample in golden.chosen.samples:
        if sample.id not in answers:
            answers[sample.id] = Answered(sample.id, None, "the target gave no answer")
        answer = answers[sample.id].answer
        blank += answer is not None and is_blank(answer.text)
    if blank == len(golden.chosen.samples):
        raise TargetError(
            f"every one of the {blank} answers is blank",
            mend="a blank answer claims nothing and would pass as faithful: look at the app or at the answers file",
        )
    return blank


def _evaluation(
    request: RunRequest, parts: Parts, target: ports.Target, answers: Mapping[str, Answered], sink: ResultSink
) -> Evaluation:
    ledger = Ledger(
        asked=asked_samples(parts.golden.chosen.samples, parts.policy.cluster_by),
        traits=traits_of(parts.bench.metrics),
        fingerprints={metric.id: parts.bench.fingerprint(metric) for metric in parts.bench.metrics},
        baseline=parts.baseline,
        would_select=parts.golden.chosen.would_take,
    )
    executor: ports.Executor = request.config.executor
    return Evaluation(
        samples=Selected(parts.golden.by_id, ledger.asked),
        answers=answers,
        ledger=ledger,
        bench=parts.bench,
        executor=executor if request.shards is None else request.shards.executor(executor),
        sink=sink,
        store=parts.store,
        policy=parts.policy,
        progress=request.progress,
        reanswer=target.answer_all if parts.policy.reanswer and getattr(target, "type", None) != "recorded" else None,
    )


def _conclude(request: RunRequest, parts: Parts, done: _Done) -> tuple[Report, bool]:
    """Writes the head, stores the run, renders the reports."""
    head = done.folder.finish(head_of(request, parts, done.evaluation, done.verdict))
    code = done.verdict.exit_code(done.evaluation, pull_request=request.context.pull_request)
    report = Report.of(head, done.folder.results, links=request.context.links, exit_code=code)
    is_over = recovered(parts.store, head)
    report = _save(report, request, parts, done.verdict)
    _render(report, request, parts)
    return report, is_over


def _save(report: Report, request: RunRequest, parts: Parts, verdict: Verdict) -> Report:
    """Stores a run, but no shard; one that cannot be stored stays in the output folder, and success becomes exit 4."""
    unfit = verdict.broken is not None or verdict.interrupted or request.shard is not None
    if unfit or not request.context.may_write_store:
        return report
    try:
        parts.store.save(report.head, report.results())
    except StoreError as error:
        request.progress.say(str(error))
        request.progress.say(f"the run is kept in {request.output}; `ragguard baseline push` stores it later")
        code = ExitCode.OUTSIDE_WORLD if report.exit_code == ExitCode.OK else report.exit_code
        notices = (*report.head.notices, f"This run could not be stored: {error.message}")
        return replace(report, head=report.head.model_copy(update={"notices": notices}), exit_code=code)
    return report


def _render(report: Report, request: RunRequest, parts: Parts) -> None:
    formats = request.config.reporting.format
    candidates = (result for result in report.results() if result.side == CANDIDATE and result.session is None)
    history = _history(request, parts) if "html" in formats else []
    render_files(
        report,
        formats,
        request.output,
        templates=request.templates,
        summary=summarize(candidates, parts.bench.metrics) if "summary" in formats else None,
        history=[head for head in history if head.run_id != report.head.run_id],
    )


def _history(request: RunRequest, parts: Parts) -> list[RunHead]:
    """Earlier runs for the report's trend; a store that has gone away costs the trend, not the report."""
    try:
        return parts.store.heads(request.config.suite, limit=_TREND)
    except StoreError as error:
        request.progress.say(f"the report is without its trend: {error.message}")
        return []

"""`evaluate` and `aevaluate`: samples in, scores out, without a config file."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from ragguard.adapters.executors.local import LocalExecutor
from ragguard.app.progress import Bar, Progress, Silent
from ragguard.app.usage import UsageMeter
from ragguard.core.metrics.base import Metric
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer
from ragguard.core.scores import SampleResult
from ragguard.core.work import WorkItem
from ragguard.errors import JudgeError, UserInputError
from ragguard.sdk.evaluation import Evaluation
from ragguard.sdk.material import Material, read_material
from ragguard.sdk.parts import Parts, Wishes, build_parts
from ragguard.sdk.run_head import RunFacts
from ragguard.sdk.running import run_to_the_end

Metrics = str | Metric | type[Metric] | Mapping[str, Any] | Sequence[Any] | None

_SEEN_WITHOUT_ANSWER = frozenset({"question", "contexts", "reference", "gold_passages", "gold_facts"})
"""A metric that needs no more than these does not read the answer."""


class Settings(TypedDict, total=False):
    """The keyword arguments of `aevaluate`; see there."""

    metrics: Metrics
    judge: Any
    vote: Literal["mean", "majority"]
    embedder: Any
    fields: Mapping[str, str | None] | None
    min_coverage: float
    budget: Mapping[str, Any] | None
    cache: bool | str | Path
    templates: str | Path | None
    concurrency: int
    progress: bool


def evaluate(samples: object, answers: object = None, **settings: Unpack[Settings]) -> Evaluation:
    """Evaluates samples; see `aevaluate`, whose arguments and errors it shares.

    Works in scripts and tests, and also where an event loop is running, as in a notebook.
    """
    return run_to_the_end(aevaluate(samples, answers, **settings))


async def aevaluate(
    samples: object,
    answers: object = None,
    *,
    metrics: Metrics = None,
    judge: Any = None,
    vote: Literal["mean", "majority"] = "mean",
    embedder: Any = None,
    fields: Mapping[str, str | None] | None = None,
    min_coverage: float = 0.95,
    budget: Mapping[str, Any] | None = None,
    cache: bool | str | Path = False,
    templates: str | Path | None = None,
    concurrency: int = 64,
    progress: bool = False,
) -> Evaluation:
    """Evaluates samples.

    Args:
        samples: One sample or many: `Sample` objects, mappings under any known field names, dataclasses, a data frame,
            any iterable of these, or the path or URL of a JSON Lines file.
        answers: The answers where the samples do not bring them: one for each sample in their order, or a mapping from
            id to answer, or rows with ids, or the path or URL of a file of them. None as an answer: the app failed.
        metrics: Names (`"faithfulness"`, `"ndcg@10"`, `"my_pkg.metrics:Politeness"`), mappings with settings, or
            metrics and metric classes of your own. Default: faithfulness, context_relevance, answer_relevance.
        judge: `"provider/model"`, a mapping of the settings under `judge` in ragguard.yaml, a list of these (a panel),
            `"offline"`, a `Judge`, an object with `ask(task, request)`, or one with `decompose_to_claims`,
            `is_supported`, `is_relevant` and `generate_questions`.
        vote: Of several judges or repeats: the mean of their scores, or one score of the verdicts that most gave.
        embedder: `"provider/model"`, a mapping of settings, `"offline"`, an object with `embed`, or a function from a
            text to its vector. Default as in ragguard.yaml.
        fields: Our field name -> the rows' own, where aliases do not do; None: the rows have no such field.
        min_coverage: A metric's mean is refused when less than this share of the samples it applies to was scored.
        budget: `max_usd`, `max_calls`, `max_tokens`; what would pass it raises BudgetError.
        cache: Keep judgments on this machine: True for `.ragguard/cache.sqlite`, or a path.
        templates: A folder whose judge templates win over the ones of ragguard.
        concurrency: Samples in flight; 1 where an object of your own is not safe in threads.
        progress: Draw a bar on standard error.

    Returns:
        The evaluation. One sample's failure is a value in it.

    Raises:
        UserInputError: Samples, answers or settings are wrong; nothing was called.
        OutsideWorldError: The judge or the embedder as a whole cannot be used.
    """
    if not 0 <= min_coverage <= 1:
        raise UserInputError(f"evaluate(): min_coverage is {min_coverage}", mend="give a fraction in [0, 1]")
    if not 1 <= concurrency <= 1024:
        raise UserInputError(f"evaluate(): concurrency is {concurrency}", mend="give a number from 1 to 1024")
    material = read_material(samples, answers, fields)
    wishes = Wishes(metrics, judge, embedder, budget, cache, templates, os.environ, Path.cwd(), vote)
    bar: Progress = Bar(sys.stderr) if progress else Silent()
    notices: list[str] = []
    while True:
        parts = build_parts(wishes)
        try:
            return await _evaluated(material, parts, notices, min_coverage, concurrency, bar)
        except JudgeError as error:
            if parts.fallback is None:
                raise
            wishes = parts.fallback
            notices.append(f"Judged by a fallback, because the configured judge could not be used: {error.message}")
        finally:
            bar.stop()
            await parts.aclose()


async def _evaluated(
    material: Material,
    parts: Parts,
    notices: Iterable[str],
    min_coverage: float,
    concurrency: int,
    progress: Progress,
) -> Evaluation:
    bench = parts.bench
    started = datetime.now(UTC)
    meter = UsageMeter()
    records: list[SampleResult] = []
    progress.start("evaluate", len(material.samples))
    work = _work(material, bench.metrics)
    async for result in LocalExecutor(concurrency=concurrency).evaluate(work, bench):
        meter.add(result)
        has_answer = _has_answer(material.answers[len(records)])
        records.append(result if has_answer else _without_made_up_answer(result, bench.metrics))
        progress.advance(lambda: meter.usage)
    embeds = any(metric.uses_embedder for metric in bench.metrics)
    facts = RunFacts(
        run_id=f"{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
        started_at=started,
        finished_at=datetime.now(UTC),
        source=material.source,
        fingerprints={metric.id: bench.fingerprint(metric) for metric in bench.metrics},
        judge_models=bench.judge.models,
        vote=bench.vote,
        embedder_model=str(getattr(bench.embedder, "name", type(bench.embedder).__name__)) if embeds else None,
    )
    said = tuple(dict.fromkeys([*notices, *parts.notices]))
    return Evaluation(tuple(records), bench.metrics, facts, said, meter.usage, min_coverage)


def _work(material: Material, metrics: Sequence[Metric]) -> Iterator[WorkItem]:
    """One item for each sample; without an answer, only the metrics that read none."""
    answerless = frozenset(metric.id for metric in metrics if _reads_no_answer(metric))
    for sample, answered in zip(material.samples, material.answers, strict=True):
        if _has_answer(answered):
            yield WorkItem(sample, answered.answer, answered.failure)
        else:
            yield WorkItem(sample, Answer(text=""), metrics=answerless)


def _has_answer(answered: Answered) -> bool:
    """Whether there is an answer, or a failure to tell of; else nobody claims that the app was asked."""
    return answered.answer is not None or answered.failure is not None


def _reads_no_answer(metric: Metric) -> bool:
    return _SEEN_WITHOUT_ANSWER.issuperset(metric.needed)


def _without_made_up_answer(result: SampleResult, metrics: Sequence[Metric]) -> SampleResult:
    """The result of a sample that has no answer; the metrics that were left out for want of it do not apply."""
    known = {score.metric: score for score in result.scores}
    scores = [known.get(metric.id) or metric.not_applicable("the sample has no answer") for metric in metrics]
    return result.model_copy(update={"answer": None, "answer_digest": None, "scores": tuple(scores)})

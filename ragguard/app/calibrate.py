"""Lets the configured judge score answers that people have labelled, and tells how far both agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragguard.adapters.embedders import BatchingEmbedder, OfflineEmbedder
from ragguard.app.config import Config
from ragguard.app.labels import Opinion, Opinions, read_opinions
from ragguard.app.ledger import conversation_of
from ragguard.app.load import build_embedder, build_judge
from ragguard.app.own_metrics import load_metric
from ragguard.app.progress import Progress, Silent
from ragguard.app.usage import UsageMeter
from ragguard.core.calibration import Figures, Labelled, People, figures, people_agreement
from ragguard.core.evaluation import Bench
from ragguard.core.metrics import parse_metric
from ragguard.core.metrics.base import Metric
from ragguard.core.runs import Usage
from ragguard.core.samples import Record
from ragguard.core.scores import Score
from ragguard.core.work import WorkItem
from ragguard.errors import ConfigError, ExitCode


@dataclass(frozen=True)
class CalibrationRequest:
    """What is to be compared.

    Attributes:
        labelled: Path or URL of the labelled samples.
        answers: Files of answers to them.
        label: The label's field; None: found out.
        good_from: The least grade of a good answer, where labels are grades.
        metric: The id of the metric whose scores are compared with the labels.
        threshold: From which score on the judge calls an answer good; None: the metric's own.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    config: Config
    labelled: str
    folder: Path
    answers: Sequence[str] = ()
    label: str | None = None
    good_from: float | None = None
    metric: str = "faithfulness"
    threshold: float | None = None
    resamples: int = 1000
    seed: int = 0
    use_cache: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = field(default_factory=Silent)


class Disagreement(Record):
    """An answer that people and the judge see differently."""

    id: str
    source: str
    line: int
    tags: tuple[str, ...]
    people: bool
    judge: bool
    score: float
    question: str
    answer: str
    reason: str | None


class Calibration(Record):
    """How far the judge agrees with people.

    Attributes:
        threshold: From which score on the judge calls an answer good, a fraction.
        label: The label's field.
        n_answers: Answers that were read.
        n_unlabelled: Of these, answers without a label, or with tied votes.
        n_failed: Labelled answers that the judge could not score.
        n_not_applicable: Labelled answers that the metric does not apply to.
        coverage: Scored / (scored + failed); None where there is neither.
        reasons: Why scores failed, each once, the most frequent first.
        overall: All answers.
        tags: The answers of each tag.
        sources: The answers of each file, where there are several.
        people: How far people agree with each other.
        disagreements: Those furthest from the threshold first.
    """

    metric: str
    threshold: float
    judge_models: tuple[str, ...]
    label: str
    notices: tuple[str, ...]
    n_answers: int
    n_unlabelled: int
    n_without_answer: int
    n_failed: int
    n_not_applicable: int
    coverage: float | None
    min_coverage: float
    reasons: tuple[str, ...]
    overall: Figures
    tags: dict[str, Figures]
    sources: dict[str, Figures]
    people: People
    disagreements: tuple[Disagreement, ...]
    usage: Usage

    @property
    def exit_code(self) -> ExitCode:
        """0, or 4 where too little could be scored to say anything."""
        enough = self.coverage is not None and self.coverage >= self.min_coverage - 1e-9
        return ExitCode.OK if enough and self.overall.n else ExitCode.OUTSIDE_WORLD


async def calibrate(request: CalibrationRequest) -> Calibration:
    """Scores the labelled answers and compares.

    Raises:
        UserInputError: The files, the label, the metric or the judge's settings are wrong; nothing was called.
        OutsideWorldError: The judge or the embedder as a whole cannot be used.
    """
    metric = _metric(request)
    read = read_opinions(
        request.labelled,
        request.answers,
        label=request.label,
        good_from=request.good_from,
        fields=request.config.pipeline.fields,
    )
    labelled = [opinion for opinion in read.opinions if opinion.good is not None]
    judge = build_judge(request.config, request.folder, use_cache=request.use_cache)
    notices = list(judge.notices) if metric.task_names else []
    embedder: OfflineEmbedder | BatchingEmbedder = OfflineEmbedder()  # never asked where the metric does not embed
    try:
        if metric.uses_embedder:
            embedder = build_embedder(request.config, request.environment, notices)
        bench = Bench((metric,), judge.judge, embedder, vote=request.config.vote)
        bench.fingerprint(metric)  # a broken template shows before anything is asked
        meter = UsageMeter()
        scores = await _scores(request, labelled, bench, meter)
        models = judge.judge.models if metric.task_names else ()
    finally:
        await judge.judge.aclose()
        await embedder.aclose()
    return _calibration(request, metric, read, list(zip(labelled, scores, strict=True)), models, notices, meter.usage)


def _metric(request: CalibrationRequest) -> Metric:
    found = next((metric for metric in request.config.metrics if metric.id == request.metric), None)
    if found is None:
        try:
            several = parse_metric(request.metric, load_metric)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        found = several[0]
        if len(several) > 1:
            ids = ", ".join(metric.id for metric in several)
            raise ConfigError(f"{request.metric} is several metrics", mend=f"name one of {ids}")
    if found.unit != "fraction":
        raise ConfigError(f"{found.id} is measured, not judged: there is nothing to calibrate")
    if request.threshold is not None:
        found = found.model_copy(update={"threshold": request.threshold, "scale": 1.0})
    return found


async def _scores(
    request: CalibrationRequest, labelled: Sequence[Opinion], bench: Bench, meter: UsageMeter
) -> list[Score]:
    scores: list[Score] = []
    request.progress.start("judge", len(labelled))
    work = (WorkItem(opinion.sample, opinion.answer) for opinion in labelled)
    try:
        async for result in request.config.executor.evaluate(work, bench):
            meter.add(result)
            scores.append(result.scores[0])
            request.progress.advance(lambda: meter.usage)
    finally:
        request.progress.stop()
    return scores


def _calibration(
    request: CalibrationRequest,
    metric: Metric,
    read: Opinions,
    pairs: Sequence[tuple[Opinion, Score]],
    models: tuple[str, ...],
    notices: Sequence[str],
    usage: Usage,
) -> Calibration:
    scored = [(opinion, score) for opinion, score in pairs if score.value is not None]
    n_failed = sum(score.status == "failed" for _, score in pairs)
    sources = list(dict.fromkeys(opinion.source for opinion, _ in scored))
    tags = sorted({tag for opinion, _ in scored for tag in opinion.sample.tags})

    def told(kept: Sequence[tuple[Opinion, Score]]) -> Figures:
        answers = [_labelled(opinion, score) for opinion, score in kept]
        return figures(answers, resamples=request.resamples, seed=request.seed)

    return Calibration(
        metric=metric.id,
        threshold=metric.threshold / metric.scale,
        judge_models=models,
        label=read.label,
        notices=tuple(dict.fromkeys(notices)),
        n_answers=len(read.opinions),
        n_unlabelled=len(read.opinions) - len(pairs),
        n_without_answer=read.without_answer,
        n_failed=n_failed,
        n_not_applicable=len(pairs) - len(scored) - n_failed,
        coverage=len(scored) / (len(scored) + n_failed) if scored or n_failed else None,
        min_coverage=request.config.gate.min_coverage,
        reasons=_reasons(score for _, score in pairs),
        overall=told(scored),
        tags={tag: told([pair for pair in scored if tag in pair[0].sample.tags]) for tag in tags},
        sources={
            source: told([pair for pair in scored if pair[0].source == source])
            for source in (sources if len(sources) > 1 else ())
        },
        people=people_agreement(opinion.votes for opinion in read.opinions),
        disagreements=tuple(_disagreements(scored, metric.threshold / metric.scale)),
        usage=usage,
    )


def _labelled(opinion: Opinion, score: Score) -> Labelled:
    # Answers of one conversation are not independent: they are resampled together.
    cluster = conversation_of(opinion.sample)
    return Labelled(good=bool(opinion.good), score=score.value or 0.0, passed=bool(score.passed), cluster=cluster)


def _reasons(scores: Iterator[Score]) -> tuple[str, ...]:
    counted: dict[str, int] = {}
    for score in scores:
        if score.status == "failed":
            reason = score.reason or "no reason was given"
            counted[reason] = counted.get(reason, 0) + 1
    return tuple(sorted(counted, key=lambda reason: -counted[reason])[:5])


def _disagreements(scored: Sequence[tuple[Opinion, Score]], threshold: float) -> list[Disagreement]:
    found = [
        Disagreement(
            id=opinion.sample.id,
            source=opinion.source,
            line=opinion.sample.line,
            tags=opinion.sample.tags,
            people=bool(opinion.good),
            judge=bool(score.passed),
            score=score.value or 0.0,
            question=opinion.sample.question,
            answer=opinion.answer.text,
            reason=score.reason,
        )
        for opinion, score in scored
        if opinion.good is not score.passed
    ]
    return sorted(found, key=lambda each: (-abs(each.score - threshold), each.source, each.id))

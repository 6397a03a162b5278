"""`evaluate_spark`: a data frame of samples in, a data frame of their scores out; no sample reaches the driver."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ragguard import errors
from ragguard.adapters.addresses import parse_address
from ragguard.adapters.executors.sessions import first_line, parallelism
from ragguard.app.bench_kit import Kit
from ragguard.app.config import Config
from ragguard.app.load import build_bench, build_embedder, build_judge
from ragguard.core.digests import digest
from ragguard.core.metrics.base import Metric
from ragguard.core.runs import Usage
from ragguard.core.summary import Summary
from ragguard.errors import ConfigError, OutsideWorldError, UserInputError
from ragguard.sdk.parts import CACHE, resolve_metrics
from ragguard.sdk.spark_partitions import ScorePartition, scores_schema
from ragguard.sdk.spark_summary import summarize_frame

_RAISED = re.compile(r"ragguard\.errors\.(\w+): (.*)")


@dataclass(frozen=True, eq=False)
class SparkEvaluation:
    """Evaluated samples of a data frame.

    Attributes:
        scores: One row for each sample, read from `output`: `id`; for each metric `<metric>` (None unless scored),
            `<metric>_status`, `<metric>_passed` and `<metric>_reason`; `refused`, why the row could not be read;
            `calls`, `tokens`, `cost_usd`; `record`, the whole result as runs hold it.
        summary: All numbers, as `evaluate(...).summary` has them; rows that were refused are not in it.
        usage: What was paid for; unknown is None.
        n_refused: Rows that could not be read.
        notices: What a reader must know before the numbers.
    """

    scores: Any
    summary: Summary
    usage: Usage
    n_refused: int
    notices: tuple[str, ...] = ()


def evaluate_spark(
    df: Any,
    output: str,
    *,
    metrics: object = None,
    judge: Any = None,
    vote: str = "mean",
    embedder: Any = None,
    fields: Mapping[str, str | None] | None = None,
    budget: Mapping[str, Any] | None = None,
    cache: bool = True,
    templates: str | Path | None = None,
    concurrency: int = 64,
    partitions: int | None = None,
    checkpoint: int = 32,
    progress: str | None = None,
    mode: str = "error",
) -> SparkEvaluation:
    """Scores the rows of a data frame where they are, in the session that it belongs to.

    Results are kept beside the output as they come: a task or a call that is started again, with the same rows in the
    same partitions, pays only for what was in flight.

    Args:
        df: One sample a row, under any known field names, with its answer.
        output: Where the scores are written, as Parquet; any path that Spark takes.
        metrics: As for `evaluate`.
        judge: A name, a mapping of settings, or a list of these; an object cannot be sent to other machines.
        vote: As for `evaluate`.
        embedder: A name or a mapping of settings.
        fields: Our field name -> the column's, where aliases do not do.
        budget: `max_usd`, `max_calls`, `max_tokens`; divided among the tasks, which together never pass it.
        cache: Keep judgments on each worker's disk.
        templates: A folder of judge templates on the driver; they are sent along.
        concurrency: Samples in flight in each task.
        partitions: Tasks at once; rpm, tpm, concurrency and budget are divided among so many. Spark's own number else.
        checkpoint: Samples whose results are kept together.
        progress: Where results are kept until the output is complete: a path or a bucket URL that all machines reach.
            Default: `<output>.progress`.
        mode: What to do where there is an output already: `error` or `overwrite`.

    Raises:
        UserInputError: The settings are wrong, or `output` is there already.
        OutsideWorldError: Judge, embedder or the Spark job cannot be used; the budget is spent.
    """
    if mode not in {"error", "overwrite"}:
        raise ConfigError(f"evaluate_spark(): mode is {mode!r}", mend="give 'error' or 'overwrite'")
    chosen = resolve_metrics(metrics)
    if not any(metric.uses_embedder for metric in chosen):
        embedder = "offline"  # it will not be asked
    config = _config(chosen, judge, vote, embedder, budget, templates, use_cache=cache)
    notices: list[str] = []
    built = build_judge(config, Path.cwd(), use_cache=False)
    vectors = build_embedder(config, os.environ, notices)
    bench = build_bench(config, built.judge, vectors)
    kit = Kit.of(config, bench.metrics, vectors, Path.cwd(), use_cache=cache, ledger=built.budget)
    count = partitions or parallelism(df.sparkSession)
    most = kit.most_parts
    count = count if most is None else min(count, most)
    score = ScorePartition(
        parts=tuple(kit.part(number, count) for number in range(count)),
        fingerprints={metric.id: bench.fingerprint(metric).digest for metric in bench.metrics},
        fields=dict(fields or {}),
        progress=_progress_folder(output, progress),
        job=secrets.token_hex(8),
        how=digest([{metric.id: bench.fingerprint(metric).digest for metric in bench.metrics}, dict(fields or {})]),
        checkpoint=checkpoint,
        concurrency=concurrency,
    )
    scores = _written(df, score, bench.metrics, count, output, mode)
    summary = summarize_frame(scores.where("refused is null"), bench.metrics)
    said = tuple(dict.fromkeys([*built.notices, *notices]))
    return SparkEvaluation(scores, summary, _usage(scores), scores.where("refused is not null").count(), said)


def _config(
    metrics: tuple[Metric, ...],
    judge: Any,
    vote: str,
    embedder: Any,
    budget: Mapping[str, Any] | None,
    templates: str | Path | None,
    *,
    use_cache: bool,
) -> Config:
    data: dict[str, Any] = {
        "pipeline": {"dataset": "a data frame"},
        "metrics": list(metrics),
        "budget": dict(budget or {}),
        "cache": {"enabled": use_cache, "path": CACHE},
        "templates": None if templates is None else str(templates),
        "judges" if isinstance(judge, list | tuple) else "judge": judge or "offline",
        "vote": vote,
        "embedder": embedder,
    }
    if judge is None and any(metric.task_names for metric in metrics):
        raise ConfigError(
            "evaluate_spark(): these metrics need a judge, and none was given",
            mend="judge='provider/model', or judge='offline' for a dry run without a key",
        )
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)]
        raise ConfigError("evaluate_spark(): the settings are wrong", details=told) from None


def _progress_folder(output: str, progress: str | None) -> str:
    """Where results are kept until all are there, as every machine reaches it.

    Raises:
        ConfigError: Only Spark knows how to reach the output.
    """
    wanted = progress or f"{output.rstrip('/')}.progress"
    wanted = re.sub(r"^s3[an]://", "s3://", wanted)
    try:
        address = parse_address(wanted)
    except ConfigError as error:
        raise ConfigError(
            f"evaluate_spark(): progress: {error.message}",
            mend="give progress: a folder that all machines share, or an s3://, gs:// or az:// address",
        ) from None
    return str(Path(address.path or ".").absolute()) if address.scheme == "file" else wanted


def _written(df: Any, score: ScorePartition, metrics: tuple[Metric, ...], count: int, output: str, mode: str) -> Any:
    """Has the rows scored and written once; what is returned is read from there, so that nothing is scored twice."""
    from pyspark.sql import functions

    # Evenly, so that an equal part of limits and budget is enough for each.
    rows = df.select(functions.to_json(functions.struct("*")).alias("row")).repartition(count)
    if mode == "error" and score.was_begun and not _holds_scores(df.sparkSession, output):
        mode = "overwrite"  # the call that broke off has left an empty folder, where nothing had been
    try:
        rows.mapInPandas(score, scores_schema(metrics)).write.mode(mode).parquet(output)
    except Exception as error:
        raise _told(error, output) from error
    score.remove_progress()
    return df.sparkSession.read.parquet(output)


def _holds_scores(session: Any, output: str) -> bool:
    from pyspark.errors import AnalysisException

    try:
        session.read.parquet(output).schema  # noqa: B018 - reads it
    except AnalysisException:
        return False
    return True


def _told(error: Exception, output: str) -> errors.RagguardError:
    """The error that ended a task, as it would have been raised here."""
    text = str(error)
    if "PATH_ALREADY_EXISTS" in text:
        return UserInputError(
            f"evaluate_spark(): {output} is there already", mend="choose another, or mode='overwrite'"
        )
    raised = _RAISED.search(text)
    kind = getattr(errors, raised[1], None) if raised else None
    if raised and isinstance(kind, type) and issubclass(kind, errors.RagguardError):
        return kind(raised[2], mend="what is done is kept: call again when that is mended")
    return OutsideWorldError(f"the Spark job failed: {first_line(error)}", mend="see Spark's log")


def _usage(scores: Any) -> Usage:
    row = scores.selectExpr(
        "coalesce(sum(calls), 0) calls",
        "coalesce(sum(cached_calls), 0) cached",
        "coalesce(sum(tokens), 0) tokens",
        "sum(cost_usd) usd",
        "count_if(refused is null and cost_usd is null) unknown",
    ).first()
    usd = None if row["unknown"] else float(row["usd"] or 0.0)
    return Usage(calls=row["calls"], cached_calls=row["cached"], tokens=row["tokens"], cost_usd=usd)

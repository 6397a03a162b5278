"""Builds the parts of a run from its config: samples, target, judge, embedder, store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ragguard.adapters.datasets.answers import load_answers
from ragguard.adapters.datasets.jsonl import JsonlDataset
from ragguard.adapters.embedders import BatchingEmbedder, OfflineEmbedder, resolve_embedder
from ragguard.adapters.judges.budget import Ledger as BudgetLedger
from ragguard.adapters.judges.cached import CachedJudge
from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.adapters.judges.offline import OfflineJudge
from ragguard.adapters.judges.panel import PanelJudge
from ragguard.adapters.judges.prompts import Prompts
from ragguard.adapters.targets import Target
from ragguard.adapters.targets.recorded import RecordedTarget
from ragguard.app.config import Config
from ragguard.core.digests import digest
from ragguard.core.evaluation import Bench
from ragguard.core.policy import GatePolicy
from ragguard.core.ports import Embedder, Judge, Store
from ragguard.core.runs import DatasetInfo, Selection
from ragguard.core.samples import Sample
from ragguard.core.selection import Chosen, select
from ragguard.errors import ConfigError, DatasetError, UserInputError

OFFLINE_JUDGE_NOTICE = (
    "The offline judge is a word-level heuristic, not a faithfulness judge: "
    "these figures show how the gate works, not how good the answers are."
)


@dataclass(frozen=True)
class Golden:
    """The golden samples of a run.

    Attributes:
        chosen: The selected samples, and what the selection would take of any other id.
        info: What run.json says of the data set.
        by_id: All samples of the data set, selected or not.
    """

    chosen: Chosen
    info: DatasetInfo
    by_id: Mapping[str, Sample]


def load_golden(config: Config, *, shard: str | None = None, overridden: bool = False) -> Golden:
    """Loads and selects the golden samples.

    Raises:
        DatasetError: Rows are wrong, or nothing is left after the selection.
    """
    pipeline = config.pipeline
    loaded = JsonlDataset(uri=pipeline.dataset, fields=dict(pipeline.fields)).read()
    selection = Selection(budget=pipeline.sample_budget, tags=pipeline.filter.tags, shard=shard)
    chosen = select(loaded.samples, selection)
    if not chosen.samples:
        raise DatasetError(
            f"{loaded.uri}: none of the {loaded.n_total} samples is selected",
            mend="a gate cannot pass what it did not look at: widen pipeline.filter",
        )
    info = DatasetInfo(
        uri=loaded.uri,
        digest=loaded.digest,
        ids_digest=digest(sorted(loaded.by_id)),
        n_total=loaded.n_total,
        n_selected=len(chosen.samples),
        selection=selection,
        overridden=overridden,
    )
    return Golden(chosen, info, loaded.by_id)


def build_target(config: Config, golden: Golden, environment: Mapping[str, str]) -> Target:
    """Builds the target: the configured one, else the answers file, else the answers beside the samples.

    Raises:
        ConfigError: Both a target and an answers file are configured.
    """
    pipeline = config.pipeline
    if pipeline.answers is not None and pipeline.target is not None and pipeline.target.type != "recorded":
        raise ConfigError(
            f"pipeline: both `answers` and a target of type {pipeline.target.type} are given",
            mend="remove one: recorded answers are compared as they are, a target is asked anew",
        )
    if pipeline.answers is not None:
        answers = load_answers(pipeline.answers, dict(pipeline.fields))
        return RecordedTarget(answers=answers, known_ids=golden.by_id.keys())
    if pipeline.target is None:
        return RecordedTarget(known_ids=golden.by_id.keys())
    return pipeline.target.with_environment(environment)


@dataclass
class JudgeParts:
    """A judge ready to be asked, and what must be said about it."""

    judge: Judge
    notices: list[str] = field(default_factory=list)
    budget: BudgetLedger | None = None
    callers: tuple[LiteLLMJudge, ...] = ()

    async def preflight(self) -> None:
        """One cheap call to each model, before anything is spent on samples."""
        for caller in self.callers:
            await caller.preflight()


def build_judge(config: Config, folder: Path, *, use_cache: bool = True) -> JudgeParts:
    """Builds the configured judge or panel, with budget and cache.

    Raises:
        ConfigError: No judge is configured.
    """
    settings = config.judges or ((config.judge,) if config.judge is not None else ())
    if not settings:
        raise ConfigError(
            "no judge is configured",
            mend="write `judge: {model: provider/model}`, or `judge: {model: offline}` for a dry run without a key",
        )
    overrides = folder / config.templates if config.templates else None
    ledger = BudgetLedger(config.budget)
    members: list[Judge] = []
    callers: list[LiteLLMJudge] = []
    notices: list[str] = []
    for one in settings:
        if isinstance(one, OfflineJudge):
            notices.append(OFFLINE_JUDGE_NOTICE)
            members.append(one)
        else:
            caller = one.with_parts(prompts=Prompts(overrides), ledger=ledger)
            callers.append(caller)
            members.append(caller)
    judge = members[0] if len(members) == 1 else PanelJudge(tuple(members))
    if use_cache and config.cache.enabled and callers:
        judge = CachedJudge(
            judge, path=folder / config.cache.path, ttl_days=config.cache.ttl_days, max_mb=config.cache.max_mb
        )
    return JudgeParts(judge, list(dict.fromkeys(notices)), ledger, tuple(callers))


def build_embedder(config: Config, environment: Mapping[str, str], notices: list[str]) -> BatchingEmbedder:
    """Builds the configured embedder; with the offline judge alone the offline one stands in where it cannot be had.

    Raises:
        UserInputError: Nothing here can embed with the configured model.
    """
    judges = config.judges or (config.judge,)
    offline_run = all(isinstance(judge, OfflineJudge) for judge in judges)
    settings = config.embedder
    if settings is None:
        default: dict[str, object] = {"model": "offline"} if offline_run else {"model": "bge-m3"}
        return BatchingEmbedder(resolve_embedder(default, environment))
    try:
        return BatchingEmbedder(resolve_embedder(settings, environment))
    except ConfigError:
        raise
    except UserInputError:
        if not offline_run:
            raise
    offline = resolve_embedder(OfflineEmbedder(), environment)
    notices.append(f"The embedder {settings.model} cannot be reached here; the offline embedder stands in for it.")
    return BatchingEmbedder(offline)


def build_bench(config: Config, judge: Judge, embedder: Embedder) -> Bench:
    """Puts metrics, judge and embedder on the bench."""
    return Bench(config.metrics, judge, embedder, store_text=config.reporting.store_text, vote=config.vote)


def policy_of(config: Config) -> GatePolicy:
    """The gate's policy with what `slo:` adds to it."""
    return config.gate.model_copy(
        update={"regression_tolerance": config.slo.regression_tolerance, "slo_minima": config.slo.minima}
    )


def open_store(config: Config) -> Store:
    """The configured store of runs."""
    return config.reporting.sink

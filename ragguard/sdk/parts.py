"""Builds metrics, judge and embedder from what `evaluate` is given: names, settings, or objects of the user's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ragguard.adapters.embedders import BatchingEmbedder, EmbedderSettings
from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.adapters.judges.offline import OfflineJudge
from ragguard.app.config import TRIAD, Config
from ragguard.app.field_errors import field_errors
from ragguard.app.load import build_embedder, build_judge
from ragguard.app.own_metrics import load_metric
from ragguard.app.yaml_text import YamlText
from ragguard.core.evaluation import Bench
from ragguard.core.metrics import parse_metric
from ragguard.core.metrics.base import Metric
from ragguard.core.ports import Embedder, Judge
from ragguard.errors import ConfigError
from ragguard.sdk.own_embedder import NoEmbedder, own_embedder
from ragguard.sdk.own_judge import NoJudge, own_judge

CACHE = ".ragguard/cache.sqlite"
_JUDGE_SETTINGS = (str, Mapping, OfflineJudge, LiteLLMJudge)
_EMBEDDER_SETTINGS = (str, Mapping, EmbedderSettings)


@dataclass(frozen=True)
class Wishes:
    """What `evaluate` was asked to use; see there.

    Attributes:
        environment: Environment variables that an embedder may need.
        folder: Relative paths start here.
    """

    metrics: object
    judge: object
    embedder: object
    budget: Mapping[str, Any] | None
    cache: bool | str | Path
    templates: str | Path | None
    environment: Mapping[str, str]
    folder: Path
    vote: str = "mean"


@dataclass
class Parts:
    """What evaluating needs.

    Attributes:
        notices: What a reader must know before the numbers.
        fallback: What to use where the judge as a whole fails; None where nothing is left.
    """

    bench: Bench
    notices: list[str] = field(default_factory=list)
    owned: list[Judge | BatchingEmbedder] = field(default_factory=list)
    fallback: Wishes | None = None

    async def aclose(self) -> None:
        """Frees the connections of what was built here; the user's own objects stay open."""
        for part in self.owned:
            await part.aclose()


def build_parts(wishes: Wishes) -> Parts:
    """Builds the parts; nothing is called yet.

    Raises:
        UserInputError: A metric, judge or embedder is wrong, missing, or cannot be had here.
    """
    metrics = resolve_metrics(wishes.metrics)
    config = _config(wishes, metrics)
    parts = Parts(Bench(metrics, NoJudge(), NoEmbedder(), vote=config.vote))
    judged = any(metric.task_names for metric in metrics)
    if wishes.judge is not None:
        parts.bench = replace(parts.bench, judge=_judge(wishes, config, parts))
        parts.notices = parts.notices if judged else []
    elif judged:
        raise ConfigError(
            "evaluate(): these metrics need a judge, and none was given",
            mend="judge='provider/model', or judge='offline' for a dry run without a key",
        )
    if any(metric.uses_embedder for metric in metrics):
        parts.bench = replace(parts.bench, embedder=_embedder(wishes, config, parts))
    for metric in metrics:
        parts.bench.fingerprint(metric)  # a broken template, or a judge that cannot do the metric's task, shows here
    return parts


def resolve_metrics(entries: object) -> tuple[Metric, ...]:
    """Builds metrics from names, mappings, classes and objects; the triad where nothing is named.

    Raises:
        ConfigError: One cannot be built, there is none, or two are the same.
    """
    if entries is None:
        entries = TRIAD
    if isinstance(entries, str | Mapping | Metric | type):
        entries = [entries]
    found: list[Metric] = []
    for entry in entries if isinstance(entries, Sequence) else []:
        found.extend(_built(entry))
    ids = [metric.id for metric in found]
    twice = sorted({id_ for id_ in ids if ids.count(id_) > 1})
    if twice:
        raise ConfigError(f"evaluate(): metrics: {', '.join(twice)} stands twice", mend="keep one of the two")
    if not found:
        raise ConfigError("evaluate(): metrics: there is none", mend="name one, such as 'faithfulness'")
    return tuple(found)


def _built(entry: Any) -> tuple[Metric, ...]:
    if isinstance(entry, Metric):
        return (entry,)
    try:
        if isinstance(entry, type) and issubclass(entry, Metric):
            return (entry.model_validate({}),)
        return parse_metric(entry, load_metric)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ConfigError(f"evaluate(): metrics: {entry.__name__}: {first['loc'][-1]}: {first['msg']}") from None
    except ValueError as error:
        raise ConfigError(f"evaluate(): metrics: {error}") from None


def _is_settings(value: object, kinds: tuple[type, ...]) -> bool:
    """Whether a value says which part to build, instead of being that part."""
    if isinstance(value, list | tuple):
        return all(_is_settings(each, kinds) for each in value)
    return isinstance(value, kinds)


def _config(wishes: Wishes, metrics: tuple[Metric, ...]) -> Config:
    """The settings among the wishes as a config, so that they mean the same as in ragguard.yaml."""
    enabled = wishes.cache is not False
    data: dict[str, Any] = {
        "pipeline": {"dataset": "the given samples"},
        "metrics": list(metrics),
        "budget": dict(wishes.budget or {}),
        "cache": {"enabled": enabled, "path": CACHE if wishes.cache is True else str(wishes.cache)},
        "templates": None if wishes.templates is None else str(wishes.templates),
        "vote": wishes.vote,
    }
    if wishes.judge is not None and _is_settings(wishes.judge, _JUDGE_SETTINGS):
        several = isinstance(wishes.judge, list | tuple)
        data["judges" if several else "judge"] = wishes.judge
    if wishes.embedder is not None and _is_settings(wishes.embedder, _EMBEDDER_SETTINGS):
        data["embedder"] = wishes.embedder
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        text = YamlText("evaluate()", _as_data(data), {})
        raise ConfigError("evaluate(): the settings are wrong", details=field_errors(error, text, Config)) from None


def _as_data(value: Any) -> Any:
    """Settings as plain data, so that the place of a mistake can be told."""
    if isinstance(value, Mapping):
        return {key: _as_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_data(item) for item in value]
    return value.model_dump() if isinstance(value, BaseModel) else value


def _judge(wishes: Wishes, config: Config, parts: Parts) -> Judge:
    if not _is_settings(wishes.judge, _JUDGE_SETTINGS):
        return own_judge(wishes.judge)
    built = build_judge(config, wishes.folder, use_cache=config.cache.enabled)
    parts.notices += built.notices
    parts.owned.append(built.judge)
    if len(built.callers) == 1 and (following := built.callers[0].fallback()) is not None:
        parts.fallback = replace(wishes, judge=following)
    return built.judge


def _embedder(wishes: Wishes, config: Config, parts: Parts) -> Embedder:
    if wishes.embedder is not None and config.embedder is None:
        return BatchingEmbedder(own_embedder(wishes.embedder))
    built = build_embedder(config, wishes.environment, parts.notices)
    parts.owned.append(built)
    return built

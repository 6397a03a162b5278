"""Whose policy decides about a change: the base branch's, so that a change cannot loosen its own gate.

A change may say how its answers are made and which files it wants; everything else (gate, floors, metrics, judge,
embedder, data set, stores, deliveries) is taken from the base and takes effect after the merge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ragguard.app.config import Config
from ragguard.core.metrics import KNOWN
from ragguard.core.metrics.base import Metric
from ragguard.errors import ConfigError

FREE = frozenset({"pipeline.answers", "pipeline.target", "executor", "cache", "reporting.format"})
"""What a change decides for itself."""
_RUNS_CODE = frozenset({"python", "command"})
_SHOWN = 12
_LONGEST = 80
_UNSET = "not set"


def with_base_policy(base: Config, head: Config) -> Config:
    """The base's config with the fields that a change decides for itself."""
    return base.model_copy(
        update={
            "pipeline": base.pipeline.model_copy(
                update={"answers": head.pipeline.answers, "target": head.pipeline.target}
            ),
            "reporting": base.reporting.model_copy(update={"format": head.reporting.format}),
            "executor": head.executor,
            "cache": head.cache,
        }
    )


def policy_changes(base: Config, head: Config) -> list[str]:
    """One sentence for each field of the policy that a change sets otherwise, at most twelve."""
    before, after = (dict(_fields(_readable(config))) for config in (base, head))
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    said = [
        f"Policy changed here, in force after the merge: {name}: {_shown(before.get(name))} → {_shown(after.get(name))}"
        for name in names[:_SHOWN]
    ]
    if len(names) > _SHOWN:
        said.append(f"{len(names) - _SHOWN} more fields of the policy are changed, in force after the merge.")
    return said


def _readable(config: Config) -> Mapping[str, object]:
    """The config as plain values, its metrics by their ids."""
    plain = config.model_dump(mode="json", exclude={"metrics"})
    return {**plain, "metrics": {metric.id: metric.model_dump(mode="json") for metric in config.metrics}}


def _fields(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """The fields of the policy by their dotted paths; a list is one value."""
    if path in FREE:
        return
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _fields(inner, f"{path}.{key}".lstrip("."))
    else:
        yield path, value


def _shown(value: object) -> str:
    text = _UNSET if value is None or value == {} else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def own_metrics(config: Config) -> list[str]:
    """The ids of the metrics whose code is the repository's own."""
    built_in = tuple(KNOWN.values())
    return [metric.id for metric in config.metrics if type(metric) not in built_in]


def no_own_metric(name: str) -> type[Metric]:
    """Stands in for the import of own metrics where nothing of a change may be run.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"the own metric {name} is not run for a stranger's change: its code may be the stranger's")


def refuse_code(config: Config) -> None:
    """Makes sure that nothing of a stranger's change is run.

    Raises:
        ConfigError: The target runs code.
    """
    target = config.pipeline.target
    if target is not None and target.type in _RUNS_CODE:
        raise ConfigError(
            f"pipeline.target: the type {target.type} is not run for a stranger's change: it would run their code",
            mend="give the answers as a file (input `answers`), or ask a service (type http)",
        )

"""The metrics, one file each, and how a config names them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, get_args

from pydantic import Field, ValidationError

from ragguard.core.metrics.abstention import Abstention
from ragguard.core.metrics.answer_correctness import AnswerCorrectness
from ragguard.core.metrics.answer_relevance import AnswerRelevance
from ragguard.core.metrics.audit import Audit, Part
from ragguard.core.metrics.base import Metric
from ragguard.core.metrics.citations import CitationAccuracy, CitationSupport
from ragguard.core.metrics.context_relevance import ContextRelevance
from ragguard.core.metrics.faithfulness import Faithfulness
from ragguard.core.metrics.operations import PERCENTILES, Cost, Latency
from ragguard.core.metrics.reference import ContextPrecision, ContextRecall
from ragguard.core.metrics.retrieval import HitRate, Mrr, Ndcg, RetrievalPrecision, RetrievalRecall
from ragguard.core.metrics.rubric import Rubric

AnyMetric = Annotated[
    Faithfulness
    | ContextRelevance
    | AnswerRelevance
    | ContextRecall
    | ContextPrecision
    | AnswerCorrectness
    | CitationAccuracy
    | CitationSupport
    | Abstention
    | Rubric
    | RetrievalPrecision
    | RetrievalRecall
    | HitRate
    | Mrr
    | Ndcg
    | Latency
    | Cost
    | Audit,
    Field(discriminator="type"),
]
"""Every metric that comes with ragguard; a new one is one line here."""

KNOWN: dict[str, type[Metric]] = {kind.model_fields["type"].default: kind for kind in get_args(get_args(AnyMetric)[0])}
"""The metrics by `type`."""

Load = Callable[[str], type[Metric]]


def parse_metric(entry: str | Mapping[str, Any], load: Load | None = None) -> tuple[Metric, ...]:
    """Builds what one entry of the config's `metrics` names.

    Args:
        entry: A name (`faithfulness`, `ndcg@10`, `latency@p95`, `audit.citation_accuracy`), or a mapping with `type`
            and settings. `latency` and `cost` give both percentiles, `audit` all five numbers.
        load: Imports a user's own metric, named `package.module:Class`.

    Raises:
        ValueError: The name or a setting is wrong; the message says which, and what may be meant.
    """
    name, settings = _name_and_settings(entry)
    if ":" in name and not name.startswith("rubric:"):
        return (_own_metric(name, settings, load),)
    kind, settings = _with_suffix(name, settings)
    if kind not in KNOWN:
        raise ValueError(f"there is no metric {name!r}{_did_you_mean(kind, KNOWN)}")
    return tuple(_built(KNOWN[kind], kind, each) for each in _expanded(kind, settings))


def _name_and_settings(entry: object) -> tuple[str, dict[str, Any]]:
    settings = dict(entry) if isinstance(entry, Mapping) else {"type": entry}
    name = settings.pop("type", None)
    if isinstance(name, str):
        return name.strip(), settings
    raise ValueError("a metric needs a name: write `faithfulness`, or `{type: faithfulness, …}`")


def _with_suffix(name: str, settings: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Takes what stands behind `@`, `.` or `:` in a name as the setting that it is."""
    for mark in "@.:":
        kind, found, rest = name.partition(mark)
        setting = _setting_of(kind, mark) if found else None
        if setting is None:
            continue
        if setting in settings:
            raise ValueError(f"{name!r} says {setting} in its name and again as a setting: keep one of them")
        return kind, {**settings, setting: int(rest) if setting == "k" and rest.isdecimal() else rest}
    return name, settings


def _setting_of(kind: str, mark: str) -> str | None:
    fields = KNOWN[kind].model_fields if kind in KNOWN else {}
    names = {"@": ("k", "at"), ".": ("part",), ":": ("name",)}[mark]
    return next((name for name in names if name in fields), None)


def _expanded(kind: str, settings: dict[str, Any]) -> Iterable[dict[str, Any]]:
    if kind in {"latency", "cost"} and "at" not in settings:
        return [{**settings, "at": at} for at in PERCENTILES]
    if kind == "audit" and "part" not in settings:
        return [{**settings, "part": part} for part in get_args(Part)]
    return [settings]


def _own_metric(name: str, settings: dict[str, Any], load: Load | None) -> Metric:
    if load is None:
        raise ValueError(f"a metric of your own, such as {name!r}, cannot be loaded here")
    return _built(load(name), name, settings)


def _built(kind: type[Metric], name: str, settings: dict[str, Any]) -> Metric:
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        told = "; ".join(_told(kind, each["type"], each["loc"], each["msg"]) for each in error.errors())
        raise ValueError(f"metric {name}: {told}") from None


def _told(kind: type[Metric], problem: str, loc: tuple[int | str, ...], message: str) -> str:
    field = ".".join(map(str, loc))
    if problem == "extra_forbidden":
        return f"{field!r} is no setting of it{_did_you_mean(field, kind.model_fields)}"
    if problem == "missing":
        return f"{field!r} is missing"
    message = message.removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(word.casefold().replace("-", "_"), known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are: {', '.join(known)}"

"""The config tree of ragguard.yaml: what may be written, what it means, and what is told when it is wrong."""

from __future__ import annotations

import difflib
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationInfo,
    model_validator,
)

from ragguard.adapters.embedders import EmbedderConfig
from ragguard.adapters.executors import ExecutorConfig, LocalExecutor
from ragguard.adapters.judges.budget import Budget
from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.adapters.judges.offline import OfflineJudge
from ragguard.adapters.notifiers import DEFAULTS, NotifierConfig
from ragguard.adapters.renderers import FORMATS, FormatName
from ragguard.adapters.stores import StoreConfig
from ragguard.adapters.targets import Target
from ragguard.core.metrics import AnyMetric, parse_metric
from ragguard.core.metrics.base import Metric
from ragguard.core.policy import GatePolicy
from ragguard.core.voting import VoteRule

TRIAD = ("faithfulness", "context_relevance", "answer_relevance")


class Settings(BaseModel):
    """Base of the sections: frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


class Filter(Settings):
    """Which samples are taken: those that have every tag."""

    tags: tuple[str, ...] = ()


class Pipeline(Settings):
    """What is evaluated: the golden samples, and where the answers come from."""

    dataset: str = Field(min_length=1, description="Path or URL (s3, gs, az, https) of the golden JSONL.")
    fields: dict[str, str] = Field(
        default_factory=dict, description="Our field name: the data set's, where aliases do not do."
    )
    sample_budget: int | None = Field(
        default=None, ge=1, description="At most so many samples, chosen by a hash of the id."
    )
    filter: Filter = Filter()
    answers: str | None = Field(default=None, description="Path or URL of recorded answers, joined by id.")
    target: Target | None = Field(default=None, description="The RAG app to ask; recorded answers where absent.")


def _judge_type(value: object) -> object:
    if isinstance(value, str):
        value = {"model": value}
    if isinstance(value, dict) and "type" not in value:
        return {**value, "type": "offline" if value.get("model") == "offline" else "litellm"}
    return value


JudgeConfig = Annotated[
    OfflineJudge | LiteLLMJudge, Field(discriminator="type"), BeforeValidator(_judge_type, json_schema_input_type=Any)
]


class Slo(BaseModel):
    """Floors of the metrics' means, `<metric id>_min`, and the drop that is tolerated."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)
    __pydantic_extra__: dict[str, Annotated[float, Field(ge=0)]] = Field(init=False)

    regression_tolerance: float = Field(default=0.02, ge=0, le=1, description="A larger drop fails; 0.02 is 2 points.")

    @model_validator(mode="before")
    @classmethod
    def _only_floors(cls, value: object) -> object:
        for key in value if isinstance(value, dict) else ():
            if key != "regression_tolerance" and not str(key).endswith("_min"):
                raise ValueError(f"`{key}` is neither `regression_tolerance` nor `<metric id>_min`")
        return value

    @property
    def minima(self) -> dict[str, float]:
        """The floor of each metric's mean, by metric id."""
        return {key.removesuffix("_min"): float(floor) for key, floor in (self.__pydantic_extra__ or {}).items()}


class Baseline(Settings):
    """What the run is compared with besides the last accepted runs."""

    pin: str | None = Field(default=None, description="A run id that every run is compared with as well.")


class Cache(Settings):
    """The cache of judgments on this machine."""

    enabled: bool = True
    path: str = ".ragguard/cache.sqlite"
    ttl_days: float | None = Field(default=30, gt=0)
    max_mb: float = Field(default=512, gt=0)


def _formats(value: object) -> object:
    """Reads `json+markdown`, and says what is meant by a misspelt format."""
    names = value.split("+") if isinstance(value, str) else value
    for name in names if isinstance(names, list) else ():
        if name not in FORMATS:
            close = difflib.get_close_matches(str(name), FORMATS, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; known: {', '.join(FORMATS)}"
            raise ValueError(f"unknown format `{name}`{hint}")
    return names


class Reporting(Settings):
    """Where runs are kept, how they are shown, and who is told."""

    format: Annotated[tuple[FormatName, ...], BeforeValidator(_formats, json_schema_input_type=str | list[str])] = (
        "json",
        "markdown",
    )
    sink: StoreConfig = Field(default_factory=lambda: "file://.ragguard/runs", validate_default=True)
    store_text: bool = Field(default=True, description="false keeps digests only: nothing can be judged again then.")
    on_regression: tuple[NotifierConfig, ...] = Field(default=(), description="Who is told that a run failed.")
    on_recovery: tuple[NotifierConfig, ...] = Field(default=(), description="Who is told that a failure is over.")
    on_error: tuple[NotifierConfig, ...] = Field(default=(), description="Who is told that nothing can be said.")
    always: tuple[NotifierConfig, ...] = Field(default=DEFAULTS, description="Who is told of every run.")
    strict_delivery: bool = Field(default=False, description="A delivery that fails makes the command exit with 4.")


def _metrics(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, list | tuple):
        return value
    load = (info.context or {}).get("load_metric")
    parsed: list[Metric] = []
    for entry in value:
        parsed.extend((entry,) if isinstance(entry, Metric) else parse_metric(entry, load))
    return parsed


class Config(Settings):
    """ragguard.yaml."""

    suite: str = Field(default="default", min_length=1, max_length=100, description="Names what is compared over time.")
    pipeline: Pipeline
    judge: JudgeConfig | None = None
    judges: tuple[JudgeConfig, ...] = Field(default=(), description="A panel instead of one judge.")
    vote: VoteRule = Field(
        default="mean",
        description="Several judges or repeats: the mean of their scores, or one score of the majority's verdicts.",
    )
    embedder: EmbedderConfig | None = None
    metrics: Annotated[
        tuple[SerializeAsAny[Metric], ...], BeforeValidator(_metrics, json_schema_input_type=list[AnyMetric | str])
    ] = Field(default=TRIAD, validate_default=True, min_length=1)
    slo: Slo = Slo()
    gate: GatePolicy = GatePolicy()
    baseline: Baseline = Baseline()
    cache: Cache = Cache()
    budget: Budget = Budget()
    executor: ExecutorConfig = LocalExecutor()
    reporting: Reporting = Reporting()
    templates: str | None = Field(default=None, description="Folder whose templates win over the ones of ragguard.")

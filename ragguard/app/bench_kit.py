"""The bench as settings that can be sent: judges with their part of the limits, embedder, metrics, templates.

Nothing that was built is sent, and no secret: keys come from the environment of the process that calls.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

from ragguard.adapters.embedders import BatchingEmbedder, EmbedderConfig
from ragguard.adapters.judges.budget import Amount, Budget
from ragguard.adapters.judges.budget import Ledger as BudgetLedger
from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.app.config import Cache, Config, JudgeConfig
from ragguard.app.load import build_judge
from ragguard.app.own_metrics import load_metric
from ragguard.core.elsewhere import Paid
from ragguard.core.evaluation import Bench
from ragguard.core.metrics.base import Metric
from ragguard.core.voting import VoteRule
from ragguard.errors import BudgetError


class MetricSettings(BaseModel):
    """A metric as plain data: where its class is, and its settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    place: str
    settings: dict[str, JsonValue]

    @classmethod
    def of(cls, metric: Metric) -> MetricSettings:
        """From the metric."""
        kind = type(metric)
        return cls(place=f"{kind.__module__}:{kind.__qualname__}", settings=metric.model_dump(mode="json"))

    def metric(self) -> Metric:
        """The metric again."""
        return load_metric(self.place).model_validate(self.settings)


class BenchSettings(BaseModel):
    """One process's bench.

    Attributes:
        folder: Where the run's relative paths start; a process on another machine may not have it.
        templates: The user's own judge templates, by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    judges: tuple[JudgeConfig, ...]
    embedder: EmbedderConfig
    metrics: tuple[MetricSettings, ...]
    budget: Budget = Budget()
    cache: Cache = Cache(enabled=False)
    store_text: bool = True
    vote: VoteRule = "mean"
    folder: str
    templates: dict[str, str] = {}

    def open(self, paid: Paid) -> OpenedBench:
        """Builds the bench.

        Args:
            paid: What an earlier try has taken of the budget.

        Raises:
            ValueError: A metric's module is not here.
            BudgetError: Nothing is left of it.
        """
        folder = Path(self.folder)
        if folder.is_dir() and self.folder not in sys.path:
            sys.path.insert(0, self.folder)  # where the user's own metrics are
        metrics = tuple(one.metric() for one in self.metrics)
        scratch = _written(self.templates) if self.templates else None
        config = Config(
            pipeline={"dataset": "elsewhere"},
            judges=self.judges,
            metrics=metrics,
            budget=_left(self.budget, paid),
            cache=self._cache(folder),
            templates=scratch.name if scratch is not None else None,
        )
        judge = build_judge(config, folder, use_cache=config.cache.enabled)
        embedder = BatchingEmbedder(self.embedder)
        bench = Bench(metrics, judge.judge, embedder, store_text=self.store_text, vote=self.vote)
        return OpenedBench(bench, embedder, judge.budget or BudgetLedger(), paid, scratch)

    def _cache(self, folder: Path) -> Cache:
        """The run's own cache where its folder is here, else one that no other user can write to, else none."""
        if not self.cache.enabled or folder.is_dir():
            return self.cache
        own = Path(tempfile.gettempdir()) / f"ragguard-{os.getuid()}"
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
        safe = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
        return self.cache.model_copy(update={"path": str(own / "cache.sqlite"), "enabled": safe})


@dataclass
class OpenedBench:
    """A bench in the process that built it."""

    bench: Bench
    embedder: BatchingEmbedder
    ledger: BudgetLedger
    before: Paid
    templates: tempfile.TemporaryDirectory[str] | None = None

    @property
    def paid(self) -> Paid:
        """What its calls took so far, and what earlier tries had paid."""
        spent = self.ledger.spent
        return self.before + Paid(spent.calls, spent.tokens, spent.usd)

    async def aclose(self) -> None:
        """Frees connections."""
        await self.bench.judge.aclose()
        await self.embedder.aclose()
        if self.templates is not None:
            self.templates.cleanup()


@dataclass
class Kit:
    """The bench's settings, and the run's budget."""

    settings: BenchSettings
    ledger: BudgetLedger = field(default_factory=BudgetLedger)

    @classmethod
    def of(
        cls,
        config: Config,
        metrics: tuple[Metric, ...],
        embedder: BatchingEmbedder,
        folder: Path,
        *,
        use_cache: bool,
        ledger: BudgetLedger | None = None,
    ) -> Kit:
        """From a run's config and its embedder as it was resolved here.

        Raises:
            TypeError: The embedder is no settings but an object of the user's own.
        """
        settings = BenchSettings(
            judges=config.judges or ((config.judge,) if config.judge is not None else ()),
            embedder=embedder.inner,
            metrics=tuple(map(MetricSettings.of, metrics)),
            budget=config.budget,
            cache=config.cache if use_cache else Cache(enabled=False),
            store_text=config.reporting.store_text,
            vote=config.vote,
            folder=str(folder.resolve()),
            templates=_read(folder / config.templates) if config.templates else {},
        )
        return cls(settings, ledger or BudgetLedger(config.budget))

    @property
    def most_parts(self) -> int | None:
        """Into how many parts the limits can be divided so that each can still call."""
        limits = [
            limit
            for judge in self.settings.judges
            if isinstance(judge, LiteLLMJudge)
            for limit in (judge.rpm, judge.tpm, judge.concurrency)
        ]
        left = _left(self.ledger.budget, self._paid)
        known = [limit for limit in (*limits, left.max_calls, left.max_tokens) if limit is not None]
        return max(1, min(known)) if known else None

    def part(self, number: int, of: int) -> BenchSettings:
        """One of several processes' settings; together they keep every limit."""
        judges = tuple(
            judge.model_copy(
                update={
                    "rpm": _share(judge.rpm, number, of),
                    "tpm": _share(judge.tpm, number, of),
                    "concurrency": _share(judge.concurrency, number, of),
                }
            )
            if isinstance(judge, LiteLLMJudge)
            else judge
            for judge in self.settings.judges
        )
        left = _left(self.ledger.budget, self._paid)
        budget = Budget(
            max_usd=None if left.max_usd is None else left.max_usd / of,
            max_calls=_share(left.max_calls, number, of),
            max_tokens=_share(left.max_tokens, number, of),
        )
        return self.settings.model_copy(update={"judges": judges, "budget": budget})

    def book(self, paid: Paid) -> None:
        """Books what was paid elsewhere on the run's budget."""
        self.ledger.spent += Amount(paid.calls, paid.tokens, paid.usd)

    @property
    def _paid(self) -> Paid:
        return Paid(self.ledger.spent.calls, self.ledger.spent.tokens, self.ledger.spent.usd)


def _share(limit: int | None, number: int, of: int) -> int | None:
    """A part of a limit, never less than one: nobody makes more parts than the limit has."""
    return None if limit is None else max(1, limit // of + (number < limit % of))


def _left(budget: Budget, paid: Paid) -> Budget:
    """What a budget still allows.

    Raises:
        BudgetError: Nothing.
    """
    left: dict[str, Any] = {}
    for name, limit, taken in (
        ("max_calls", budget.max_calls, paid.calls),
        ("max_tokens", budget.max_tokens, paid.tokens),
        ("max_usd", budget.max_usd, paid.usd or 0.0),
    ):
        if limit is not None and limit - taken <= 0:
            raise BudgetError(
                f"the budget is spent: {name} is {limit:g}",
                mend="raise `budget` or lower `sample_budget`; what is done is kept",
            )
        left[name] = None if limit is None else limit - taken
    return Budget(**left)


def _read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((folder / "judge").glob("*.j2"))}


def _written(templates: Mapping[str, str]) -> tempfile.TemporaryDirectory[str]:
    scratch = tempfile.TemporaryDirectory(prefix="ragguard-templates-")
    folder = Path(scratch.name) / "judge"
    folder.mkdir()
    for name, text in templates.items():
        (folder / Path(name).name).write_text(text, encoding="utf-8")
    return scratch

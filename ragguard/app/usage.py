"""Counts what a run paid for, from the judgments it got; unknown stays unknown."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from ragguard.core.runs import Usage
from ragguard.core.scores import Judgment, SampleResult


@dataclass
class _Count:
    calls: int = 0
    cached: int = 0
    carried: int = 0
    look_calls: int = 0
    tokens: int | None = 0
    costs: array[float] | None = field(default_factory=lambda: array("d"))

    def add(self, judgment: Judgment) -> None:
        if judgment.source == "cached":
            self.cached += 1
        elif judgment.source == "carried":
            self.carried += 1
        else:
            self._add_called(judgment)

    def _add_called(self, judgment: Judgment) -> None:
        self.calls += judgment.attempts
        self.look_calls += judgment.attempts if judgment.session is not None else 0
        if judgment.prompt_tokens is None or judgment.completion_tokens is None or self.tokens is None:
            self.tokens = None
        else:
            self.tokens += judgment.prompt_tokens + judgment.completion_tokens
        if judgment.cost_usd is None or self.costs is None:
            self.costs = None
        else:
            self.costs.append(judgment.cost_usd)

    def usage(self) -> Usage:
        return Usage(
            calls=self.calls,
            cached_calls=self.cached,
            carried_calls=self.carried,
            look_calls=self.look_calls,
            tokens=self.tokens,
            cost_usd=None if self.costs is None else math.fsum(self.costs),
        )


class UsageMeter:
    """Adds up usage over results, whole and by task."""

    def __init__(self) -> None:
        self._all = _Count()
        self._by_task: dict[str, _Count] = {}
        self.response_models: set[str] = set()

    def add(self, result: SampleResult) -> None:
        """Counts one result's judgments."""
        self._count(result.judgments)

    def _count(self, judgments: Iterable[Judgment]) -> None:
        for judgment in judgments:
            self._all.add(judgment)
            self._by_task.setdefault(judgment.task, _Count()).add(judgment)
            if judgment.response_model:
                self.response_models.add(judgment.response_model)

    @property
    def usage(self) -> Usage:
        """The whole run's usage so far."""
        return self._all.usage()

    @property
    def by_task(self) -> dict[str, Usage]:
        """Usage by task name."""
        return {task: count.usage() for task, count in sorted(self._by_task.items())}

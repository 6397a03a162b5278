"""Every port: what the core and the app ask of the outside, and nothing of how it is done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ragguard.core.runs import Event, EventKind, RunHead
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import JudgeRequest, Judgment, SampleResult
from ragguard.core.tasks import Task
from ragguard.core.work import WorkItem

if TYPE_CHECKING:
    from ragguard.core.evaluation import Bench

Vectors = NDArray[np.float64]


class Dataset(Protocol):
    """Where golden samples come from."""

    def load(self) -> Iterator[Sample]:
        """Yields the samples in file order.

        Raises:
            DatasetError: One or more rows are wrong; every one of them is named.
        """
        ...


@dataclass(frozen=True)
class Answered:
    """What a target gave for one sample: an answer, or why there is none."""

    id: str
    answer: Answer | None
    failure: str | None = None


class Target(Protocol):
    """Where answers come from."""

    def answer_all(self, samples: Sequence[Sample]) -> AsyncIterator[Answered]:
        """Yields one `Answered` for each sample, in any order; one sample's failure is a value.

        Raises:
            TargetError: The target cannot be reached at all.
            DatasetError: Recorded answers do not fit the samples.
        """
        ...


@runtime_checkable
class Judge(Protocol):
    """Who gives verdicts."""

    @property
    def fingerprint(self) -> str:
        """Digest of models, parameters, repeats and panel."""
        ...

    @property
    def models(self) -> tuple[str, ...]:
        """The configured models, for reports."""
        ...

    def prompt_digest(self, task: str) -> str:
        """Digest of the sources that a task's prompt is rendered from."""
        ...

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        """The calls that a task needs: one for each model of the panel and each repeat; pure."""
        ...

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        """Makes one call; a reply that cannot be accepted is a failed judgment.

        Raises:
            JudgeError: The judge as a whole cannot be used.
            BudgetError: The budget is spent.
        """
        ...

    async def aclose(self) -> None:
        """Frees connections."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """What turns texts into vectors."""

    @property
    def fingerprint(self) -> str:
        """Digest of model, dimension and revision."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, one row for each text: shape (len(texts), dim).

        Raises:
            EmbedderError: The embedder cannot be used, or gives vectors of another dimension than configured.
        """
        ...


class Tools(Protocol):
    """What a metric may use while it scores one answer."""

    async def judge(self, task: Task) -> tuple[Judgment, ...]:
        """Returns the accepted judgments of a task, one for each judge and repeat; the same task is asked once.

        Raises:
            TaskFailedError: A judgment failed.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, one row for each text."""
        ...


class TaskFailedError(Exception):
    """A judgment that a score needs has failed; the evaluation turns it into a failed score."""


class Executor(Protocol):
    """What runs work items."""

    def evaluate(self, work: Iterable[WorkItem], bench: Bench) -> AsyncIterator[SampleResult]:
        """Yields one result for each work item, in the order of the work."""
        ...


class Store(Protocol):
    """Where runs are kept. Append-only: a run or event is never changed once written."""

    def heads(
        self, suite: str, *, branch: str | None = None, before: datetime | None = None, limit: int = 50
    ) -> list[RunHead]:
        """Returns complete runs of a suite, newest first.

        Args:
            suite: The suite's name.
            branch: Only runs of this branch.
            before: Only runs whose commit time (creation time where unknown) is not later.
            limit: At most so many.

        Raises:
            StoreError: The store cannot be read; never confused with an empty store.
        """
        ...

    def head(self, run_id: str) -> RunHead | None:
        """Returns one run, or None if there is none of that id."""
        ...

    def samples(self, run_id: str, ids: frozenset[str] | None = None) -> Iterator[SampleResult]:
        """Yields a run's results, all or those of some ids."""
        ...

    def save(self, head: RunHead, results: Iterable[SampleResult]) -> None:
        """Stores a run whole or not at all; storing the same run id again changes nothing."""
        ...

    def event(self, run_id: str, kind: EventKind, by: str, at: datetime, suite: str) -> None:
        """Appends an event."""
        ...

    def events(self, suite: str) -> list[Event]:
        """Returns the events of a suite, oldest first."""
        ...

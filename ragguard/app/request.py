"""What a run is asked to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ragguard.adapters.notifiers.patience import Patience
from ragguard.app.config import Config
from ragguard.app.context import RunContext
from ragguard.app.progress import Progress, Silent
from ragguard.app.shards import Shards


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class RunRequest:
    """One run to do.

    Attributes:
        folder: Relative paths of the config start here.
        output: Where run.json, samples.jsonl and the reports go.
        environment: Environment variables that adapters may need.
        shard: `k/n`, only that part of the data set.
        shards: The parts in which the run was evaluated; they are put together instead of evaluating it.
        dataset_overridden: The data set is not the suite's own: the run is never accepted by itself.
        baseline_run_id: Compare with this run instead of the last accepted ones.
        notices: What a reader must know before all else.
        notify: Tell people of a run on somebody's own machine too.
        patience: How long deliveries may wait for the other side.
        clock: The time now, with time zone.
    """

    config: Config
    context: RunContext
    folder: Path
    output: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    shard: str | None = None
    shards: Shards | None = None
    dataset_overridden: bool = False
    baseline_run_id: str | None = None
    use_cache: bool = True
    notices: tuple[str, ...] = ()
    notify: bool = False
    patience: Patience = field(default_factory=Patience)
    progress: Progress = field(default_factory=Silent)
    clock: Callable[[], datetime] = _now

    @property
    def templates(self) -> Path | None:
        """The user's own templates."""
        return self.folder / self.config.templates if self.config.templates else None

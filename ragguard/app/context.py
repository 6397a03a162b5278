"""The circumstances of a run: what the entrypoint knows and the rest must be told (clock, ids, git, event)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ragguard.core.report import Links


@dataclass(frozen=True)
class RunContext:
    """Who runs what, where and when.

    Attributes:
        run_id: Unique id of the run.
        now: When it started; with time zone.
        event: `local`, `pull_request`, `push`, `schedule`, `workflow_dispatch`, `merge_group` …
        actor: Who started it, for events in the store.
        base_branches: Branches whose accepted runs are the baseline, the first that has any wins; None is a run
            outside git.
        before: The baseline is not newer than this (the merge base's time).
        pull_request_number: Of the pull request under test.
    """

    run_id: str
    now: datetime
    event: str = "local"
    actor: str = "unknown"
    repository: str | None = None
    branch: str | None = None
    base_branches: tuple[str | None, ...] = (None,)
    commit: str | None = None
    base_commit: str | None = None
    commit_time: datetime | None = None
    before: datetime | None = None
    attempt: int = 1
    links: Links = field(default_factory=Links)
    pull_request_number: int | None = None

    @property
    def pull_request(self) -> bool:
        """Whether the run guards a change that is not merged yet."""
        return self.event in {"pull_request", "pull_request_target", "merge_group"}

    @property
    def may_write_store(self) -> bool:
        """Whether the run belongs into the store; runs of pull requests only read it."""
        return not self.pull_request

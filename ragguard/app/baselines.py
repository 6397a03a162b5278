"""Finds the baseline in the store: the last accepted runs of the base branch, and the pinned run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ragguard.adapters.spooled import carried_spool
from ragguard.app.context import RunContext
from ragguard.core.baseline import MAX_RUNS, Baseline, BaselineRun, independent, is_accepted, pinned_run
from ragguard.core.ports import Store
from ragguard.core.runs import Event, RunHead
from ragguard.errors import ConfigError

_LOOKED_AT = 50
_READ_AT_MOST = 2 * MAX_RUNS


def last_accepted(store: Store, suite: str, context: RunContext, *, carry_over: bool, most: int = MAX_RUNS) -> Baseline:
    """The newest accepted runs with independently generated answers, at most so many.

    Raises:
        StoreError: The store cannot be read, which is not the same as an empty one.
    """
    events = store.events(suite)
    for branch in context.base_branches:
        accepted = _accepted(store, suite, branch, context, events)
        if accepted:
            pool = _since_the_last_promoted(accepted, events)
            return Baseline(independent(_read(store, pool[:_READ_AT_MOST], carry_over=carry_over), most))
    return Baseline()


def _accepted(
    store: Store, suite: str, branch: str | None, context: RunContext, events: Sequence[Event]
) -> list[RunHead]:
    """The newest accepted runs, however many that failed came after them: a long incident is no new beginning."""
    looked_at = _LOOKED_AT
    while True:
        heads = store.heads(suite, branch=branch, before=context.before, limit=looked_at)
        accepted = [head for head in heads if head.run_id != context.run_id and is_accepted(head, events)]
        if accepted or len(heads) < looked_at:
            return accepted
        looked_at *= 4


def _since_the_last_promoted(heads: Sequence[RunHead], events: Sequence[Event]) -> Sequence[RunHead]:
    """Cuts the pool, newest first, behind a run that somebody promoted: an intended change starts it anew."""
    promoted = {event.run_id for event in events if event.kind == "accepted"}
    for index, head in enumerate(heads):
        if head.run_id in promoted:
            return heads[: index + 1]
    return heads


def one_run(store: Store, run_id: str, *, carry_over: bool) -> Baseline:
    """A single run as the baseline, such as a pinned one.

    Raises:
        ConfigError: There is no such run in the store.
    """
    head = store.head(run_id)
    if head is None:
        raise ConfigError(
            f"the run {run_id} is not in the store", mend="`ragguard history` lists the runs that are; correct the id"
        )
    return Baseline(tuple(_read(store, [head], carry_over=carry_over)))


def pinned(store: Store, suite: str, configured: str | None, events: Iterable[Event] | None = None) -> str | None:
    """The pinned run's id: the config's, else the newest pin in the store."""
    return configured or pinned_run(store.events(suite) if events is None else events)


def require_pinned(store: Store, suite: str, configured: str | None) -> str | None:
    """Returns the pinned run's id, if there is one, and makes sure that the run is in the store.

    Raises:
        ConfigError: It is not.
        StoreError: The store cannot be read.
    """
    run_id = pinned(store, suite, configured)
    if run_id is not None and store.head(run_id) is None:
        mend = "take `baseline.pin` out of the config, or name" if configured else "`ragguard baseline unpin`, or pin"
        raise ConfigError(
            f"the pinned run {run_id} is not in the store", mend=f"{mend} another run that `ragguard history` lists"
        )
    return run_id


def _read(store: Store, heads: Sequence[RunHead], *, carry_over: bool) -> Iterator[BaselineRun]:
    for index, head in enumerate(heads):
        # Only the newest run's judgments are carried over: older ones answer other texts.
        carries = carry_over and index == 0
        carried = carried_spool() if carries else None
        yield BaselineRun.of(head, store.samples(head.run_id), carry_over=carries, carried=carried)

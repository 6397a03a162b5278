"""What the next run will be compared with, told for a reader: the runs, and how each metric can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ragguard.app import baselines
from ragguard.app.config import Config
from ragguard.app.context import RunContext
from ragguard.app.load import build_bench, build_embedder, build_judge, open_store


def baseline_lines(config: Config, context: RunContext, environment: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Yields the lines of `ragguard baseline show`; nothing is called.

    Raises:
        StoreError: The store cannot be read.
    """
    store = open_store(config)
    found = baselines.last_accepted(store, config.suite, context, carry_over=False)
    pinned = baselines.pinned(store, config.suite, config.baseline.pin)
    if pinned is not None:
        lost = "" if store.head(pinned) is not None else " (not in the store: `ragguard baseline unpin`)"
        yield f"pinned: {pinned}{lost}"
    if not found.runs:
        branches = ", ".join(str(branch or "any") for branch in context.base_branches)
        yield f"no accepted run of suite {config.suite} (branches: {branches}): the next run has no baseline yet"
        return
    yield f"the next run of suite {config.suite} is compared with {len(found.runs)} run(s), newest first:"
    for run in found.runs:
        head = run.head
        commit = (head.commit or "no commit")[:12]
        time = f"{head.ordering_time:%Y-%m-%d %H:%M}"
        yield f"  {run.run_id}  {time}  {head.branch or 'no branch'}  {commit}  {head.outcome}"
    judge = build_judge(config, folder, use_cache=False)
    bench = build_bench(config, judge.judge, build_embedder(config, environment, []))
    for metric in bench.metrics:
        fingerprint = bench.fingerprint(metric)
        comparable = found.comparable_runs(metric.id, fingerprint)
        if comparable:
            yield f"  {metric.id}: comparable with {len(comparable)} run(s); unchanged answers are carried over"
        else:
            difference = found.difference(metric.id, fingerprint)
            yield f"  {metric.id}: {difference}; the baseline's stored answers will be judged again"

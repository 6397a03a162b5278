"""Everything that a run needs and that can be wrong, built before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragguard.adapters.embedders import BatchingEmbedder
from ragguard.adapters.stores import BigQueryStore
from ragguard.app import baselines
from ragguard.app.bench_kit import Kit
from ragguard.app.load import (
    Golden,
    JudgeParts,
    build_bench,
    build_embedder,
    build_judge,
    open_store,
    policy_of,
)
from ragguard.app.request import RunRequest
from ragguard.core.baseline import MAX_RUNS, Baseline
from ragguard.core.evaluation import Bench
from ragguard.core.policy import GatePolicy
from ragguard.core.ports import Store


@dataclass
class Parts:
    """The parts of one run.

    Attributes:
        notices: What a reader must know before the numbers.
        pinned: The run that every run is compared with as well.
    """

    golden: Golden
    judge: JudgeParts
    embedder: BatchingEmbedder
    bench: Bench
    store: Store
    policy: GatePolicy
    baseline: Baseline
    notices: list[str]
    pinned: str | None = None

    async def aclose(self) -> None:
        """Frees connections."""
        await self.judge.judge.aclose()
        await self.embedder.aclose()
        if isinstance(self.store, BigQueryStore):
            self.store.close()


def prepare(request: RunRequest, golden: Golden, notices: Sequence[str] = ()) -> Parts:
    """Builds judge, embedder and store, and finds the baseline.

    Args:
        request: What to do.
        golden: The golden samples.
        notices: What must be said besides.

    Raises:
        UserInputError: Config, templates or the named baseline are wrong.
        StoreError: The store cannot be read.
    """
    config = request.config
    policy = policy_of(config)
    use_cache = request.use_cache and policy.carry_over and config.cache.enabled
    judge = build_judge(config, request.folder, use_cache=use_cache)
    said = [*notices, *judge.notices]
    embedder = build_embedder(config, request.environment, said)
    bench = build_bench(config, judge.judge, embedder)
    for metric in bench.metrics:
        bench.fingerprint(metric)  # a user's broken template is found here
    store = open_store(config)
    if request.baseline_run_id is not None:
        baseline = baselines.one_run(store, request.baseline_run_id, carry_over=policy.carry_over)
    else:
        most = MAX_RUNS if request.shard is None else 1  # a shard compares nothing, it only carries over
        baseline = baselines.last_accepted(
            store, config.suite, request.context, carry_over=policy.carry_over, most=most
        )
    pinned = baselines.require_pinned(store, config.suite, config.baseline.pin)
    bench = replace(
        bench,
        kit=Kit.of(config, bench.metrics, embedder, request.folder, use_cache=use_cache, ledger=judge.budget),
    )
    return Parts(golden, judge, embedder, bench, store, policy, baseline, said, pinned)

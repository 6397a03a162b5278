"""Puts the shards of one run together: from there on it is a run like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragguard.adapters.addresses import DEFAULT_ACCESS, Access
from ragguard.adapters.runfiles import read_run
from ragguard.app.pipeline import run_pipeline
from ragguard.app.request import RunRequest
from ragguard.app.shards import Shards
from ragguard.core.report import Report
from ragguard.errors import RunFileError


async def merge_shards(request: RunRequest, uris: Sequence[str], access: Access = DEFAULT_ACCESS) -> Report:
    """Compares, decides, stores and reports as `run` does, on what the shards evaluated.

    Nothing is evaluated again but what the gate wants to look at twice.

    Args:
        request: What to do; config, data set and commit are the shards'.
        uris: The run.json of each shard, or the folder that holds it, in any order.
        access: What may be reached.

    Raises:
        RunFileError: The shards do not belong together, or not to this config, data set and commit.
        UserInputError: The config or the data set is wrong.
        OutsideWorldError: The store cannot be used.
    """
    shards = Shards.of([read_run(uri, access) for uri in uris])
    head, context = shards.first, request.context
    for what, theirs, ours in (
        ("suite", head.suite, request.config.suite),
        ("commit", head.commit, context.commit or head.commit),
    ):
        if theirs != ours:
            raise RunFileError(
                f"the shards are of {what} {theirs}, this is {ours}", mend=f"merge with the {what} of the shards"
            )
    overridden = request.dataset_overridden or any(run.head.dataset.overridden for run in shards.runs)
    return await run_pipeline(replace(request, shards=shards, dataset_overridden=overridden))

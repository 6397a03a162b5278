"""A judge server, a proxy before it that breaks calls, and small runs that are judged through both."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ragguard.adapters.embedders.litellm import LiteLLMEmbedder
from ragguard.adapters.judges.litellm import LiteLLMJudge
from tests.fakes.fault_runs import Ended, FaultRuns
from tests.parts.embedding_server import embedding_server
from tests.parts.faulty_proxy import FaultyProxy, faulty_proxy
from tests.parts.judge_server import JudgeServer, judge_server

CONFIG = """
suite: small
pipeline: {{dataset: golden.jsonl}}
judge: {{model: openai/judge, api_base: "{url}", concurrency: 2, timeout: 300, call_deadline: 600}}
embedder: {{type: offline, backend: ngrams}}
metrics: [faithfulness]
"""


@dataclass
class World:
    """One judge, what stands between, and the runs."""

    proxy: FaultyProxy
    server: JudgeServer
    runs: FaultRuns

    def end(self, overrides: Mapping[str, object] | None = None) -> Ended:
        """Does the next run."""
        config = CONFIG.format(url=self.proxy.url)
        return self.runs.end(config, overrides={"cache.path": str(self.cache), **(overrides or {})})

    @property
    def cache(self) -> Path:
        """The file of judgments."""
        return self.runs.folder / "cache.sqlite"

    @property
    def judgments_in_cache(self) -> int:
        """How many judgments were paid for and are kept."""
        if not self.cache.exists():
            return 0
        db = sqlite3.connect(self.cache)
        (count,) = db.execute("SELECT COUNT(*) FROM judgments").fetchone()
        db.close()
        return int(count)


@cache
def warm_litellm() -> None:
    """Imports LiteLLM and makes its first calls: seconds of real time, which would be minutes of the runs' own."""

    async def story() -> None:
        with judge_server() as server, embedding_server() as vectors:
            judge = LiteLLMJudge(model="openai/judge", api_base=server.url)
            embedder = LiteLLMEmbedder(model="vectors", api_base=vectors.api_base)
            await judge.probe()
            await embedder.embed(["học phí"])
            await judge.aclose()
            await embedder.aclose()

    asyncio.run(story())


@contextmanager
def judge_world(folder: Path, n: int = 6, **behaviour: Any) -> Iterator[World]:
    """Runs server and proxy for the length of a `with` block."""
    warm_litellm()
    with judge_server(**behaviour) as server, faulty_proxy(server.url) as proxy:
        yield World(proxy, server, FaultRuns(folder, n))


def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the developer's own keys away."""
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

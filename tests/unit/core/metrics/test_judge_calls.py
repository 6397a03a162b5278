"""Judge calls for one sample: counted at a server that a real client talks to, prompts, replies and all."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.core.evaluation import Bench, evaluate_item
from ragguard.core.metrics import parse_metric
from ragguard.core.ports import Vectors
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import SampleResult
from ragguard.core.work import WorkItem
from tests.parts.judge_server import JudgeServer, hashed_vector, judge_server
from tests.unit.core.metrics.cases import passages

TRIAD = ["faithfulness", "context_relevance", "answer_relevance"]
FIVE = [*TRIAD, "context_recall", "context_precision"]
ITEM = Sample(
    id="s",
    question="学费是200元吗？什么时候交？",
    contexts=passages("学费是200元。开学前交。", "Thư viện mở cửa lúc 8 giờ.", "The canteen has 3 floors."),
    reference=["学费是200元，开学前交。", "Học phí 200 tệ."],
    answerable=True,
    gold_passage_ids=["p1"],
)
GIVEN = Answer(text="学费是200元。图书馆有9层。", citations=["p1"], latency_s=1.0, cost_usd=0.01)


class HashingEmbedder:
    fingerprint = "hashing"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([hashed_vector(text, 64) for text in texts])


def evaluate(server: JudgeServer, entries: Sequence[object]) -> SampleResult:
    async def run() -> SampleResult:
        judge = LiteLLMJudge(model="openai/judge", api_base=server.url)
        metrics = tuple(metric for entry in entries for metric in parse_metric(entry))  # type: ignore[arg-type]
        try:
            return await evaluate_item(WorkItem(ITEM, GIVEN), Bench(metrics, judge, HashingEmbedder()))
        finally:
            await judge.aclose()

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")


BY_PASSAGES = {"type": "context_relevance", "method": "passages"}
RUBRIC = {"type": "rubric", "name": "giọng-văn", "criterion": "Lịch sự?", "shows": ["contexts", "reference"]}


@pytest.mark.parametrize(
    ("entries", "tasks"),
    [
        (TRIAD, ["claims", "sentences", "questions"]),
        (FIVE, ["claims", "sentences", "questions", "reference"]),
        (["context_recall"], ["reference"]),
        (["context_precision"], ["reference"]),
        (
            ["faithfulness", BY_PASSAGES, "answer_relevance", "context_recall", "context_precision"],
            ["claims", "passages_a", "passages_b", "questions", "reference"],
        ),
        (
            ["answer_correctness", "citation_support", "abstention", RUBRIC],
            ["correctness", "citations", "abstention", "rubric"],
        ),
        (["ndcg@3", "mrr", "hit_rate", "retrieval_recall", "citation_accuracy", "latency", "cost", "audit"], []),
    ],
)
def test_each_task_is_asked_once(entries: list[object], tasks: list[str]) -> None:
    with judge_server() as server:
        found = evaluate(server, entries)
    assert server.stats.tasks == Counter(tasks)
    assert server.stats.calls == len(tasks)
    assert {score.status for score in found.scores} <= {"scored", "not_applicable"}
    assert all(score.status == "scored" for score in found.scores if not score.metric.startswith("audit."))


def test_values_come_from_the_servers_verdicts() -> None:
    with judge_server() as server:
        found = evaluate(server, FIVE)
    values = {score.metric: score.value for score in found.scores}
    assert values["faithfulness"] == 0.5
    assert values["context_relevance"] == 0.25
    assert values["context_recall"] == 1.0
    assert values["context_precision"] == 1.0


@pytest.mark.parametrize("entry", ["faithfulness", "context_precision", BY_PASSAGES])
@pytest.mark.parametrize("kind", ["one missing", "one twice", "one unknown"])
def test_a_reply_that_misses_the_items_is_asked_for_three_times_and_then_failed(entry: object, kind: str) -> None:
    with judge_server(broken_rate=1.0, kinds=kind) as server:
        found = evaluate(server, [entry])
    (score,) = found.scores
    assert (score.status, score.value) == ("failed", None)
    assert {judgment.attempts for judgment in found.judgments} == {3}
    assert set(server.stats.tasks.values()) == {3}

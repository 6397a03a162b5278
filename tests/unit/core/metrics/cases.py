"""Short ways to write samples, answers and replies, and to score one answer the way a run does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from ragguard.core.evaluation import Bench, evaluate_item
from ragguard.core.metrics import parse_metric
from ragguard.core.metrics.base import Metric
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.scores import SampleResult, Score
from ragguard.core.work import WorkItem
from tests.fakes.judging import FixedEmbedder, Script, ScriptedJudge

QUESTION = "学费是多少？"
ANSWER = "Học phí là 2 triệu đồng. Nộp trước tháng 8."


def passages(*texts: str) -> tuple[Passage, ...]:
    """Passages p1, p2 … in rank order."""
    return tuple(Passage(id=f"p{rank}", text=text, rank=rank) for rank, text in enumerate(texts, 1))


def flagged(*flags: bool | None) -> tuple[Passage, ...]:
    """Passages p1, p2 … that are ground truth or not."""
    return tuple(
        Passage(id=f"p{rank}", text=f"t{rank}", rank=rank, is_ground_truth=flag) for rank, flag in enumerate(flags, 1)
    )


def sample(**fields: Any) -> Sample:
    """A sample that lacks everything but a question."""
    return Sample(**{"id": "s1", "question": QUESTION, **fields})


def answer(text: str = ANSWER, **fields: Any) -> Answer:
    """An answer of two sentences."""
    return Answer(text=text, **fields)


def metric(entry: str | Mapping[str, Any]) -> Metric:
    """The one metric that an entry of a config names."""
    (only,) = parse_metric(entry)
    return only


def claims(*verdicts: str, source: int | None = None, no_claim: Sequence[int] = ()) -> dict[str, Any]:
    """A claims reply: claim i comes from line i, or from `source`."""
    made = [
        {
            "source": source or number,
            "claim": f"claim {number}",
            "passage": 0 if verdict == "absent" else 1,
            "verdict": verdict,
        }
        for number, verdict in enumerate(verdicts, 1)
    ]
    return {"claims": made, "no_claim": list(no_claim)}


def result(
    metrics: Sequence[Metric],
    judge: ScriptedJudge,
    item: Sample,
    given: Answer | None,
    embedder: FixedEmbedder | None = None,
) -> SampleResult:
    """Evaluates one answer with some metrics."""
    bench = Bench(tuple(metrics), judge, embedder or FixedEmbedder({}))
    return asyncio.run(evaluate_item(WorkItem(item, given), bench))


def score(
    entry: str | Mapping[str, Any],
    item: Sample,
    given: Answer | None = None,
    script: Mapping[str, Script] | None = None,
    *,
    vectors: Mapping[str, Sequence[float]] | None = None,
    calls: int | None = None,
    panel: int = 1,
) -> Score:
    """Scores one answer with one metric, and checks how often the judge was called where `calls` says so."""
    judge = ScriptedJudge(script or {}, panel)
    chosen = metric(entry)
    found = result([chosen], judge, item, answer() if given is None else given, FixedEmbedder(vectors or {}))
    if calls is not None:
        assert len(judge.asked) == calls
    (only,) = found.scores
    return only

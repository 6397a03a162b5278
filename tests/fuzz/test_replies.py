"""A judge's replies: accepted only where they answer what was asked, and then every value is a fraction."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ragguard.adapters.judges.prompts import Prompts
from ragguard.adapters.judges.replies import Accepted, Refused, check, read_reply
from ragguard.core.evaluation import Bench, evaluate_item
from ragguard.core.metrics import parse_metric
from ragguard.core.ports import Vectors
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key
from ragguard.core.tasks import Task
from ragguard.core.work import WorkItem
from tests.fakes.judging import ScriptedJudge
from tests.fuzz.harness import fuzzed, strict_json
from tests.fuzz.mutations import as_json, broken, broken_bytes, texts, values
from tests.parts.judge_rules import answer, read_prompt

METRICS = tuple(
    metric
    for entry in (
        "faithfulness",
        "context_relevance",
        "answer_relevance",
        "context_recall",
        "context_precision",
        "answer_correctness",
        "abstention",
        "citation_accuracy",
        {"type": "rubric", "name": "tone", "criterion": "Is it polite?"},
    )
    for metric in parse_metric(entry)
)
SAMPLE = Sample(
    id="s",
    question="Học phí là bao nhiêu?",
    contexts=(Passage(id="p1", text="Học phí là 5 triệu. Nộp trước tháng 8."), Passage(id="p2", text="学费是五百万。")),
    reference=("Học phí là 5 triệu.", "学费是五百万。"),
    answerable=True,
    gold_passage_ids=("p1",),
)
ANSWER = Answer(text="Học phí là 5 triệu [1]. Nộp trước tháng 8 [2].", citations=("p1", "p2"))


class OneVector:
    """An embedder to which all texts are alike."""

    fingerprint = "one"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.tile([1.0, 0.0], (len(texts), 1))


class Mumbling(ScriptedJudge):
    """Replies what it is told to, whatever that is; the reply is read as every judge's."""

    def __init__(self, mumble: Callable[[dict[str, Any]], str]) -> None:
        super().__init__({})
        self._mumble = mumble

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        prompt = Prompts().render(task)
        good = answer(read_prompt(f"{prompt.system}\n{prompt.user}"), lambda line, verdicts, default: default)
        text = self._mumble(good)
        read = read_reply(text, task)
        known = {"key": judgment_key(request), "task": task.name, "model": request.model}
        if isinstance(read, Refused):
            assert read.problems
            for problem in read.problems:
                assert "Traceback" not in problem
            return Judgment(**known, status="failed", reason="; ".join(read.problems))
        assert check(read.output, task) == Accepted(read.output)
        return Judgment(**known, status="ok", output=read.output)


@fuzzed(25, data=st.data())
def test_a_broken_reply_is_refused_or_scores_a_fraction(data: st.DataObject) -> None:
    def mumble(good: dict[str, Any]) -> str:
        whole = broken(st.just(good)).map(as_json)
        drawn = data.draw(st.one_of(whole, whole, broken_bytes(whole), values.map(as_json), texts.map(as_json)))
        return drawn.decode("utf-8", "replace")

    bench = Bench(METRICS, Mumbling(mumble), OneVector())
    result = asyncio.run(evaluate_item(WorkItem(SAMPLE, ANSWER), bench))
    strict_json(result.model_dump_json())
    for score in result.scores:
        assert (score.value is not None) is (score.status == "scored"), score
        assert (score.passed is not None) is (score.status == "scored"), score
        assert score.value is None or (math.isfinite(score.value) and 0 <= score.value <= 1), score
        assert " raised " not in (score.reason or ""), score


@fuzzed(80, text=st.one_of(st.text(max_size=200), st.text(alphabet='{}[]":,\\ntrue0-9.eE+', max_size=80)))
def test_any_text_is_read_or_refused(text: str) -> None:
    task = parse_metric("faithfulness")[0].tasks(SAMPLE, ANSWER)[0]
    read = read_reply(text, task)
    assert isinstance(read, Refused), read
    assert read.problems

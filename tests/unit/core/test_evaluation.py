"""One work item: each task asked once, failures as values, what is known taken over."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Literal

import numpy as np
import pytest

from ragguard.core.evaluation import Bench, evaluate_item
from ragguard.core.metrics import AnswerRelevance, ContextPrecision, ContextRecall, Faithfulness
from ragguard.core.metrics.base import Metric
from ragguard.core.ports import Tools, Vectors
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.scores import JudgeRequest, Judgment, SampleResult, Score
from ragguard.core.tasks import Task
from ragguard.core.work import Carried, WorkItem
from ragguard.errors import EmbedderError, JudgeError
from tests.fakes.judging import ScriptedJudge

SAMPLE = Sample(id="s", question="q?", contexts=(Passage(id="p", text="It is 5."),), reference=("It is 5.",))
ANSWER = Answer(text="It is 5.")
CLAIMS = {"claims": [{"source": 1, "claim": "It is 5.", "passage": 1, "verdict": "supported"}], "no_claim": []}
REFERENCE = {**CLAIMS, "passages": [{"passage": 1, "helps": [1]}]}
QUESTIONS = {"noncommittal": False, "questions": ["a?", "b?", "c?"]}


class CountingEmbedder:
    fingerprint = "counting"

    def __init__(self) -> None:
        self.calls = 0

    async def embed(self, texts: list[str]) -> Vectors:
        self.calls += 1
        return np.tile([1.0, 0.0], (len(texts), 1))


class BrokenEmbedder(CountingEmbedder):
    async def embed(self, texts: list[str]) -> Vectors:
        raise EmbedderError("down")


class DeadJudge(ScriptedJudge):
    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        raise JudgeError("wrong key")


class Crashing(Metric):
    type: Literal["crashing"] = "crashing"
    needs: ClassVar[tuple[str, ...]] = ()

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        raise ZeroDivisionError("a bug of the user's")


def judge(**script: object) -> ScriptedJudge:
    return ScriptedJudge({"claims": CLAIMS, "reference": REFERENCE, "questions": QUESTIONS, **script})  # type: ignore[dict-item]


def evaluate(bench: Bench, item: WorkItem | None = None) -> SampleResult:
    return asyncio.run(evaluate_item(item or WorkItem(SAMPLE, ANSWER), bench))


def test_a_task_that_two_metrics_share_is_asked_once() -> None:
    asked = judge()
    result = evaluate(Bench((ContextRecall(), ContextPrecision(), Faithfulness()), asked, CountingEmbedder()))
    assert asked.names == ["claims", "reference"]
    assert [score.value for score in result.scores] == [1.0, 1.0, 1.0]
    assert len(result.judgments) == 2


def test_a_failed_judgment_fails_its_metrics_alone() -> None:
    bench = Bench((ContextRecall(), Faithfulness()), judge(reference=None), CountingEmbedder())
    recall, faithfulness = evaluate(bench).scores
    assert (recall.status, recall.value) == ("failed", None)
    assert "scripted to fail" in str(recall.reason)
    assert faithfulness.value == 1.0


def test_a_dead_judge_is_an_exception_not_a_score() -> None:
    with pytest.raises(JudgeError, match="wrong key"):
        evaluate(Bench((Faithfulness(),), DeadJudge({}), CountingEmbedder()))


def test_a_failing_embedder_and_a_crashing_metric_are_failed_scores() -> None:
    relevance, crashing = evaluate(Bench((AnswerRelevance(), Crashing()), judge(), BrokenEmbedder())).scores
    assert (relevance.status, relevance.reason) == ("failed", "down")
    assert crashing.reason == "Crashing raised ZeroDivisionError: a bug of the user's"
    assert (crashing.status, crashing.value, crashing.passed) == ("failed", None, None)


def test_without_an_answer_every_score_has_failed_with_the_targets_reason() -> None:
    item = WorkItem(SAMPLE, None, target_failure="HTTP 500")
    result = evaluate(Bench((Faithfulness(), ContextRecall()), judge(), CountingEmbedder()), item)
    assert {score.reason for score in result.scores} == {"no answer: HTTP 500"}
    assert result.answer_digest is None


def test_a_metric_that_lacks_a_field_is_not_applicable() -> None:
    bare = SAMPLE.model_copy(update={"reference": None, "contexts": None})
    result = evaluate(Bench((Faithfulness(), ContextRecall()), judge(), CountingEmbedder()), WorkItem(bare, ANSWER))
    assert [score.status for score in result.scores] == ["not_applicable", "not_applicable"]
    assert [score.value for score in result.scores] == [None, None]


def test_what_the_baseline_knows_is_copied_without_a_call_or_an_embedding() -> None:
    first_judge, embedder = judge(), CountingEmbedder()
    metrics = (Faithfulness(), AnswerRelevance())
    first = evaluate(Bench(metrics, first_judge, embedder))
    second_judge, second_embedder = judge(), CountingEmbedder()
    item = WorkItem(SAMPLE, ANSWER, carried=Carried.of(first))
    second = evaluate(Bench(metrics, second_judge, second_embedder), item)
    assert (second_judge.asked, second_embedder.calls) == ([], 0)
    assert [score.value for score in second.scores] == [score.value for score in first.scores]
    assert {judgment.source for judgment in second.judgments} == {"carried"}
    third = evaluate(Bench(metrics, judge(), embedder), WorkItem(SAMPLE, ANSWER, carried=Carried.of(second)))
    assert {judgment.source for judgment in third.judgments} == {"carried"}


def test_a_changed_threshold_keeps_the_score_and_changes_its_label() -> None:
    first = evaluate(Bench((Faithfulness(),), judge(), CountingEmbedder()))
    strict = Faithfulness(threshold=1.0)
    low = first.model_copy(update={"scores": (first.scores[0].model_copy(update={"value": 0.9}),)})
    item = WorkItem(SAMPLE, ANSWER, carried=Carried.of(low))
    (score,) = evaluate(Bench((strict,), judge(), CountingEmbedder()), item).scores
    assert (score.value, score.passed, score.label) == (0.9, False, "faithfulness.fail")


@pytest.mark.parametrize(
    "item",
    [
        WorkItem(SAMPLE, Answer(text="It is 6.")),
        WorkItem(SAMPLE.model_copy(update={"contexts": (Passage(id="p", text="It is 7."),)}), ANSWER),
        WorkItem(SAMPLE, ANSWER, repeat=1, session="look"),
    ],
)
def test_another_answer_passage_or_look_is_judged_anew(item: WorkItem) -> None:
    known = Carried.of(evaluate(Bench((Faithfulness(),), judge(), CountingEmbedder())))
    asked = judge()
    carried = WorkItem(item.sample, item.answer, repeat=item.repeat, session=item.session, carried=known)
    evaluate(Bench((Faithfulness(),), asked, CountingEmbedder()), carried)
    assert asked.names == ["claims"]


class Settled(Metric):
    type: Literal["settled"] = "settled"
    share: float = 0.5

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        return self.scored(self.share)


class SettledAnew(Settled):
    version: ClassVar[int] = 2


def test_a_score_made_with_other_settings_is_not_carried_over() -> None:
    first = evaluate(Bench((Settled(share=0.75),), judge(), CountingEmbedder()))
    item = WorkItem(SAMPLE, ANSWER, carried=Carried.of(first))
    assert evaluate(Bench((Settled(share=0.25),), judge(), CountingEmbedder()), item).scores[0].value == 0.25


def test_a_new_version_of_a_metric_scores_anew() -> None:
    known = Carried.of(evaluate(Bench((Settled(),), judge(), CountingEmbedder())))
    wrong = {key: score.model_copy(update={"value": 1.0}) for key, score in known.scores.items()}
    item = WorkItem(SAMPLE, ANSWER, carried=Carried(known.judgments, wrong))
    assert evaluate(Bench((SettledAnew(),), judge(), CountingEmbedder()), item).scores[0].value == 0.5


def test_failed_judgments_and_scores_are_never_carried_over() -> None:
    known = Carried.of(evaluate(Bench((Faithfulness(),), judge(claims=None), CountingEmbedder())))
    assert (known.judgments, known.scores) == ({}, {})


def test_no_score_depends_on_which_other_metrics_are_configured() -> None:
    alone = evaluate(Bench((Faithfulness(),), judge(), CountingEmbedder())).scores[0]
    among = evaluate(Bench((ContextRecall(), Faithfulness(), AnswerRelevance()), judge(), CountingEmbedder())).scores[1]
    assert alone == among


def test_a_fingerprint_holds_only_what_its_metric_uses() -> None:
    bench = Bench((Faithfulness(), AnswerRelevance()), judge(), CountingEmbedder())
    faithfulness, relevance = (bench.fingerprint(metric) for metric in bench.metrics)
    assert (faithfulness.embedder, set(faithfulness.prompts)) == (None, {"claims"})
    assert (relevance.embedder, set(relevance.prompts)) == ("counting", {"questions"})
    assert faithfulness.differences(relevance) == [
        "prompt of claims",
        "prompt of questions",
        "embedder",
        "metric version or settings",
    ]


def test_texts_are_left_out_where_they_are_not_to_be_stored() -> None:
    result = evaluate(Bench((Faithfulness(),), judge(), CountingEmbedder(), store_text=False))
    assert (result.sample, result.answer) == (None, None)
    assert result.answer_digest is not None

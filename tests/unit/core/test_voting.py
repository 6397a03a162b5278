"""Majority votes: verdict by verdict, a tie to the stricter one, whatever the order of the judges."""

from __future__ import annotations

import asyncio
from itertools import permutations
from typing import Any

import pytest

from ragguard.core.evaluation import Bench, evaluate_item
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import SampleResult
from ragguard.core.tasks import Reply, Task
from ragguard.core.voting import Tally, VoteRule
from ragguard.core.work import Carried, WorkItem
from tests.fakes.judging import FixedEmbedder, Script, ScriptedJudge
from tests.unit.core.metrics.cases import answer, claims, metric, passages, sample

FACTS = passages("Học phí là 2 triệu đồng.", "学费应在八月前缴纳。")
ITEM = sample(contexts=FACTS, reference=["Học phí là 2 triệu đồng.", "2百万越南盾。"], answerable=True)


def evaluated(
    entry: str | dict[str, Any],
    replies: list[dict[str, Any]],
    task: str,
    vote: VoteRule = "majority",
    item: Sample = ITEM,
    given: Answer | None = None,
    **rest: Script,
) -> SampleResult:
    judge = ScriptedJudge({task: replies, **rest}, panel=len(replies))
    bench = Bench(
        (metric(entry),), judge, FixedEmbedder({"a?": [1, 0], "b?": [0, 1], "学费是多少？": [1, 0]}), vote=vote
    )
    return asyncio.run(evaluate_item(WorkItem(item, given or answer()), bench))


def value(*given: Any, **more: Any) -> float | None:
    return evaluated(*given, **more).scores[0].value


def sentences(*relevant: int) -> dict[str, Any]:
    return {"relevant": list(relevant), "irrelevant": [number for number in (1, 2) if number not in relevant]}


def reference(*verdicts: str, helps: list[list[int]]) -> dict[str, Any]:
    uses = [{"passage": number, "helps": found} for number, found in enumerate(helps, 1)]
    return {**claims(*verdicts), "passages": uses}


def correctness(in_references: list[int], in_answer: bool) -> dict[str, Any]:
    return {
        "answer": [{"source": 1, "claim": "a", "in_references": in_references}],
        "answer_no_claim": [2],
        "reference": [{"source": 1, "claim": "r", "in_answer": in_answer}],
        "reference_no_claim": [2],
    }


GOOD, BAD = claims("supported", "supported"), claims("supported", "absent")
NONE = claims("supported", no_claim=[2])
BY_PASSAGES = {"type": "context_relevance", "method": "passages"}
RUBRIC = {"type": "rubric", "name": "polite", "criterion": "Is it polite?"}
UNANSWERABLE = sample(contexts=FACTS, answerable=False)


@pytest.mark.parametrize(
    ("entry", "task", "replies", "expected", "tied", "more"),
    [
        ("faithfulness", "claims", [GOOD, GOOD, BAD], 1.0, 0, {}),
        ("faithfulness", "claims", [GOOD, BAD, BAD], 0.5, 0, {}),
        ("faithfulness", "claims", [GOOD, BAD], 0.5, 1, {}),
        ("faithfulness", "claims", [NONE, NONE, BAD], 1.0, 0, {}),
        ("faithfulness", "claims", [NONE, GOOD, BAD], 0.5, 1, {}),
        # Cut in three claims or in one, the line is voted on as a whole; of the winners the middle one is shown.
        ("faithfulness", "claims", [GOOD, claims("supported", "absent", "absent", source=1, no_claim=[2]), claims(
            "supported", "absent", source=1, no_claim=[2]
        )], 1 / 3, 0, {}),
        ("context_relevance", "sentences", [sentences(1), sentences(1, 2), sentences(2)], 1.0, 0, {}),
        ("context_relevance", "sentences", [sentences(1), sentences(1), sentences(2)], 0.5, 0, {}),
        ("context_relevance", "sentences", [sentences(1), sentences(2)], 0.0, 2, {}),
        ("context_recall", "reference", [reference("supported", "absent", helps=[[1], []])] * 2 + [
            reference("absent", "absent", helps=[[], []])
        ], 1.0, 0, {}),
        ("context_precision", "reference", [
            reference("supported", "supported", helps=[[], [1]]), reference("supported", "supported", helps=[[1], [1]]),
            reference("supported", "supported", helps=[[], []]),
        ], 0.5, 0, {}),
        ("answer_correctness", "correctness", [correctness([1], True), correctness([1], True), correctness([], False)], 1.0, 0, {}),
        ("answer_correctness", "correctness", [correctness([1], True), correctness([], False)], 0.0, 2, {}),
        ("answer_relevance", "questions", [
            {"noncommittal": False, "questions": ["a?"] * 3}, {"noncommittal": False, "questions": ["b?"] * 3},
            {"noncommittal": True, "questions": ["b?"] * 3},
        ], 0.5, 0, {}),
        ("answer_relevance", "questions", [
            {"noncommittal": False, "questions": ["a?"] * 3}, {"noncommittal": True, "questions": ["b?"] * 3},
        ], 0.0, 1, {}),
        # Which of the two is the stricter verdict depends on the question.
        ("abstention", "abstention", [{"verdict": "answered"}, {"verdict": "refused"}], 0.0, 1, {}),
        ("abstention", "abstention", [{"verdict": "answered"}, {"verdict": "refused"}], 0.0, 1, {"item": UNANSWERABLE}),
        ("abstention", "abstention", [{"verdict": "answered"}, {"verdict": "partial"}, {"verdict": "refused"}], 1.0, 0, {}),
        (RUBRIC, "rubric:polite", [{"score": 2, "reason": "x"}, {"score": 2, "reason": "y"}, {"score": 0, "reason": "z"}], 1.0, 0, {}),
        (RUBRIC, "rubric:polite", [{"score": 2, "reason": "x"}, {"score": 1, "reason": "y"}, {"score": 0, "reason": "z"}], 0.0, 1, {}),
    ],
)  # fmt: skip
def test_the_verdicts_that_most_gave_count_and_a_tie_goes_to_the_stricter(
    entry: Any, task: str, replies: list[dict[str, Any]], expected: float, tied: int, more: dict[str, Any]
) -> None:
    for order in permutations(replies):
        (score,) = evaluated(entry, list(order), task, **more).scores
        assert score.value == pytest.approx(expected), score.reason
        ballot: Any = score.details["votes"]
        assert ballot[task]["votes"] == len(replies)
        assert ballot[task]["tied"] == tied
        assert ("tied_vote" in score.flags) is bool(tied)
        assert ("tied, the stricter verdict counts" in (score.reason or "")) is bool(tied)


def test_grades_are_voted_passage_by_passage() -> None:
    def grades(*values: int) -> dict[str, Any]:
        return {"grades": [{"passage": number, "grade": grade} for number, grade in enumerate(values, 1)]}

    replies = [grades(2, 1), grades(2, 0), grades(0, 2)]
    assert value(BY_PASSAGES, replies, "passages_a", passages_b=replies) == 0.5
    assert value(BY_PASSAGES, replies, "passages_a", "mean", passages_b=replies) == pytest.approx(4 / 6)


def test_mean_stays_what_it_was() -> None:
    (score,) = evaluated("faithfulness", [GOOD, BAD], "claims", "mean").scores
    assert (score.value, score.flags) == (0.75, ())
    assert "votes" not in score.details


def test_a_voted_score_names_the_judgments_behind_it_and_is_carried_over_with_them() -> None:
    judge = ScriptedJudge({"claims": [GOOD, GOOD, BAD]}, panel=3)
    bench = Bench((metric("faithfulness"),), judge, FixedEmbedder({}), vote="majority")
    first = asyncio.run(evaluate_item(WorkItem(ITEM, answer()), bench))
    assert set(first.scores[0].judgment_keys) == {judgment.key for judgment in first.judgments}
    assert len(judge.asked) == 3
    second = asyncio.run(evaluate_item(WorkItem(ITEM, answer(), carried=Carried.of(first)), bench))
    assert len(judge.asked) == 3
    assert second.scores == first.scores
    assert len(second.judgments) == 3


def test_another_vote_is_another_judge_and_another_score_but_asks_nothing_anew() -> None:
    judge = ScriptedJudge({"claims": [GOOD, GOOD, BAD]}, panel=3)
    mean, majority = (
        Bench((metric("faithfulness"),), judge, FixedEmbedder({}), vote=vote) for vote in ("mean", "majority")
    )  # type: ignore[arg-type]
    assert majority.fingerprint(metric("faithfulness")).differences(mean.fingerprint(metric("faithfulness"))) == [
        "judge"
    ]
    first = asyncio.run(evaluate_item(WorkItem(ITEM, answer()), mean))
    second = asyncio.run(evaluate_item(WorkItem(ITEM, answer(), carried=Carried.of(first)), majority))
    assert (first.scores[0].value, second.scores[0].value) == (pytest.approx(5 / 6), 1.0)
    assert len(judge.asked) == 3


def test_a_reply_without_verdicts_counts_by_its_mean() -> None:
    class OwnReply(Reply):
        grade: float

    task = Task("own", {}, OwnReply)
    assert OwnReply.majority([OwnReply(grade=1), OwnReply(grade=0)], Tally(task.inputs)) is None

"""Every edge case that the metrics' meaning names, each with the value and the number of judge calls it takes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ragguard.core.scores import Score
from tests.fakes.judging import ScriptedJudge
from tests.unit.core.metrics.cases import ANSWER, QUESTION, answer, claims, metric, passages, result, sample, score

NO_CLAIM = {"claims": [], "no_claim": [1, 2]}
REFUSAL = "资料中没有提到学费。"
FACTS = passages("Học phí 2 triệu đồng.", "食堂在一楼。")
FULL: dict[str, Any] = {"contexts": FACTS, "reference": ["Học phí là 2 triệu đồng."]}
ALL_FIVE = ("faithfulness", "context_relevance", "answer_relevance", "context_recall", "context_precision")


def reference_reply(*verdicts: str, helps: tuple[list[int], ...] = ([1], [])) -> dict[str, Any]:
    uses = [{"passage": number, "helps": found} for number, found in enumerate(helps, 1)]
    return {**claims(*verdicts), "passages": uses}


def test_an_answer_without_claims_is_faithful_and_flagged() -> None:
    found = score("faithfulness", sample(contexts=FACTS), answer(), {"claims": NO_CLAIM}, calls=1)
    assert (found.value, found.flags) == (1.0, ("no_claims",))


def test_a_blank_answer_is_faithful_without_a_call() -> None:
    found = score("faithfulness", sample(contexts=FACTS), answer("  \n"), calls=0)
    assert found.value == 1.0
    assert "no_claims" in found.flags


def test_with_nothing_retrieved_a_claim_is_unfaithful_and_one_call_tells() -> None:
    found = score("faithfulness", sample(contexts=[]), answer(), {"claims": claims("absent", "absent")}, calls=1)
    assert found.value == 0.0


def test_with_nothing_retrieved_an_answer_without_claims_is_faithful() -> None:
    found = score("faithfulness", sample(contexts=[]), answer(), {"claims": NO_CLAIM}, calls=1)
    assert found.value == 1.0


@pytest.mark.parametrize("texts", [(), ("  ",)])
@pytest.mark.parametrize(
    "entry",
    ["context_relevance", {"type": "context_relevance", "method": "passages"}, "context_recall", "context_precision"],
)
def test_with_nothing_retrieved_the_context_metrics_are_0_without_a_call(entry: Any, texts: tuple[str, ...]) -> None:
    found = score(entry, sample(contexts=passages(*texts), reference=["x"]), calls=0)
    assert (found.status, found.value, found.flags) == ("scored", 0.0, ("no_context",))


@pytest.mark.parametrize("name", ["faithfulness", "context_relevance", "context_recall", "context_precision", "mrr"])
def test_contexts_that_are_not_told_make_a_metric_not_applicable(name: str) -> None:
    found = score(name, sample(reference=["x"], gold_passage_ids=["p1"]), calls=0)
    assert (found.status, found.value, found.passed) == ("not_applicable", None, None)
    assert "contexts" in str(found.reason)


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_blank_answer_is_irrelevant_without_a_call(text: str) -> None:
    found = score("answer_relevance", sample(), answer(text), calls=0)
    assert (found.value, found.flags) == (0.0, ("empty_answer",))


def test_an_answer_that_only_refuses_is_irrelevant_and_flagged() -> None:
    script = {"questions": {"noncommittal": True, "questions": ["甲？", "乙？", "丙？"]}}
    found = score("answer_relevance", sample(), answer(REFUSAL), script, calls=1)
    assert (found.value, found.flags) == (0.0, ("noncommittal",))


def test_answer_relevance_is_the_mean_cosine_floored_at_0() -> None:
    script = {"questions": {"noncommittal": False, "questions": ["a", "b"]}}
    entry = {"type": "answer_relevance", "strictness": 2}
    near = score(entry, sample(), answer(), script, vectors={QUESTION: [1, 0], "a": [1, 0], "b": [0, 1]}, calls=1)
    far = score(entry, sample(), answer(), script, vectors={QUESTION: [1, 0], "a": [-1, 0], "b": [-1, 0]})
    assert near.value == pytest.approx(0.5)
    assert far.value == 0.0


@pytest.mark.parametrize("name", ["context_recall", "context_precision", "answer_correctness"])
@pytest.mark.parametrize("reference", [None, [], ["  "]])
def test_without_a_reference_nothing_takes_its_place(name: str, reference: Any) -> None:
    found = score(name, sample(contexts=FACTS, reference=reference), answer(), calls=0)
    assert (found.status, found.value) == ("not_applicable", None)


def test_of_alternative_references_the_best_scoring_counts() -> None:
    item = sample(contexts=FACTS, reference=["Một. Hai.", "三。"])
    reply = {
        **claims("supported", "absent", "supported"),
        "passages": [{"passage": 1, "helps": []}, {"passage": 2, "helps": [1, 2]}],
    }
    assert score("context_recall", item, answer(), {"reference": reply}).value == 1.0
    assert score("context_precision", item, answer(), {"reference": reply}).value == 0.5


def test_an_alternative_that_claims_nothing_does_not_win() -> None:
    item = sample(contexts=FACTS, reference=["资料中没有提到。", "三。"])
    reply = {
        "claims": [{"source": 2, "claim": "三", "passage": 0, "verdict": "absent"}],
        "no_claim": [1],
        "passages": [{"passage": 1, "helps": [1]}, {"passage": 2, "helps": []}],
    }
    assert score("context_recall", item, answer(), {"reference": reply}).value == 0.0
    assert score("context_precision", item, answer(), {"reference": reply}).value == 0.0


@pytest.mark.parametrize("name", ["context_recall", "context_precision"])
def test_a_reference_that_claims_nothing_is_not_applicable_and_keeps_its_judgment(name: str) -> None:
    item = sample(contexts=FACTS, reference=["资料中没有提到。"])
    reply = {"claims": [], "no_claim": [1], "passages": [{"passage": 1, "helps": []}, {"passage": 2, "helps": []}]}
    found = score(name, item, answer(), {"reference": reply}, calls=1)
    assert found.status == "not_applicable"
    assert len(found.judgment_keys) == 1


@pytest.mark.parametrize("helps", [([1], [1]), ([1], [])])
def test_context_precision_reaches_1(helps: tuple[list[int], list[int]]) -> None:
    found = score("context_precision", sample(**FULL), answer(), {"reference": reference_reply("absent", helps=helps)})
    assert found.value == 1.0


def test_context_precision_counts_ranks() -> None:
    last = reference_reply("supported", helps=([], [1]))
    none = reference_reply("supported", helps=([], []))
    assert score("context_precision", sample(**FULL), answer(), {"reference": last}).value == 0.5
    assert score("context_precision", sample(**FULL), answer(), {"reference": none}).value == 0.0


def test_a_total_score_that_the_judge_writes_itself_is_ignored() -> None:
    script = {
        "claims": {**claims("supported", "absent"), "score": 0.99, "faithfulness": 1},
        "reference": {**reference_reply("absent"), "recall": 1.0},
    }
    assert score("faithfulness", sample(contexts=FACTS), answer(), script).value == 0.5
    assert score("context_recall", sample(**FULL), answer(), script).value == 0.0


def test_a_judgment_that_failed_is_a_failed_score_of_that_metric_alone() -> None:
    judge = ScriptedJudge({"claims": None, "sentences": {"relevant": [1], "irrelevant": [2]}})
    found = result([metric("faithfulness"), metric("context_relevance")], judge, sample(contexts=FACTS), answer())
    faithfulness, relevance = found.scores
    assert (faithfulness.status, faithfulness.value, faithfulness.passed) == ("failed", None, None)
    assert "scripted to fail" in str(faithfulness.reason)
    assert relevance.value == 0.5


def test_an_answer_that_the_target_did_not_give_fails_every_metric() -> None:
    metrics = [metric(name) for name in ALL_FIVE]
    found = result(metrics, ScriptedJudge({}), sample(**FULL), None)
    assert [one.status for one in found.scores] == ["failed"] * 5


def test_the_answers_own_contexts_win_over_the_samples() -> None:
    found = score("context_relevance", sample(contexts=FACTS), answer(contexts=()), calls=0)
    assert found.value == 0.0


def test_claims_keep_the_language_and_questions_follow_the_answer() -> None:
    judge = ScriptedJudge(
        {
            "claims": claims("supported", "supported"),
            "questions": {"noncommittal": False, "questions": ["Học phí là bao nhiêu?"] * 3},
        }
    )
    result([metric("faithfulness"), metric("answer_relevance")], judge, sample(contexts=FACTS), answer())
    shown = {task.name: task.inputs for task in judge.asked}
    assert shown["claims"]["lines"] == ["Học phí là 2 triệu đồng.", "Nộp trước tháng 8."]
    assert shown["questions"]["answer"] == ANSWER


def test_a_panel_gives_the_mean_of_its_members() -> None:
    script = {"claims": [claims("supported", "absent"), claims("supported", "supported")]}
    found = score("faithfulness", sample(contexts=FACTS), answer(), script, panel=2, calls=2)
    assert found.value == 0.75
    assert len(found.judgment_keys) == 2


@pytest.mark.parametrize(
    ("settings", "value", "passed"),
    [
        ({}, 0.5, True),
        ({"threshold": 0.5}, 0.5, True),
        ({"threshold": 0.51}, 0.5, False),
        ({"threshold": 7, "scale": 10}, 0.5, False),
        ({"threshold": 5, "scale": 10}, 0.5, True),
    ],
)
def test_a_score_tells_whether_it_reaches_the_threshold(settings: dict[str, Any], value: float, passed: bool) -> None:
    script = {"claims": claims("supported", "absent")}
    found = score({"type": "faithfulness", **settings}, sample(contexts=FACTS), answer(), script)
    assert (found.value, found.passed) == (value, passed)
    assert found.label == f"faithfulness.{'pass' if passed else 'fail'}"
    assert found.reason


def test_no_score_is_ever_nan() -> None:
    found = Score(metric="m", status="scored", value=1.0)
    assert found.value is not None
    assert math.isfinite(found.value)
    with pytest.raises(ValueError, match="finite"):
        Score(metric="m", status="scored", value=math.nan)
    with pytest.raises(ValueError, match="no fraction"):
        metric("faithfulness").scored(1.5)

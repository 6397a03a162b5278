"""Judges and embedders of the user's own; the triad by single verdicts is what a plain loop would compute."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from ragguard import NotScoredError, evaluate
from ragguard.core.tasks import Task
from ragguard.errors import ConfigError, JudgeError, UserInputError
from tests.fakes.judging import FixedEmbedder, ScriptedJudge
from tests.unit.sdk.cases import AsyncLoopJudge, LoopJudge, embed, row, rows

SAMPLES = [
    ("What does the course cost?", ["The course cost is 90. Lunch is free.", "Rooms are open."], "The course cost is 90; lunch is 5"),
    ("When does the library open?", ["The library is old."], "The library is old"),
    ("What is known?", ["Grass grows. Rain falls. Sun shines."], "Nothing is known."),
    ("Where is the exam?", [], "In hall 3; at noon"),
    ("Who teaches it?", ["Ann teaches it."], ";"),
]  # fmt: skip


def plain_loop(judge: LoopJudge, question: str, contexts: Sequence[str], answer: str, n: int = 3) -> dict[str, float]:
    """The triad by its formulas, one verdict after another."""
    claims = judge.decompose_to_claims(answer)
    supported = [judge.is_supported(claim=claim, context=contexts) for claim in claims]
    sentences = judge.split_into_sentences(contexts)
    relevant = [judge.is_relevant(sentence=sentence, query=question) for sentence in sentences]
    cosines = []
    for generated in judge.generate_questions(answer=answer, n=n):
        a, b = np.array(embed(question)), np.array(embed(generated))
        cosines.append(float(a @ b / math.sqrt(float(a @ a) * float(b @ b))))
    return {
        "faithfulness": sum(supported) / len(supported) if supported else 1.0,
        "context_relevance": sum(relevant) / len(relevant) if relevant else 0.0,
        "answer_relevance": sum(cosines) / len(cosines) if cosines else 0.0,
    }


@pytest.mark.parametrize("judge", [LoopJudge(), AsyncLoopJudge()], ids=["sync", "async"])
def test_the_triad_by_single_verdicts_is_the_plain_loop_s(judge: object) -> None:
    given = [
        {"query": question, "retrieved_context": contexts, "answer": answer} for question, contexts, answer in SAMPLES
    ]
    evaluation = evaluate(given, judge=judge, embedder=embed)
    expected = [plain_loop(LoopJudge(), *sample) for sample in SAMPLES]
    for result, wanted in zip(evaluation, expected, strict=True):
        assert {score.metric: score.score for score in result} == pytest.approx(wanted, abs=1e-9)
    means = {name: sum(each[name] for each in expected) / len(expected) for name in expected[0]}
    assert evaluation.triad_mean == pytest.approx(sum(means.values()) / 3, abs=1e-9)
    assert len({wanted["faithfulness"] for wanted in expected}) > 2


def test_single_verdicts_name_lines_and_passages() -> None:
    given = {"question": "q?", "contexts": ["Blue sky.", "Red sea."], "answer": "Red sea\nGreen hill"}

    class ByLine(LoopJudge):
        def decompose_to_claims(self, answer: str) -> list[str]:
            return answer.split("\n")

    claims = evaluate(given, judge=ByLine(), metrics="faithfulness").result["faithfulness"].details["claims"]
    assert [(claim["line"], claim["verdict"]) for claim in claims] == [
        ("Red sea", "supported"),
        ("Green hill", "absent"),
    ]
    assert claims[0]["passage"]["rank"] == 2


def test_recall_and_precision_by_single_verdicts() -> None:
    given = {
        "question": "q?", "answer": "a", "reference": ["The sea is red; the sky is blue", "Nothing else"],
        "contexts": ["Hills are green.", "The sea is red."],
    }  # fmt: skip
    result = evaluate(given, judge=LoopJudge(), metrics=["context_recall", "context_precision"]).result
    assert (result.context_recall, result.context_precision) == (0.5, 0.5)


def test_a_judge_that_cannot_do_a_metric_s_task_is_told_before_it_is_asked() -> None:
    with pytest.raises(ConfigError, match="LoopJudge gives single verdicts only"):
        evaluate(rows(1), judge=LoopJudge(), metrics="answer_correctness")

    class Half:
        def is_relevant(self, *, sentence: str, query: str) -> bool:
            return True

    assert evaluate(rows(1), judge=Half(), metrics="context_relevance").context_relevance == 1.0
    with pytest.raises(ConfigError, match="has no decompose_to_claims and no is_supported"):
        evaluate(rows(1), judge=Half(), metrics="faithfulness")


def test_what_a_judge_raises_fails_its_sample_alone() -> None:
    class Fragile(LoopJudge):
        def is_supported(self, *, claim: str, context: Sequence[str]) -> bool:
            if "95.000" in claim:
                raise ValueError("cannot read this")
            return super().is_supported(claim=claim.rstrip("."), context=context)

    evaluation = evaluate(rows(4, wrong=1), judge=Fragile(), metrics="faithfulness")
    assert [result["faithfulness"].score for result in evaluation] == [None, 1.0, 1.0, 1.0]
    assert "Fragile raised ValueError: cannot read this" in (evaluation.results[0]["faithfulness"].reason or "")
    with pytest.raises(NotScoredError):
        evaluation.faithfulness  # noqa: B018


def test_an_outage_that_a_judge_tells_of_ends_the_evaluation() -> None:
    class Down(LoopJudge):
        def is_supported(self, *, claim: str, context: Sequence[str]) -> bool:
            raise JudgeError("the server is gone")

    with pytest.raises(JudgeError, match="the server is gone"):
        evaluate(rows(1), judge=Down(), metrics="faithfulness")


def test_too_few_questions_are_no_score() -> None:
    class Lazy(LoopJudge):
        def generate_questions(self, *, answer: str, n: int) -> list[str]:
            return ["q?"]

    result = evaluate(rows(1), judge=Lazy(), embedder=embed, metrics="answer_relevance").result["answer_relevance"]
    assert (result.status, result.score) == ("failed", None)
    assert "asked for 3 questions, got 1" in (result.reason or "")


class Asking:
    """An object with `ask` alone."""

    def __init__(self, reply: object) -> None:
        self.reply = reply

    async def ask(self, task: Task, request: object) -> object:
        return self.reply


def test_an_object_that_only_asks_is_a_judge() -> None:
    reply = {
        "claims": [{"source": 1, "claim": "c", "passage": 1, "verdict": "supported"}],
        "no_claim": [],
        "score": 0.1,
    }
    assert evaluate(rows(1), judge=Asking(reply), metrics="faithfulness").faithfulness == 1.0


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({"claims": [], "no_claim": []}, "missing: line 1"),
        ({"claims": [{"source": 1}], "no_claim": []}, "the reply does not fit: claims.0.claim"),
        ("supported", "the reply is a str, not a mapping"),
    ],
)
def test_a_reply_that_does_not_speak_of_what_was_asked_is_not_taken(reply: object, told: str) -> None:
    result = evaluate(rows(1), judge=Asking(reply), metrics="faithfulness").result["faithfulness"]
    assert (result.status, result.score) == ("failed", None)
    assert told in (result.reason or "")


def test_a_whole_judge_and_a_whole_embedder_are_taken_as_they_are() -> None:
    judge = ScriptedJudge({"questions": {"noncommittal": False, "questions": ["x?", "y?", "x?"]}})
    embedder = FixedEmbedder({str(row("a")["question"]): [1, 0], "x?": [1, 0], "y?": [0, 1]})
    evaluation = evaluate(row("a"), judge=judge, embedder=embedder, metrics="answer_relevance")
    assert evaluation.answer_relevance == pytest.approx(2 / 3)
    assert judge.names == ["questions"]
    assert evaluation.head.fingerprints["answer_relevance"].judge == "scripted"
    assert evaluation.head.fingerprints["answer_relevance"].embedder == "fixed"


class Documents:
    """An object that embeds many texts under the name some libraries give it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [embed(text) for text in texts]


class Encoder:
    def __call__(self, text: str) -> list[float]:
        raise AssertionError("it encodes many at once")

    def encode(self, texts: list[str]) -> Any:
        return np.array([embed(text) for text in texts])


async def embed_later(text: str) -> list[float]:
    await asyncio.sleep(0)
    return embed(text)


@pytest.mark.parametrize("embedder", [embed, embed_later, Documents(), Encoder(), lambda text: np.array(embed(text))])
def test_any_shape_of_embedder_gives_the_same_cosines(embedder: object) -> None:
    found = evaluate(rows(1), judge=LoopJudge(), embedder=embedder, metrics="answer_relevance").answer_relevance
    wanted = evaluate(rows(1), judge=LoopJudge(), embedder=embed, metrics="answer_relevance").answer_relevance
    assert found == pytest.approx(wanted, abs=1e-12)
    assert 0 < found < 1


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], "text"])
def test_a_vector_that_is_none_is_no_score(vector: object) -> None:
    result = evaluate(rows(1), judge=LoopJudge(), embedder=lambda text: vector, metrics="answer_relevance").result
    assert result["answer_relevance"].status == "failed"


def test_the_embedder_s_server_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGUARD_EMBEDDER_API_BASE", "no address")
    with pytest.raises(UserInputError, match="RAGGUARD_EMBEDDER_API_BASE is wrong"):
        evaluate(rows(1), judge=LoopJudge(), metrics="answer_relevance")
    assert evaluate(rows(1), judge=LoopJudge(), metrics="context_relevance").context_relevance == 1.0


def test_a_list_of_judges_is_a_panel() -> None:
    with pytest.raises(ConfigError, match="names the same judge twice"):
        evaluate(rows(1), judge=["offline", {"model": "offline"}], metrics="faithfulness")


def test_settings_reach_the_judge() -> None:
    with pytest.raises(UserInputError, match="max_tokens"):
        evaluate(rows(1), judge={"model": "openai/x", "max_tokens": -1}, metrics="faithfulness")


def test_replies_are_mappings_of_any_kind() -> None:
    class Frozen(Mapping[str, object]):
        _data: ClassVar[dict[str, object]] = {"claims": [], "no_claim": [1]}

        def __getitem__(self, key: str) -> object:
            return self._data[key]

        def __iter__(self) -> Any:
            return iter(self._data)

        def __len__(self) -> int:
            return len(self._data)

    result = evaluate(rows(1), judge=Asking(Frozen()), metrics="faithfulness").result["faithfulness"]
    assert (result.score, result.flags) == (1.0, ("no_claims",))


def test_nothing_retrieved_supports_nothing_whatever_the_judge_would_say() -> None:
    class Gullible(LoopJudge):
        def is_supported(self, *, claim: str, context: Sequence[str]) -> bool:
            return True

    given = {"question": "q?", "answer": "The sea is red.", "contexts": []}
    assert evaluate(given, judge=Gullible(), metrics="faithfulness").faithfulness == 0.0
    assert evaluate({**given, "contexts": ["x."]}, judge=Gullible(), metrics="faithfulness").faithfulness == 1.0

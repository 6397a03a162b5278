"""How a config names metrics, and what is said about names and settings that are wrong."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal, get_args

import pytest
from pydantic import TypeAdapter

from ragguard.core.metrics import KNOWN, AnyMetric, parse_metric
from ragguard.core.metrics.base import Metric
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import Score


@pytest.mark.parametrize(
    ("entry", "ids"),
    [
        ("faithfulness", ["faithfulness"]),
        (" faithfulness ", ["faithfulness"]),
        ({"type": "context_relevance", "method": "passages"}, ["context_relevance"]),
        ("ndcg@10", ["ndcg@10"]),
        ({"type": "ndcg", "k": 10}, ["ndcg@10"]),
        ({"type": "ndcg@10", "threshold": 0.7}, ["ndcg@10"]),
        ("mrr", ["mrr"]),
        ("latency", ["latency@p50", "latency@p95"]),
        ("cost@p95", ["cost@p95"]),
        ({"type": "cost", "at": "p50"}, ["cost@p50"]),
        ("audit.citation_accuracy", ["audit.citation_accuracy"]),
        ({"type": "audit", "part": "context_recall"}, ["audit.context_recall"]),
        (
            "audit",
            [
                "audit.context_precision",
                "audit.context_recall",
                "audit.faithfulness_score",
                "audit.abstention_correct",
                "audit.citation_accuracy",
            ],
        ),
        ({"type": "rubric", "name": "tone", "criterion": "Is it kind?"}, ["rubric:tone"]),
        ({"type": "rubric:tone", "criterion": "Is it kind?", "scale": 10, "threshold": 7}, ["rubric:tone"]),
    ],
)
def test_entries(entry: Any, ids: list[str]) -> None:
    assert [metric.id for metric in parse_metric(entry)] == ids


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("faithfullness", "there is no metric 'faithfullness'; did you mean 'faithfulness'?"),
        ("Answer-Relevance", "did you mean 'answer_relevance'?"),
        ("xyz", "known are: faithfulness, "),
        ("faithfulness@3", "there is no metric 'faithfulness@3'"),
        ("ndcg@ten", "metric ndcg: k: "),
        ("ndcg@0", "metric ndcg: k: "),
        ({"type": "ndcg@3", "k": 2}, "keep one of them"),
        ("latency@p99", "metric latency: at: "),
        ("audit.nothing", "metric audit: part: "),
        ("rubric:tone", "metric rubric: 'criterion' is missing"),
        ("rubric", "'name' is missing; 'criterion' is missing"),
        ({"type": "rubric", "name": "a b", "criterion": "x"}, "metric rubric: name: "),
        ({"type": "rubric", "name": "a/../b", "criterion": "x"}, "metric rubric: name: "),
        ({"type": "rubric", "name": "a", "criterion": "x", "steps": ["only"]}, "at least one score above it"),
        ({"type": "rubric", "name": "a", "criterion": "x", "steps": {1: "a", 5: "b"}}, "must name the score 0"),
        ({"type": "rubric", "name": "a", "criterion": "x", "steps": ["a", "b"], "scale": 5}, "does not end where"),
        ({"type": "answer_relevance", "strictness": 6}, "metric answer_relevance: strictness: "),
        ({"type": "answer_relevance", "strictnes": 3}, "'strictnes' is no setting of it; did you mean 'strictness'?"),
        ({"type": "context_relevance", "method": "lines"}, "metric context_relevance: method: "),
        ({"type": "faithfulness", "threshold": 7}, "add `scale: 10`"),
        ({"type": "faithfulness", "weight": 0}, "metric faithfulness: weight: "),
        ({"type": "faithfulness", "threshold": float("nan")}, "metric faithfulness: threshold: "),
        ({"k": 3}, "a metric needs a name"),
        ({"type": None}, "a metric needs a name"),
        (7, "a metric needs a name"),
        ("my_pkg.metrics:Politeness", "cannot be loaded here"),
    ],
)
def test_wrong_entries_say_what_is_wrong(entry: Any, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        parse_metric(entry)


def test_a_rubrics_scale_alone_makes_its_ends() -> None:
    (found,) = parse_metric({"type": "rubric", "name": "a", "criterion": "x", "scale": 5})
    assert found.model_dump()["steps"] == {0: "not met at all", 5: "fully met"}


class Politeness(Metric):
    """A user's own metric."""

    type: Literal["politeness"] = "politeness"
    word: str = "please"
    needs: ClassVar[tuple[str, ...]] = ("answer",)

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        return self.scored(float(self.word in answer.text))


def test_a_users_own_metric_is_loaded_by_its_path_and_takes_settings() -> None:
    asked: list[str] = []

    def load(path: str) -> type[Metric]:
        asked.append(path)
        return Politeness

    (plain,) = parse_metric("my_pkg.metrics:Politeness", load)
    (with_word,) = parse_metric({"type": "my_pkg.metrics:Politeness", "word": "làm ơn"}, load)
    assert (plain.id, with_word.model_dump()["word"]) == ("politeness", "làm ơn")
    assert asked == ["my_pkg.metrics:Politeness"] * 2
    with pytest.raises(ValueError, match="'wrod' is no setting of it; did you mean 'word'"):
        parse_metric({"type": "my_pkg.metrics:Politeness", "wrod": "x"}, load)


def test_every_metric_of_the_union_is_known_documented_and_refuses_unknown_settings() -> None:
    assert len(KNOWN) == len(get_args(get_args(AnyMetric)[0]))
    for kind in KNOWN.values():
        assert kind.__doc__
        assert kind.model_config.get("extra") == "forbid"
        assert kind.model_config.get("frozen")


def test_the_schema_names_every_metric_and_lets_audit_and_latency_be_whole() -> None:
    schema = TypeAdapter(AnyMetric).json_schema()
    assert set(schema["discriminator"]["mapping"]) == set(KNOWN)
    assert schema["$defs"]["Audit"].get("required", []) == []
    assert schema["$defs"]["Latency"].get("required", []) == []

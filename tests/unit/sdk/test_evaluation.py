"""What `evaluate` gives back: results, means that are refused when they would lie, rows, HTML."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from typing import Any, ClassVar

import pytest

from ragguard import Answer, Evaluation, Metric, NotScoredError, Sample, SampleRecord, Score, Tools, aevaluate, evaluate
from ragguard.app.load import OFFLINE_JUDGE_NOTICE
from ragguard.errors import ConfigError, UserInputError
from tests.unit.sdk.cases import PASSAGE, QUESTION, RIGHT, WRONG, embed, row, rows

TRIAD = {"faithfulness", "context_relevance", "answer_relevance"}


def offline(given: object, *metrics: Any, **settings: Any) -> Evaluation:
    return evaluate(given, judge="offline", metrics=list(metrics) or "faithfulness", **settings)


def test_one_sample_gives_typed_results() -> None:
    result = offline(Sample(**row("a", WRONG))).result  # type: ignore[arg-type]
    one = result["faithfulness"]
    assert (one.metric, one.score, one.passed, one.label) == ("faithfulness", 0.0, False, "faithfulness.fail")
    assert one.reason is not None
    assert WRONG in one.reason
    assert (result.id, result.question, result.answer, result.faithfulness) == ("a", QUESTION, WRONG, 0.0)


def test_the_triad_is_scored_by_default_and_has_a_mean() -> None:
    evaluation = evaluate(rows(2), judge="offline", embedder=embed)
    assert set(evaluation.summary.metrics) == TRIAD
    means = [evaluation.faithfulness, evaluation.context_relevance, evaluation.answer_relevance]
    assert evaluation.triad_mean == pytest.approx(sum(means) / 3)
    assert all(0 < mean <= 1 for mean in means)


def test_means_are_attributes_and_items() -> None:
    evaluation = offline(rows(4, wrong=1), "faithfulness", "latency@p95", min_coverage=0)
    assert evaluation.faithfulness == evaluation["faithfulness"] == 0.75
    assert [result.id for result in evaluation.failed] == ["s00"]
    assert not evaluation.passed
    assert "faithfulness" in dir(evaluation)
    assert len(evaluation) == 4
    assert [result.faithfulness for result in evaluation] == [0.0, 1.0, 1.0, 1.0]


def test_a_mean_of_nothing_is_refused_and_never_none() -> None:
    evaluation = offline({"question": QUESTION, "answer": RIGHT}, "faithfulness")
    with pytest.raises(NotScoredError, match="scored for none of 1 samples: the sample has no contexts"):
        evaluation.faithfulness  # noqa: B018
    with pytest.raises(NotScoredError, match="no score of faithfulness"):
        evaluation.result.faithfulness  # noqa: B018
    with pytest.raises(NotScoredError, match="no triad mean"):
        evaluation.triad_mean  # noqa: B018
    assert evaluation.summary.metrics["faithfulness"].value is None
    assert evaluation.result["faithfulness"].score is None
    assert not evaluation.passed


class Moody(Metric):
    """Fails on every fourth sample."""

    type: str = "moody"
    needs: ClassVar[tuple[str, ...]] = ("answer",)

    async def score(self, sample: SampleRecord, answer: Answer, tools: Tools) -> Score:
        if sample.id.endswith(("3", "7")):
            raise RuntimeError("not today")
        return self.scored(1.0)


def test_a_mean_of_too_few_is_refused_since_what_failed_would_vanish_from_it() -> None:
    evaluation = evaluate(rows(8), metrics=Moody)
    with pytest.raises(NotScoredError, match="scored for 6 of 8 samples only: Moody raised RuntimeError: not today"):
        evaluation.moody  # noqa: B018
    assert evaluate(rows(8), metrics=Moody(), min_coverage=0.75).moody == 1.0
    assert evaluation.summary.metrics["moody"].average == 1.0
    assert [result.id for result in evaluation.failed] == ["s03", "s07"]
    assert evaluation.results[3].passed is None


def test_an_unknown_metric_is_an_attribute_error_that_says_what_is_meant() -> None:
    evaluation = offline(rows(1))
    for holder in (evaluation, evaluation.result):
        with pytest.raises(AttributeError, match="did you mean `faithfulness`"):
            holder.faithfullness  # type: ignore[union-attr]  # noqa: B018
        with pytest.raises(KeyError, match="did you mean"):
            holder["faithfullness"]
        assert not hasattr(holder, "_repr_mimebundle_")


def test_an_evaluation_is_neither_true_nor_false() -> None:
    with pytest.raises(TypeError, match="say what must hold"):
        assert offline(rows(1))


def test_the_only_result_of_several_is_refused() -> None:
    with pytest.raises(UserInputError, match="2 samples were evaluated"):
        offline(rows(2)).result  # noqa: B018


def test_thresholds_decide_what_passes() -> None:
    half = row("a", f"{RIGHT} {WRONG}")
    strict = offline(half, {"type": "faithfulness", "threshold": 7, "scale": 10})
    assert (strict.faithfulness, strict.result["faithfulness"].passed, strict.passed) == (0.5, False, False)
    assert offline(half).passed


def test_rows_and_dict_are_json_and_hold_everything() -> None:
    evaluation = offline(rows(2, wrong=1), "faithfulness", "context_relevance")
    told = evaluation.to_rows()
    assert [(each["id"], each["metric"]) for each in told] == [
        ("s00", "faithfulness"), ("s00", "context_relevance"), ("s01", "faithfulness"), ("s01", "context_relevance"),
    ]  # fmt: skip
    assert (told[0]["score"], told[0]["passed"], told[0]["label"]) == (0.0, False, "faithfulness.fail")
    assert set(told[0]) == {"id", "question", "answer", "metric", "status", "score", "passed", "label", "reason"}
    whole = json.loads(json.dumps(evaluation.to_dict(), allow_nan=False))
    assert whole["results"][0]["scores"][0]["details"]["claims"][0]["verdict"] == "absent"
    assert whole["summary"]["total"] == 2
    assert whole["notices"] == [OFFLINE_JUDGE_NOTICE]
    assert whole["usage"]["calls"] == 4


def test_an_evaluation_survives_copy_and_pickle() -> None:
    evaluation = offline(rows(2, wrong=1))
    for again in (copy.copy(evaluation), copy.deepcopy(evaluation), pickle.loads(pickle.dumps(evaluation))):
        assert again.to_rows() == evaluation.to_rows()
        assert again.result if len(again) == 1 else again.results == evaluation.results


def test_the_offline_judge_is_said_first_and_only_when_it_was_used() -> None:
    assert str(offline(rows(1))).startswith(f"note: {OFFLINE_JUDGE_NOTICE}")
    assert OFFLINE_JUDGE_NOTICE in offline(rows(1))._repr_html_().split("<table")[0]
    unused = evaluate(row("a", citations=["x"], gold_passage_ids=["x"]), judge="offline", metrics="citation_accuracy")
    assert unused.notices == ()


def test_html_escapes_what_is_foreign_and_shows_the_worst_first() -> None:
    bad = {
        "id": "<b>",
        "question": '<script>alert("x")</script>',
        "contexts": [PASSAGE],
        "answer": f"{WRONG} <img src=x>",
    }
    html = offline([*rows(60), bad])._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;" in html
    assert html.index("&lt;b&gt;") < html.index("s00")
    assert "and 11 more samples" in html
    assert "1.000" in html


def test_html_of_an_unknown_value_shows_no_number() -> None:
    html = offline({"question": QUESTION, "answer": RIGHT})._repr_html_()
    assert "not applicable" in html
    assert "–" in html
    assert "nan" not in html.lower()


def test_evaluate_works_inside_a_running_event_loop() -> None:
    async def notebook() -> tuple[float, float]:
        inside = offline(rows(4, wrong=1)).faithfulness
        return inside, (await aevaluate(rows(4, wrong=1), judge="offline", metrics="faithfulness")).faithfulness

    assert asyncio.run(notebook()) == (0.75, 0.75)


def test_an_error_inside_a_running_event_loop_is_the_same_error_and_leaves_no_thread() -> None:
    async def notebook() -> None:
        offline([])

    before = threading.active_count()
    with pytest.raises(UserInputError, match="no samples"):
        asyncio.run(notebook())
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"metrics": "faithfulnes"}, "did you mean 'faithfulness'"),
        ({"metrics": []}, "metrics: there is none"),
        ({"metrics": ["faithfulness", "faithfulness"]}, "stands twice"),
        ({"metrics": {"type": "answer_relevance", "strictness": 9}}, "strictness"),
        ({"metrics": "faithfulness", "judge": None}, "need a judge, and none was given"),
        ({"judge": {"model": "openai/gpt-4o-mini", "temprature": 1}}, "judge.temprature: unknown field; did you mean"),
        ({"judge": 3}, "judge is a int, which is no judge"),
        ({"embedder": 3}, "embedder is a int"),
        ({"embedder": {"model": "openai/x", "dims": 3}}, "embedder.dims: unknown field; did you mean `dim`"),
        ({"min_coverage": 2}, "min_coverage is 2"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"budget": {"max_usd": -1}}, "budget.max_usd"),
    ],
)
def test_wrong_settings_are_told_before_anything_is_asked(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UserInputError) as caught:
        evaluate(rows(1), **{"judge": "offline", **settings})
    assert told in str(caught.value)


def test_metrics_without_a_judge_need_none() -> None:
    given = row("a", contexts=[{"id": "p", "text": PASSAGE}], gold_passage_ids=["p"])
    assert evaluate(given, metrics=["hit_rate@1"])["hit_rate@1"] == 1.0


def test_a_metric_class_with_settings_it_lacks_is_told() -> None:
    class Needy(Metric):
        type: str = "needy"
        wish: str

    with pytest.raises(ConfigError, match="Needy: wish: Field required"):
        evaluate(rows(1), metrics=Needy)


def test_a_metric_that_asks_a_judge_it_did_not_speak_of_fails_rather_than_getting_a_made_up_verdict() -> None:
    class Secretive(Metric):
        type: str = "secretive"

        async def score(self, sample: SampleRecord, answer: Answer, tools: Tools) -> Score:
            from ragguard.core.tasks import questions_task

            await tools.judge(questions_task(answer.text, 1))
            return self.scored(1.0)

    result = evaluate(rows(1), metrics=Secretive).result["secretive"]
    assert (result.status, result.score) == ("failed", None)
    assert "none was given" in (result.reason or "")

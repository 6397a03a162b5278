"""What every target keeps: the same tests over each implementation, and none left out."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from ragguard.adapters import targets
from ragguard.core.samples import Answer, Passage, Sample
from tests.parts import rag_app
from tests.unit.adapters.targets.asking import QUICK, RAG_APP, SAMPLES, WITH_HISTORY, ask, collect, samples_of

ADAPTER: TypeAdapter[Any] = TypeAdapter(targets.Target)
EVERYTHING = [*SAMPLES, WITH_HISTORY]


def _recorded(app: rag_app.RagApp, samples: list[Sample]) -> Any:
    rows = {sample.id: rag_app.answer_sample(sample) for sample in samples}
    return targets.RecordedTarget(
        answers={
            id_: Answer(
                text=row["answer"],
                contexts=tuple(Passage(**passage, rank=rank) for rank, passage in enumerate(row["contexts"], 1)),
                citations=tuple(row["citations"]),
            )
            for id_, row in rows.items()
        }
    )


def _http(app: rag_app.RagApp, samples: list[Sample]) -> Any:
    return targets.HttpTarget(url=app.url, passages="/contexts", citations="/citations", backoff=0.01)


def _python(app: rag_app.RagApp, samples: list[Sample]) -> Any:
    return targets.PythonTarget(callable="tests.parts.rag_app:answer")


def _command(app: rag_app.RagApp, samples: list[Sample]) -> Any:
    return targets.CommandTarget(command=(*QUICK, str(RAG_APP)))


CASES: dict[type, Callable[[rag_app.RagApp, list[Sample]], Any]] = {
    targets.RecordedTarget: _recorded,
    targets.HttpTarget: _http,
    targets.PythonTarget: _python,
    targets.CommandTarget: _command,
}
LIVE = [kind for kind in CASES if kind is not targets.RecordedTarget]


def test_no_target_is_left_out() -> None:
    union = get_args(targets.Target)[0]
    assert set(get_args(union)) == set(CASES)


@pytest.fixture
def app() -> Iterator[rag_app.RagApp]:
    with rag_app.serving_rag_app() as running:
        yield running


@pytest.mark.parametrize("kind", CASES)
def test_each_sample_is_answered_once_with_all_that_the_app_told(kind: type, app: rag_app.RagApp) -> None:
    given = ask(CASES[kind](app, EVERYTHING), EVERYTHING)
    for sample in EVERYTHING:
        expected = rag_app.answer_sample(sample)
        answer = given[sample.id].answer
        assert answer is not None
        assert answer.text == expected["answer"]
        assert answer.contexts is not None
        told = [(passage.id, passage.text, passage.rank, passage.score) for passage in answer.contexts]
        assert told == [
            (row["id"], row["text"], rank, row["score"]) for rank, row in enumerate(expected["contexts"], 1)
        ]
        assert answer.citations == tuple(expected["citations"])
        assert answer.cost_usd is None
    turns = given[WITH_HISTORY.id].answer
    assert turns is not None
    assert turns.text.endswith("(2)")


@pytest.mark.parametrize("kind", CASES)
def test_no_samples_give_no_answers(kind: type, app: rag_app.RagApp) -> None:
    assert ask(CASES[kind](app, []), []) == {}
    assert app.requests == []


@pytest.mark.parametrize("kind", LIVE)
def test_one_failure_is_a_value_with_a_reason(kind: type, app: rag_app.RagApp) -> None:
    samples = samples_of("How long?", rag_app.BROKEN_QUESTION, "多长？")
    given = ask(CASES[kind](app, samples), samples)
    assert "the index is gone" in (given["s2"].failure or "")
    assert [given[id_].answer is not None for id_ in ("s1", "s2", "s3")] == [True, False, True]


@pytest.mark.parametrize(("kind", "measured"), [(kind, kind is not targets.CommandTarget) for kind in LIVE])
def test_latency_is_measured_where_one_question_is_one_call(kind: type, measured: bool, app: rag_app.RagApp) -> None:
    answer = ask(CASES[kind](app, SAMPLES))["s1"].answer
    assert answer is not None
    assert (answer.latency_s is not None) == measured
    assert answer.latency_s is None or answer.latency_s > 0


@pytest.mark.parametrize("kind", CASES)
def test_closing_after_the_first_answer_leaves_nothing_running(kind: type, app: rag_app.RagApp) -> None:
    async def first_only() -> set[asyncio.Task[Any]]:
        answers = CASES[kind](app, SAMPLES).answer_all(SAMPLES)
        await anext(answers)
        await answers.aclose()
        return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]

    assert asyncio.run(first_only()) == set()


SLOW: dict[type, Callable[[rag_app.RagApp], Any]] = {
    targets.HttpTarget: lambda app: targets.HttpTarget(url=app.url),
    targets.PythonTarget: lambda app: targets.PythonTarget(callable="tests.parts.rag_app:answer_slowly"),
    targets.CommandTarget: lambda app: targets.CommandTarget(command=(*QUICK, "-c", "import time; time.sleep(30)")),
}


def test_every_live_target_has_a_slow_case() -> None:
    assert set(SLOW) == set(LIVE)


@pytest.mark.parametrize("kind", LIVE)
def test_cancelling_ends_at_once_and_leaves_nothing_running(kind: type, app: rag_app.RagApp) -> None:
    app.then = lambda _question: rag_app.Reply(delay_s=30)

    async def cancelled() -> set[asyncio.Task[Any]]:
        asking = asyncio.create_task(collect(SLOW[kind](app), SAMPLES))
        await asyncio.sleep(0.2)
        assert not asking.done()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(10):
                await asking
        return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]

    assert asyncio.run(cancelled()) == set()


@pytest.mark.parametrize("kind", CASES)
def test_settings_are_frozen_strict_and_survive_a_round_trip(kind: type, app: rag_app.RagApp) -> None:
    target = CASES[kind](app, SAMPLES)
    with pytest.raises(ValidationError, match="frozen"):
        target.type = "other"
    settings = target.model_dump(mode="json")
    again = ADAPTER.validate_python(settings)
    assert type(again) is kind
    assert again.model_dump(mode="json") == settings
    with pytest.raises(ValidationError, match="extra_forbidden"):
        ADAPTER.validate_python({**settings, "no_such_field": 1})
    assert ask(pickle.loads(pickle.dumps(target)))["s1"].answer is not None


@pytest.mark.parametrize("kind", CASES)
def test_the_environment_is_handed_in_on_a_copy(kind: type, app: rag_app.RagApp) -> None:
    target = CASES[kind](app, SAMPLES)
    copy = target.with_environment({"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-not-for-you"})
    assert copy is not target
    assert copy.environment_names == target.environment_names == frozenset()
    assert "sk-not-for-you" not in repr(copy) + copy.model_dump_json() + repr(copy.__pydantic_private__)
    assert ask(copy)["s1"].answer is not None


def test_the_schema_has_no_place_for_answers_or_secrets() -> None:
    schema = ADAPTER.json_schema()
    assert set(schema["$defs"]["RecordedTarget"]["properties"]) == {"type"}
    assert not any("secret" in name for definition in schema["$defs"].values() for name in definition["properties"])


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValidationError, match="'recorded', 'http', 'python', 'command'"):
        ADAPTER.validate_python({"type": "grpc"})

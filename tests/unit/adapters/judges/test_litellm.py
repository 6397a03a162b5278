"""The judge behind LiteLLM against a real server on this machine: protocol, faults, limits, budget, cost."""

import asyncio
import logging
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from ragguard.adapters.executors.local import LocalExecutor
from ragguard.adapters.judges.budget import Budget, Ledger
from ragguard.adapters.judges.litellm import LiteLLMJudge, Price
from ragguard.core.evaluation import Bench
from ragguard.core.metrics.answer_relevance import AnswerRelevance
from ragguard.core.metrics.base import Metric
from ragguard.core.metrics.context_relevance import ContextRelevance
from ragguard.core.metrics.faithfulness import Faithfulness
from ragguard.core.ports import Judge, Vectors
from ragguard.core.samples import Passage, Sample
from ragguard.core.scores import Judgment, SampleResult
from ragguard.core.tasks import Task, claims_task, questions_task
from ragguard.errors import BudgetError, ConfigError, JudgeError
from tests.fakes.judge_samples import sample, work
from tests.parts.hashed_vectors import hashed_vector
from tests.parts.judge_server import JudgeServer, judge_server
from tests.parts.processes import HOST, free_ports

TASK = claims_task(sample(12), ["Học phí là 5.", "Bạn cần gì?"], sample(12).contexts or ())


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


class HashedEmbedder:
    fingerprint = "hashed"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        return np.array([hashed_vector(text, 64) for text in texts])


def judge(server: JudgeServer, **settings: Any) -> LiteLLMJudge:
    return LiteLLMJudge(**{"model": "openai/judge", "api_base": server.url, "timeout": 20.0, **settings})


TRIAD = (Faithfulness(), ContextRelevance(), AnswerRelevance())


def triad(
    judge: LiteLLMJudge, count: int, passages: int = 1, metrics: tuple[Metric, ...] = TRIAD
) -> list[SampleResult]:
    bench = Bench(metrics, judge, HashedEmbedder())

    async def story() -> list[SampleResult]:
        try:
            return [result async for result in LocalExecutor().evaluate(work(count, passages), bench)]
        finally:
            await judge.aclose()

    return asyncio.run(story())


def values(results: list[SampleResult]) -> list[tuple[str, str, float | None]]:
    return [(result.id, score.metric, score.value) for result in results for score in result.scores]


def ask(judge: LiteLLMJudge, task: Task = TASK) -> list[Judgment]:
    async def story() -> list[Judgment]:
        try:
            requests = judge.requests(task, 0, None)
            return list(await asyncio.gather(*(judge.ask(task, request) for request in requests)))
        finally:
            await judge.aclose()

    return asyncio.run(story())


def test_the_triad_takes_three_calls_a_sample_and_computes_from_verdicts() -> None:
    with judge_server() as server:
        subject = judge(server)
        assert isinstance(subject, Judge)
        results = triad(subject, 6)
        assert server.stats.calls == 18
        assert dict(server.stats.tasks) == {"claims": 6, "sentences": 6, "questions": 6}
    assert {score.status for result in results for score in result.scores} == {"scored"}
    assert [result.scores[0].value for result in results] == [pytest.approx(2 / 3)] * 6
    judgments = [judgment for result in results for judgment in result.judgments]
    assert {judgment.attempts for judgment in judgments} == {1}
    assert {judgment.response_model for judgment in judgments} == {"judge"}
    assert all(judgment.prompt_tokens and judgment.completion_tokens for judgment in judgments)
    assert {judgment.cost_usd for judgment in judgments} == {None}  # no price list has it: unknown, not 0
    gauge = subject.gauge()
    assert (gauge.calls, gauge.in_flight, gauge.waiting, gauge.cost_usd) == (18, 0, 0, None)
    assert gauge.tokens == server.stats.prompt_tokens + server.stats.completion_tokens


def test_all_tasks_of_a_sample_begin_alike_with_the_passages_first() -> None:
    with judge_server() as server:
        triad(judge(server), 1)
        by_task = {
            text.partition("TASK ")[2].partition(",")[0]: request["messages"]
            for text, request in zip(server.prompts, server.requests, strict=True)
        }
    assert len({messages[0]["content"] for messages in by_task.values()}) == 1
    claims, sentences = by_task["claims"][1]["content"], by_task["sentences"][1]["content"]
    shared = claims[: claims.index("<<end passages")]
    assert shared.startswith("<<passages ")
    assert sentences.startswith(shared)


def test_faults_of_every_kind_change_no_score() -> None:
    with judge_server() as server:
        good = values(triad(judge(server), 20))
    with judge_server(broken_rate=0.05, error_rate=0.05, reset_rate=0.02, rpm=720, retry_after="0.2", seed=1) as server:
        subject = judge(server)
        results = triad(subject, 20)
        assert values(results) == good
        assert set(server.stats.statuses) >= {200, 429}
        assert server.stats.statuses[500] + server.stats.statuses[502] + server.stats.statuses[503] > 0
        assert server.stats.calls > 60
        assert sum(judgment.attempts for result in results for judgment in result.judgments) == server.stats.calls
        assert subject.gauge().calls == server.stats.calls


@pytest.mark.parametrize(
    ("behaviour", "notes", "refused"),
    [
        ({"schema": "object"}, ["response_format json_schema"], 1),
        ({"schema": "none"}, ["response_format json_schema", "response_format"], 2),
        ({"reject_temperature": True}, ["temperature"], 1),
        ({"schema": "none", "reject_temperature": True}, ["response_format json_schema", "response_format", "temperature"], 3),
    ],
)  # fmt: skip
def test_what_the_model_does_not_take_is_dropped_once_and_said(behaviour: Any, notes: list[str], refused: int) -> None:
    with judge_server() as server:
        good = values(triad(judge(server), 5))
    with judge_server(**behaviour) as server:
        subject = judge(server)
        assert values(triad(subject, 5)) == good
        assert server.stats.statuses[400] == refused
    observed = subject.observed
    assert [note.removeprefix("openai/judge: ").partition(" (")[0] for note in observed.dropped_params] == notes
    assert observed.response_models == ("judge",)


def test_a_reply_that_leaves_something_out_is_asked_for_by_name() -> None:
    with judge_server(broken_rate=1.0, kinds="one missing") as server:
        (judgment,) = ask(judge(server))
        assert len(server.requests) == 3
        follow_up = server.requests[1]["messages"]
        assert [message["role"] for message in follow_up] == ["system", "user", "assistant", "user"]
        assert "missing: line 1" in follow_up[3]["content"]
        assert len(server.requests[2]["messages"]) == 4  # only the last reply is shown again
    assert (judgment.status, judgment.attempts, judgment.output) == ("failed", 3, {})
    assert judgment.reason == "no usable reply in 3 attempts: missing: line 1"
    assert judgment.raw is not None
    assert '"no_claim": [2]' in judgment.raw


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("empty", "the reply is empty"),
        ("null", "the reply is empty"),
        ("refusal", "the reply holds no complete JSON object"),
        ("filtered", "the provider's content filter withheld the reply"),
        ("cut untold", "the reply holds no complete JSON object"),
        ("not a number", "claims: Input should be a valid list"),
    ],
)
def test_three_attempts_then_failed_with_the_reason(kind: str, reason: str) -> None:
    with judge_server(broken_rate=1.0, kinds=kind) as server:
        (judgment,) = ask(judge(server))
    assert judgment.status == "failed"
    assert judgment.attempts == 3
    assert judgment.reason == f"no usable reply in 3 attempts: {reason}"


def test_a_cut_reply_is_asked_for_again_with_more_tokens_and_never_scored() -> None:
    with judge_server(cut_below=200) as server:
        (judgment,) = ask(judge(server, max_tokens=64))
        assert [request["max_tokens"] for request in server.requests] == [64, 128, 256]
        assert all(len(request["messages"]) == 2 for request in server.requests)
    assert (judgment.status, judgment.attempts) == ("ok", 3)
    with judge_server(cut_below=100_000) as server:
        (judgment,) = ask(judge(server, max_tokens=64))
    assert judgment.status == "failed"
    assert "the reply was cut after 256 tokens" in str(judgment.reason)


def test_the_raw_reply_of_a_failure_is_kept_but_not_all_of_a_flood() -> None:
    flood = Task("questions", {"answer": "x" * 50_000, "n": 1}, questions_task("x", 1).reply)
    with judge_server(broken_rate=1.0, kinds="nonsense") as server:
        (judgment,) = ask(judge(server), flood)
    assert judgment.status == "failed"
    assert len(judgment.raw or "") == 20_000


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ({"api_key": "another"}, "set OPENAI_API_KEY in the environment"),
        ({"model": "another"}, "does not know the model"),
    ],
)
def test_a_wrong_key_or_model_stops_the_run_after_one_call(behaviour: Any, words: str) -> None:
    with judge_server(**behaviour) as server:
        with pytest.raises(JudgeError, match=words):
            triad(judge(server), 20)
        assert server.stats.calls + server.stats.statuses[401] == 1


def test_a_dead_judge_is_one_clear_sentence() -> None:
    (port,) = free_ports(1)
    subject = LiteLLMJudge(model="openai/judge", api_base=f"http://{HOST}:{port}/v1")
    with pytest.raises(JudgeError) as caught:
        triad(subject, 20)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"judge openai/judge at http://{HOST}:{port}/v1 does not answer (")
    assert len(rest) == 1


def test_a_judge_that_dies_before_its_first_reply_is_given_up() -> None:
    with judge_server(dead_after=0) as server:
        with pytest.raises(JudgeError, match=r"does not answer \(Connection error"):
            triad(judge(server), 20)
        assert server.stats.most_in_flight <= 1


def test_no_key_reaches_logs_or_messages(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    caplog.set_level(logging.DEBUG)
    with judge_server(api_key="sk-very-secret-0123456789", error_rate=0.3) as server:
        results = triad(judge(server), 5)
        with pytest.raises(JudgeError) as caught:
            triad(judge(server, api_base=server.url + "/nowhere"), 1)
    told = "".join(
        (caplog.text, *capfd.readouterr(), str(caught.value), *(result.model_dump_json() for result in results))
    )
    assert "very-secret" not in told


def test_repeats_are_counted_on_and_each_has_its_own_key() -> None:
    subject = LiteLLMJudge(model="openai/judge", repeats=3)
    assert [request.repeat for request in subject.requests(TASK, 0, None)] == [0, 1, 2]
    assert [request.repeat for request in subject.requests(TASK, 2, "s")] == [6, 7, 8]
    with judge_server() as server:
        judgments = ask(judge(server, repeats=3))
    assert len({judgment.key for judgment in judgments}) == 3
    assert [judgment.repeat for judgment in judgments] == [0, 1, 2]


def test_a_request_holds_what_decides_the_reply_and_no_address() -> None:
    (request,) = LiteLLMJudge(model="openai/judge", api_base="http://inside.example/v1", seed=7).requests(TASK, 0, None)
    assert request.params == {"temperature": 0.0, "max_tokens": 4096, "seed": 7}
    assert "inside" not in request.model_dump_json()


def test_fingerprints_tell_what_decides_the_verdicts_apart() -> None:
    base = LiteLLMJudge(model="openai/judge")
    same = [{"api_base": "http://x/v1"}, {"rpm": 5}, {"concurrency": 2}, {"timeout": 9}, {"fallbacks": ["openai/b"]}]
    other = [
        {"model": "openai/b"},
        {"temperature": 1},
        {"temperature": None},
        {"repeats": 2},
        {"max_tokens": 99},
        {"seed": 1},
    ]
    assert {base.model_copy(update=change).fingerprint for change in same} == {base.fingerprint}
    assert len({base.fingerprint, *(base.model_copy(update=change).fingerprint for change in other)}) == 7


@pytest.mark.parametrize("settings", [{"context_window": 2_000, "max_tokens": 500}, {}])
def test_a_prompt_longer_than_the_window_is_asked_in_parts_and_merged(settings: Any) -> None:
    texts = [f"Đoạn {n} nói về năm {1900 + n}. Nó dài, dài và dài." for n in range(60)]
    long = Sample(id="long", question="Đoạn 7 nói về năm nào?", contexts=tuple(Passage(text=text) for text in texts))
    lines = ["Năm 1907.", "Năm 1959.", "Năm 2999."]
    task = claims_task(long, lines, long.contexts or ())
    with judge_server() as server:
        (whole,) = ask(judge(server), task)
        assert server.stats.calls == 1
    with judge_server(window=1_000) as server:
        (split,) = ask(judge(server, **settings), task)
        refused = server.stats.statuses[400]
        assert server.stats.calls - refused >= 2
        assert (refused == 0) == bool(settings)
    assert split.status == "ok"
    assert "asked in" in str(split.reason)
    assert split.output == whole.output
    assert [claim["verdict"] for claim in split.output["claims"]] == ["supported", "supported", "absent"]
    assert split.attempts == server.stats.calls


def test_what_cannot_be_split_fails_and_says_so() -> None:
    with judge_server(window=500) as server:
        (judgment,) = ask(judge(server), questions_task("dài " * 3_000, 3))
    assert judgment.status == "failed"
    assert "longer than the model's window" in str(judgment.reason)


def test_long_passages_are_sent_once_before_the_others_so_that_caches_hit() -> None:
    with judge_server(latency_s=0.05) as server:
        triad(judge(server), 1, passages=200, metrics=(Faithfulness(), ContextRelevance()))
        assert server.stats.calls == 2
        assert server.stats.most_in_flight == 1


def test_anthropic_is_shown_where_to_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    with judge_server() as server:
        subject = LiteLLMJudge(model="anthropic/claude-sonnet-4-5", api_base=server.url.removesuffix("/v1"))
        results = triad(subject, 1, passages=200)
        assert server.stats.calls == 3
        bodies = [request["anthropic"] for request in server.requests]
    assert {score.status for score in results[0].scores} == {"scored"}
    marked = [body["messages"][0]["content"][0] for body in bodies if len(body["messages"][0]["content"]) == 2]
    assert len(marked) == 2
    assert marked[0] == marked[1]
    assert marked[0]["cache_control"] == {"type": "ephemeral"}
    assert marked[0]["text"].startswith("<<passages ")
    assert all(body["max_tokens"] == 4096 for body in bodies)
    cost = [judgment.cost_usd for judgment in results[0].judgments]
    assert all(one is not None and one > 0 for one in cost)


def test_a_budget_of_calls_is_never_passed() -> None:
    with judge_server(latency_s=0.01) as server:
        ledger = Ledger(Budget(max_calls=10))
        with pytest.raises(BudgetError, match=r"max_calls is 10, spent so far: 10 calls"):
            triad(judge(server).with_parts(ledger=ledger), 20)
        assert server.stats.calls == 10


def test_a_budget_of_tokens_is_never_passed() -> None:
    with judge_server() as server:
        ledger = Ledger(Budget(max_tokens=10_000))
        with pytest.raises(BudgetError, match="max_tokens is 10,000"):
            triad(judge(server, max_tokens=1_000).with_parts(ledger=ledger), 40)
        assert 7_000 < server.stats.prompt_tokens + server.stats.completion_tokens <= 10_000
        assert ledger.spent.tokens == server.stats.prompt_tokens + server.stats.completion_tokens


def test_a_budget_in_dollars_wants_a_price() -> None:
    with judge_server() as server:
        poor = judge(server).with_parts(ledger=Ledger(Budget(max_usd=1.0)))
        with pytest.raises(ConfigError, match="the price of openai/judge is unknown"):
            asyncio.run(poor.preflight())
        with pytest.raises(ConfigError, match=r"mend: set `judge\.price`"):
            triad(poor, 2)
        assert server.stats.calls == 0
        priced = judge(server, price=Price(prompt_per_million=1.0, reply_per_million=10.0), max_tokens=1_000)
        ledger = Ledger(Budget(max_usd=0.02))
        with pytest.raises(BudgetError, match=r"max_usd is 0\.02"):
            triad(priced.with_parts(ledger=ledger), 60)
        paid = server.stats.prompt_tokens / 1e6 + server.stats.completion_tokens / 1e5
    assert ledger.spent.usd == pytest.approx(paid)
    assert 0.005 < paid <= 0.02


def test_two_judges_share_one_budget() -> None:
    with judge_server() as server:
        ledger = Ledger(Budget(max_calls=4))
        first, second = (judge(server, temperature=t).with_parts(ledger=ledger) for t in (0.0, 1.0))
        triad(first, 1)
        with pytest.raises(BudgetError):
            triad(second, 1)
        assert server.stats.calls == 4


def test_a_known_model_has_a_price() -> None:
    with judge_server() as server:
        (judgment,) = ask(LiteLLMJudge(model="openai/gpt-4o-mini", api_base=server.url))
    assert judgment.cost_usd == pytest.approx(
        (judgment.prompt_tokens or 0) * 0.15e-6 + (judgment.completion_tokens or 0) * 0.6e-6
    )


def probe(judge: LiteLLMJudge) -> None:
    async def story() -> None:
        try:
            await judge.probe()
        finally:
            await judge.aclose()

    asyncio.run(story())


def test_a_probe_is_one_small_call() -> None:
    with judge_server(schema="none") as server:
        probe(judge(server))
        assert dict(server.stats.tasks) == {"probe": 1}
    with judge_server(model="another") as server, pytest.raises(JudgeError, match="does not know the model"):
        probe(judge(server))


def test_a_fallback_is_another_judge_with_its_own_fingerprint() -> None:
    first = LiteLLMJudge(
        model="openai/a",
        api_base="http://x/v1",
        rpm=7,
        fallbacks=("openai/b", {"model": "ollama/c", "api_base": "http://y"}),
    )
    second = first.fallback()
    assert second is not None
    assert (second.model, second.api_base, second.rpm, len(second.fallbacks)) == ("openai/b", "http://x/v1", 7, 1)
    third = second.fallback()
    assert third is not None
    assert (third.model, third.api_base, third.fallback()) == ("ollama/c", "http://y", None)
    assert len({one.fingerprint for one in (first, second, third)}) == 3


def test_settings_travel_without_their_engine() -> None:
    with judge_server() as server:
        subject = judge(server)
        (before,) = ask(subject)
        copy = pickle.loads(pickle.dumps(subject))
        (after,) = ask(copy)
        (again,) = ask(subject)  # in another event loop
        assert server.stats.calls == 3
    assert before.output == after.output == again.output
    assert copy.fingerprint == subject.fingerprint


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model": ""},
        {"model": "x", "api_key": "sk-1"},
        {"model": "x", "repeats": 0},
        {"model": "x", "temperature": 3},
        {"model": "x", "api_base": "http://me:secret@host/v1"},
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LiteLLMJudge.model_validate(settings)

"""LiteLLM's shared clients: open while somebody in the event loop uses them, closed with the last."""

from __future__ import annotations

import asyncio
from io import StringIO
from threading import Event
from typing import Any

from ragguard.adapters.embedders.litellm import LiteLLMEmbedder
from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.adapters.litellm_clients import tell_when_slow, told_when_slow
from ragguard.core.tasks import claims_task
from tests.fakes.judge_samples import sample
from tests.parts.embedding_server import embedding_server
from tests.parts.judge_server import JudgeServer, judge_server


def test_a_slow_import_is_told_once_and_a_quick_one_is_not() -> None:
    told: list[str] = []
    heard = Event()
    closed = StringIO()
    closed.close()
    tell_when_slow(lambda line: (told.append(line), heard.set()))
    try:
        with told_when_slow(after_s=0.0):
            assert heard.wait(30)
        with told_when_slow(after_s=600.0):
            pass
        assert told == ["loading LiteLLM …"]
        heard.clear()
        tell_when_slow(lambda line: (heard.set(), print(line, file=closed)))
        with told_when_slow(after_s=0.0):
            assert heard.wait(30)  # an error in the thread would fail this test
    finally:
        tell_when_slow(None)


TASK = claims_task(sample(12), ["Học phí là 5."], sample(12).contexts or ())


def open_sessions() -> list[Any]:
    import litellm

    transports = [
        getattr(getattr(handler, "_client", None), "_transport", None)
        for handler in litellm.in_memory_llm_clients_cache.cache_dict.values()
    ]
    sessions = [getattr(transport, "client", None) for transport in transports]
    return [session for session in sessions if session is not None and not callable(session) and not session.closed]


async def asked(judge: LiteLLMJudge) -> str:
    return (await judge.ask(TASK, judge.requests(TASK, 0, None)[0])).status


def judge(server: JudgeServer) -> LiteLLMJudge:
    return LiteLLMJudge(model="openai/judge", api_base=server.url, timeout=20.0)


def test_the_first_to_leave_closes_nothing_that_another_uses() -> None:
    async def story() -> None:
        with judge_server() as server:
            first, second = judge(server), judge(server)
            assert [await asked(first), await asked(second)] == ["ok", "ok"]
            await first.aclose()
            await first.aclose()
            assert open_sessions()
            assert await asked(second) == "ok"
            await second.aclose()
            assert not open_sessions()
            assert await asked(first) == "ok"
            await first.aclose()
            assert not open_sessions()

    asyncio.run(story())


def test_an_embedder_of_any_provider_closes_what_it_opened() -> None:
    async def story() -> None:
        with embedding_server() as server:
            embedder = LiteLLMEmbedder(model="hosted_vllm/bge-m3", api_base=server.api_base)
            await embedder.embed(["học phí", "学费"])
            assert open_sessions()
            await embedder.aclose()
            assert not open_sessions()

    asyncio.run(story())

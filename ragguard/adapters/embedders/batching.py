"""Gathers texts of many samples into batches and embeds each text once.

Samples are scored concurrently and each asks for a handful of vectors. Texts that come within a short window, or fill a
batch, leave together; one that is known or on its way is not sent again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ragguard.adapters.embedders.base import NO_EMBEDDER, TextsRefusedError
from ragguard.core.ports import Embedder, Vectors
from ragguard.errors import EmbedderDownError, EmbedderError

Row = NDArray[np.float64]

_MOST_AT_ONCE = 64
DOWN_AFTER = 4
"""So many requests in a row that all fail, each after its own retries, and the embedder counts as down."""


class BatchingEmbedder:
    """An embedder around another one: same vectors, fewer and fuller requests.

    Safe for concurrent callers, for their cancellation (a request that others wait for goes on) and for several event
    loops, one after the other or in several threads.
    """

    def __init__(
        self, inner: Embedder, *, batch_size: int | None = None, window_s: float = 0.01, memo_size: int = 8192
    ) -> None:
        """Wraps an embedder.

        Args:
            inner: What embeds.
            batch_size: Texts per request, >= 1; where left out the inner embedder's own, else 32.
            window_s: Seconds that a text waits for others, >= 0.
            memo_size: How many vectors are kept, >= 0; the longest unused is forgotten first.
        """
        self.inner = inner
        self.batch_size = batch_size or int(getattr(inner, "batch_size", 32))
        self.window_s = window_s
        self.memo = _Memo(memo_size)
        self._desks: WeakKeyDictionary[asyncio.AbstractEventLoop, _Desk] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.inner, self.batch_size, self.window_s, self.memo.size)

    async def aclose(self) -> None:
        """Ends what is still on its way in this event loop and frees the inner embedder's connections."""
        desk = self._desks.pop(asyncio.get_running_loop(), None)
        if desk is not None:
            await desk.close()
        close = getattr(self.inner, "aclose", None)
        if close is not None:
            await close()

    @property
    def fingerprint(self) -> str:
        """The inner embedder's."""
        return self.inner.fingerprint

    @property
    def name(self) -> str:
        """The inner embedder's name, for reports."""
        return str(getattr(self.inner, "name", type(self.inner).__name__))

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, one row for each text; see `Embedder.embed`.

        Raises:
            EmbedderError: The inner embedder's error, to every caller whose text was in the request.
            EmbedderDownError: Request after request failed.
        """
        if not texts:
            return await self.inner.embed([])
        desk = self._desks.get(asyncio.get_running_loop())
        if desk is None:
            desk = self._desks[asyncio.get_running_loop()] = _Desk(self)
        rows = await desk.rows(list(dict.fromkeys(texts)))
        return np.stack([rows[text] for text in texts])


def _rebuild(inner: Embedder, batch_size: int, window_s: float, memo_size: int) -> BatchingEmbedder:
    return BatchingEmbedder(inner, batch_size=batch_size, window_s=window_s, memo_size=memo_size)


class _Memo:
    """The vectors that are known, bounded; shared by all event loops of a process."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.dim: int | None = None
        self._rows: OrderedDict[str, Row] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> Row | None:
        with self._lock:
            row = self._rows.get(text)
            if row is not None:
                self._rows.move_to_end(text)
            return row

    def check(self, rows: Vectors) -> None:
        """Another dimension than before is another model, whose vectors mean nothing beside the first one's."""
        with self._lock:
            self.dim = rows.shape[1] if self.dim is None else self.dim
            if rows.shape[1] != self.dim:
                told = f"the embedder gave vectors of dimension {rows.shape[1]} after some of {self.dim}"
                raise EmbedderError(f"{told} in one run", mend="serve one model alone at embedder.api_base")

    def put(self, text: str, row: Row) -> None:
        with self._lock:
            self._rows[text] = row
            self._rows.move_to_end(text)
            while len(self._rows) > self.size:
                self._rows.popitem(last=False)


class _Desk:
    """What waits and what is on its way in one event loop."""

    def __init__(self, owner: BatchingEmbedder) -> None:
        # Not the owner itself: the owner's table of desks would keep event loop and owner alive together.
        self._inner = owner.inner
        self._memo = owner.memo
        self._batch_size = owner.batch_size
        self._window_s = owner.window_s
        self._waiting: dict[str, asyncio.Future[Row]] = {}
        self._sent: dict[str, asyncio.Future[Row]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._requests: set[asyncio.Task[None]] = set()
        # The inner embedder's own limit, here: what waits for its turn is not sent any more once the embedder is down.
        self._turns = asyncio.Semaphore(int(getattr(owner.inner, "concurrency", _MOST_AT_ONCE)))
        self._failures = 0
        self._down: EmbedderDownError | None = None

    async def rows(self, texts: Sequence[str]) -> dict[str, Row]:
        """Returns one vector for each of some different texts."""
        if self._down is not None:
            raise EmbedderDownError(self._down.message, mend=self._down.mend)
        known = {text: row for text in texts if (row := self._memo.get(text)) is not None}
        futures = {text: self._future(text) for text in texts if text not in known}
        if futures:
            await asyncio.wait(futures.values())  # unlike gather, it leaves the futures alone when it is cancelled
        return known | {text: future.result() for text, future in futures.items()}

    async def close(self) -> None:
        """Sends nothing more; whoever still waits gets an error."""
        if self._timer is not None:
            self._timer.cancel()
        requests = list(self._requests)
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        _fail(self._waiting, EmbedderError("the embedder was closed"))

    def _future(self, text: str) -> asyncio.Future[Row]:
        if text in self._sent:
            return self._sent[text]
        if text not in self._waiting:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[Row] = loop.create_future()
            future.add_done_callback(_noticed)
            self._waiting[text] = future
            if len(self._waiting) >= self._batch_size:
                self._send()
            elif self._timer is None:
                self._timer = loop.call_later(self._window_s, self._send)
            return future
        return self._waiting[text]

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch, self._waiting = self._waiting, {}
        self._sent.update(batch)
        request = asyncio.ensure_future(self._request(batch))
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)

    async def _request(self, batch: dict[str, asyncio.Future[Row]]) -> None:
        try:
            async with self._turns:
                await self._settle(batch)
        finally:
            for text, future in batch.items():
                self._sent.pop(text, None)
                if not future.done():  # the request was cancelled: its callers were not, and must not look as if
                    future.set_exception(EmbedderError("the request for embeddings was cut off"))

    async def _settle(self, batch: dict[str, asyncio.Future[Row]]) -> None:
        if self._down is not None:
            _fail(batch, self._down)
            return
        try:
            rows = await self._inner.embed(list(batch))
            if len(rows) != len(batch):
                what = f"the embedder gave {len(rows)} vectors for {len(batch)} texts"
                raise EmbedderError(what, mend=NO_EMBEDDER)
            self._memo.check(rows)
        except TextsRefusedError as error:
            await self._settle_halves(batch, error)
        except EmbedderError as error:
            _fail(batch, self._counted(error))
        except Exception as error:  # noqa: BLE001 - it belongs to those who wait, not to this task
            _fail(batch, error)
        else:
            self._failures = 0
            for (text, future), row in zip(batch.items(), rows, strict=True):
                self._memo.put(text, row)
                if not future.done():
                    future.set_result(row)

    def _counted(self, error: EmbedderError) -> Exception:
        self._failures += 1
        if self._failures < DOWN_AFTER:
            return error
        told = f"{error.message}; so did the last {self._failures} requests, and no further one is sent"
        self._down = EmbedderDownError(told, mend=f"{error.mend or NO_EMBEDDER}; what the judge has done is kept")
        return self._down

    async def _settle_halves(self, batch: dict[str, asyncio.Future[Row]], error: TextsRefusedError) -> None:
        """One text that is refused must not fail the samples that happened to travel with it."""
        if len(batch) == 1:
            _fail(batch, error)
            return
        items = list(batch.items())
        await self._settle(dict(items[: len(items) // 2]))
        await self._settle(dict(items[len(items) // 2 :]))


def _fail(batch: dict[str, asyncio.Future[Row]], error: Exception) -> None:
    for future in batch.values():
        if not future.done():
            future.set_exception(error)


def _noticed(future: asyncio.Future[Row]) -> None:
    """Marks an error as seen, since the callers who would have seen it may have been cancelled."""
    if not future.cancelled():
        future.exception()

"""Runs a coroutine to its end from sync code, also where an event loop is running already, as in a notebook."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Returns what a coroutine returns.

    Inside a running event loop it runs in a thread of its own, since that loop cannot wait for itself.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _in_a_thread(work)


def _in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[T]]] = []

    async def noted() -> T:
        task = asyncio.ensure_future(work)
        running.append((asyncio.get_running_loop(), task))
        return await task

    context = contextvars.copy_context()
    with ThreadPoolExecutor(1, "ragguard") as pool:
        done = pool.submit(context.run, asyncio.run, noted())
        try:
            return done.result()
        except BaseException:
            for loop, task in running:  # interrupted: what runs in the thread must end too
                if not loop.is_closed():
                    loop.call_soon_threadsafe(task.cancel)
            raise

"""LiteLLM in this process: imported once, quiet and offline; its HTTP clients closed with their last user.

It keeps the clients in one table for the whole process. Judges and embedders of one event loop share them, so that the
first to leave must not close what others still use.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

_SLOW_S = 1.0
_importing = threading.Lock()
_listener: list[Callable[[str], None]] = []
_users: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


def tell_when_slow(say: Callable[[str], None] | None) -> None:
    """Has one line said while LiteLLM's import takes longer than a second, so that nobody takes it for hanging.

    Args:
        say: Takes the line; None: nobody is told.
    """
    _listener[:] = [] if say is None else [say]


@contextlib.contextmanager
def told_when_slow(after_s: float = _SLOW_S) -> Iterator[None]:
    """Tells, once, while what is done in it takes longer than so many seconds; see `tell_when_slow`."""
    timer = threading.Timer(after_s, _tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell() -> None:
    for say in _listener:
        with contextlib.suppress(OSError, ValueError):  # a courtesy; where it went is closed by now
            say("loading LiteLLM …")


@cache
def litellm_module() -> Any:
    """Imports LiteLLM, which takes seconds and, left to itself, asks the network for price and header lists."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    # Left to itself it reads a `.env` above its own folder: where that is the checkout, a change could send keys away.
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    with _importing, told_when_slow(), _without_collections():
        import litellm
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = False
    # `max_retries=0` alone is read as "not given" for embeddings, and each request would be sent three times.
    litellm.DEFAULT_MAX_RETRIES = 0
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # its warnings repeat prompts
    return litellm


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Spares the collector an import's objects: a fifth of the time now, half a second at each full run later."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()


def unlogged() -> contextlib.AbstractContextManager[None]:
    """Spares the calls in it LiteLLM's own log, a fourth of a call's CPU time, unless somebody listens to that."""
    litellm = litellm_module()
    kinds = ("callbacks", "success_callback", "failure_callback", "_async_success_callback", "_async_failure_callback")
    if any(getattr(litellm, kind, None) for kind in kinds):
        return contextlib.nullcontext()
    try:
        from litellm._internal_context import internal_sub_call
    except ImportError:  # another version of LiteLLM
        return contextlib.nullcontext()
    context: contextlib.AbstractContextManager[None] = internal_sub_call()
    return context


def enter() -> None:
    """Counts a user in the running event loop; each must `leave`."""
    loop = asyncio.get_running_loop()
    _users[loop] = _users.get(loop, 0) + 1


async def leave() -> None:
    """Counts a user off; the last one closes the running event loop's clients, and no other loop's."""
    loop = asyncio.get_running_loop()
    _users[loop] = _users.get(loop, 1) - 1
    if _users[loop] > 0:
        return
    del _users[loop]
    cache = getattr(sys.modules.get("litellm"), "in_memory_llm_clients_cache", None)
    if cache is None:
        return
    suffix = cache.update_cache_key_with_event_loop("")
    for key in [key for key in cache.cache_dict if key.endswith(suffix)]:
        client = cache.cache_dict.pop(key)
        cache.ttl_dict.pop(key, None)
        close = getattr(client, "close", None) or getattr(client, "aclose", None)
        with contextlib.suppress(Exception):  # what cannot be closed any more is closed
            done = close() if callable(close) else None
            if inspect.isawaitable(done):
                await done

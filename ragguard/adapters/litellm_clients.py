"""LiteLLM keeps its HTTP clients in one table for the whole process: here they are closed with their last user.

Judges and embedders of one event loop share them, so that the first to leave must not close what others still use.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
from weakref import WeakKeyDictionary

_users: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


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

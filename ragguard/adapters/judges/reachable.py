"""Is anybody there? Asked before LiteLLM is imported, which takes seconds: a dead server is then known at once."""

from __future__ import annotations

import asyncio
import urllib.request
from urllib.parse import urlsplit

from ragguard.errors import JudgeError

_ONE_TRY_S = 5.0
_BETWEEN_S = 0.5


async def await_server(who: str, api_base: str, patience_s: float) -> None:
    """Waits until a connection to a server's address can be made; nothing is sent.

    Args:
        who: The judge, for the message.
        api_base: Its address; one that is reached through a proxy is not tried.
        patience_s: Seconds until it is given up.

    Raises:
        JudgeError: Nobody listens there.
    """
    address = urlsplit(api_base)
    proxies = urllib.request.getproxies()
    if not address.hostname or (address.scheme in proxies and not urllib.request.proxy_bypass(address.hostname)):
        return
    port = address.port or (443 if address.scheme == "https" else 80)
    loop = asyncio.get_running_loop()
    end = loop.time() + patience_s
    while True:
        try:
            async with asyncio.timeout(_ONE_TRY_S):
                _, writer = await asyncio.open_connection(address.hostname, port)
            writer.close()
        except OSError as error:  # a time-out is one too
            if loop.time() >= end:
                raise JudgeError(
                    f"judge {who} does not answer ({error.strerror or 'no connection in time'})",
                    mend="check that it runs, and `api_base` and the network",
                ) from error
            await asyncio.sleep(_BETWEEN_S)
        else:
            return

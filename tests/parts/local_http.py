"""A small HTTP server on 127.0.0.1 for tests: one handler, in a thread of its own, with resets and no surprises."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from tests.parts.processes import HOST

Reply = tuple[int, Sequence[str], Any]
"""Status, header lines, and a body: bytes as they are, anything else as JSON."""
Handler = Callable[[str, str, dict[str, str], bytes], Awaitable[Reply]]
"""`await handler(method, path, headers, body)`."""


class Reset(Exception):
    """Raised by a handler: the connection is to be closed without a reply."""


async def start(handler: Handler, port: int = 0) -> tuple[asyncio.Server, int]:
    """Listens; port 0 for a free one.

    Returns:
        The server and its port.
    """

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                status, headers, body = await handler(*await _read_request(reader))
                writer.write(_response(status, headers, body))
                await writer.drain()
        except Reset:
            writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connection, HOST, port, limit=2**26, backlog=512)
    return server, server.sockets[0].getsockname()[1]


@contextmanager
def in_a_thread(handler: Handler) -> Iterator[int]:
    """Runs a server in a thread of its own for the length of a `with` block.

    Yields:
        Its port.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        server, port = asyncio.run_coroutine_threadsafe(start(handler), loop).result(5)
        try:
            yield port
        finally:
            asyncio.run_coroutine_threadsafe(_closed(server), loop).result(5)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


async def _closed(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in rest if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    return method, path, headers, await reader.readexactly(int(headers.get("content-length", "0")))


def _response(status: int, headers: Sequence[str], body: Any) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        *headers,
    )
    return "\r\n".join((*lines, "", "")).encode() + content

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


Connection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection."""


async def start(handler: Handler, port: int = 0) -> tuple[asyncio.Server, int]:
    """Listens; port 0 for a free one.

    Returns:
        The server and its port.
    """

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                status, headers, body = await handler(*await read_request(reader))
                writer.write(_response(status, headers, body))
                await writer.drain()
        except Reset:
            writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    return await listen(connection, port)


async def listen(connection: Connection, port: int = 0) -> tuple[asyncio.Server, int]:
    """Listens; port 0 for a free one.

    Returns:
        The server and its port.
    """
    server = await asyncio.start_server(connection, HOST, port, limit=2**26, backlog=512)
    return server, server.sockets[0].getsockname()[1]


@contextmanager
def in_a_thread(handler: Handler) -> Iterator[int]:
    """Runs a server in a thread of its own for the length of a `with` block.

    Yields:
        Its port.
    """
    with threaded(lambda: start(handler)) as (_, port):
        yield port


@contextmanager
def threaded(begin: Callable[[], Awaitable[tuple[asyncio.Server, int]]]) -> Iterator[tuple[asyncio.Server, int]]:
    """Runs what listens in a thread of its own for the length of a `with` block."""

    async def begun() -> tuple[asyncio.Server, int]:
        return await begin()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        server, port = asyncio.run_coroutine_threadsafe(begun(), loop).result(5)
        try:
            yield server, port
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


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes]:
    """Method, path, headers (names in lower case) and body of the next request.

    Raises:
        asyncio.IncompleteReadError: There is no further one.
    """
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

"""A proxy on 127.0.0.1 between a client and a real test server, which breaks chosen calls on their way.

    with judge_server() as judge, faulty_proxy(judge.url) as proxy:
        proxy.on(3, status(503))             # the third call; also first(n, …), after(n, …), share(0.2, …), always(…)
        proxy.always(status(401), path="/embeddings")
        … proxy.url …                        # in the place of judge.url; proxy.calls tells what arrived

A fault is one of the functions below: `refused hang delayed half reset status page garbled truncated empty oversized
redirect circle wrong_length bad_gzip replaced only`. The first rule that matches a call is obeyed; a call without a
rule is passed on. Each rule counts the calls of its own path that come after it was made. `proxy.heal()` forgets all
rules.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

from tests.parts.local_http import listen, read_request, threaded
from tests.parts.processes import HOST

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "expect", "accept-encoding"}
_JSON = "application/json"


@dataclass(frozen=True)
class Response:
    """What the server behind answered, or what the proxy answers in its place.

    Attributes:
        length: What Content-Length says of a body that is not sent (HEAD); None for the body's own.
    """

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    length: int | None = None

    def head(self, length: int) -> bytes:
        """Status line and headers, for a body of so many bytes."""
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Strange"
        kept = [f"{name}: {value}" for name, value in self.headers if name.lower() not in _HOP]
        lines = (f"HTTP/1.1 {self.status} {phrase}", *kept, f"Content-Length: {length}", "", "")
        return "\r\n".join(lines).encode("latin-1")


@dataclass
class Call:
    """One request that arrived.

    Attributes:
        number: Its number among all calls, from 1.
        fault: The name of the fault it met; empty where it was passed on.
    """

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter = field(repr=False)
    proxy: FaultyProxy = field(repr=False)
    fault: str = ""

    async def forward(self) -> Response:
        """Asks the server behind."""
        return await _forwarded(self, self.proxy.upstream)

    async def send(self, content: bytes) -> None:
        """Writes to the client."""
        self.writer.write(content)
        await self.writer.drain()

    async def reply(self, response: Response) -> None:
        """Sends a whole response."""
        length = len(response.body) if response.length is None else response.length
        await self.send(response.head(length) + (b"" if self.method == "HEAD" else response.body))


class HungUp(Exception):
    """Raised by a fault: the connection is to be closed."""


Fault = Callable[[Call], Awaitable[None]]


def refused() -> Fault:
    """Stops listening: this connection is reset, and every further one is refused until `proxy.heal()`."""

    async def fault(call: Call) -> None:
        call.proxy.server.close()
        _reset(call.writer)

    return fault


def hang(seconds: float = 3600) -> Fault:
    """Takes the request and says nothing, then hangs up."""

    async def fault(call: Call) -> None:
        await asyncio.sleep(seconds)
        raise HungUp

    return fault


def delayed(seconds: float) -> Fault:
    """Answers late."""

    async def fault(call: Call) -> None:
        response = await call.forward()
        await asyncio.sleep(seconds)
        await call.reply(response)

    return fault


def half(part: float = 0.5) -> Fault:
    """The server did its work, but the connection breaks in the middle of its reply."""

    async def fault(call: Call) -> None:
        response = await call.forward()
        await call.send(response.head(len(response.body)) + response.body[: int(len(response.body) * part)])
        raise HungUp

    return fault


def reset() -> Fault:
    """The connection is reset (RST) without a reply."""

    async def fault(call: Call) -> None:
        _reset(call.writer)

    return fault


def status(
    code: int,
    message: str = "trouble",
    *,
    kind: str | None = None,
    retry_after: str | None = None,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> Fault:
    """Answers with a status.

    Args:
        code: The status.
        message: The error's words, in an OpenAI-shaped body.
        kind: Its `code`.
        retry_after: The header's value, sensible or not.
        headers: Further headers.
        body: In the place of the OpenAI-shaped one.
    """
    content = json.dumps({"error": {"message": message, "type": "error", "param": None, "code": kind}}).encode()
    extra = {"Content-Type": _JSON, **({} if retry_after is None else {"Retry-After": retry_after}), **(headers or {})}
    return _always(Response(code, tuple(extra.items()), content if body is None else body), f"status {code}")


def page(code: int = 200, text: str = "<html><body>Sign in to the network</body></html>") -> Fault:
    """An HTML page, as gateways and hotels give."""
    return _always(Response(code, (("Content-Type", "text/html; charset=utf-8"),), text.encode()), "page")


def garbled() -> Fault:
    """A reply that is no UTF-8."""
    return _always(Response(200, (("Content-Type", _JSON),), b'{"choices": "\xff\xfe\x80"}'), "garbled")


def truncated(part: float = 0.5) -> Fault:
    """Whole for HTTP, but only the first part of the JSON."""

    async def fault(call: Call) -> None:
        response = await call.forward()
        await call.reply(Response(response.status, response.headers, response.body[: int(len(response.body) * part)]))

    return fault


def empty(code: int = 200) -> Fault:
    """A reply without a body."""
    return _always(Response(code, (("Content-Type", _JSON),)), "empty")


def oversized(megabytes: int = 50, start: bytes = b'{"text": "') -> Fault:
    """A JSON text that grows and grows; never held in memory here."""

    async def fault(call: Call) -> None:
        block = b"x" * 2**20
        await call.send(Response(200, (("Content-Type", _JSON),)).head(len(start) + megabytes * len(block) + 2) + start)
        for _ in range(megabytes):
            await call.send(block)
        await call.send(b'"}')

    return fault


def redirect(location: str, code: int = 302) -> Fault:
    """Leads elsewhere."""
    return _always(Response(code, (("Location", location),)), "redirect")


def circle(code: int = 302) -> Fault:
    """Leads to the same address again, for ever."""

    async def fault(call: Call) -> None:
        await call.reply(Response(code, (("Location", call.path),)))

    return fault


def wrong_length(by: int) -> Fault:
    """Promises more (then hangs up) or fewer bytes than it sends."""

    async def fault(call: Call) -> None:
        response = await call.forward()
        await call.send(response.head(len(response.body) + by) + response.body)
        raise HungUp

    return fault


def bad_gzip() -> Fault:
    """Says gzip, and is not."""
    headers = (("Content-Type", _JSON), ("Content-Encoding", "gzip"))
    return _always(Response(200, headers, b"\x1f\x8b\x08\x00 this is no gzip at all"), "bad gzip")


def replaced(change: Callable[[bytes], bytes]) -> Fault:
    """The server's own reply with its body changed by a function."""

    async def fault(call: Call) -> None:
        response = await call.forward()
        await call.reply(Response(response.status, response.headers, change(response.body)))

    return fault


def only(text: str, broken: Fault) -> Fault:
    """Breaks the calls that hold a text in their body; all others are passed on."""

    async def fault(call: Call) -> None:
        if text.encode() in call.body:
            await broken(call)
        else:
            await call.reply(await call.forward())

    return fault


@dataclass
class _Rule:
    when: Callable[[int], bool]
    fault: Fault
    path: str
    seen: int = 0

    def takes(self, call: Call) -> bool:
        if self.path not in call.path:
            return False
        self.seen += 1
        return self.when(self.seen)


class FaultyProxy:
    """The proxy; see the module.

    Attributes:
        upstream: The address behind it.
        calls: What arrived, in order.
        url: The address to use in the place of the server's, with its path.
    """

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.calls: list[Call] = []
        self.port = 0
        self.server: asyncio.Server
        self._rules: list[_Rule] = []

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}{urlsplit(self.upstream).path}"

    def on(self, number: int, fault: Fault, *, path: str = "") -> None:
        """Breaks one call, counted from 1."""
        self._rules.append(_Rule(lambda n: n == number, fault, path))

    def first(self, count: int, fault: Fault, *, path: str = "") -> None:
        """Breaks the first calls."""
        self._rules.append(_Rule(lambda n: n <= count, fault, path))

    def after(self, count: int, fault: Fault, *, path: str = "") -> None:
        """Breaks every call after so many."""
        self._rules.append(_Rule(lambda n: n > count, fault, path))

    def always(self, fault: Fault, *, path: str = "") -> None:
        """Breaks every call."""
        self.after(0, fault, path=path)

    def share(self, part: float, fault: Fault, *, path: str = "", seed: int = 0) -> None:
        """Breaks a share of the calls, the same ones in every run."""
        self._rules.append(_Rule(lambda n: random.Random(f"{seed} {n}").random() < part, fault, path))

    def heal(self) -> None:
        """Passes every further call on, and listens again where it was refused."""
        self._rules.clear()
        if not self.server.is_serving():
            coroutine = listen(self.serve, self.port)
            self.server, _ = asyncio.run_coroutine_threadsafe(coroutine, self.server.get_loop()).result(5)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        try:
            while not writer.is_closing():
                method, path, headers, body = await _request(reader, writer)
                call = Call(len(self.calls) + 1, method, path, headers, body, writer, self)
                self.calls.append(call)
                await self._obeyed(call)
        except (HungUp, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _obeyed(self, call: Call) -> None:
        takers = [rule for rule in self._rules if rule.takes(call)]  # every rule counts, whoever is obeyed
        if not takers:
            await call.reply(await call.forward())
            return
        fault = takers[0].fault
        call.fault = getattr(fault, "named", fault.__qualname__.partition(".")[0])
        await fault(call)


@contextmanager
def faulty_proxy(upstream: str) -> Iterator[FaultyProxy]:
    """Runs a proxy in a thread of its own for the length of a `with` block.

    Args:
        upstream: The address of the server behind, such as `http://127.0.0.1:1234/v1`.
    """
    proxy = FaultyProxy(upstream)
    with threaded(lambda: listen(proxy.serve)) as (proxy.server, proxy.port):
        try:
            yield proxy
        finally:  # after `heal` it is another server than the one that `threaded` closes
            proxy.server.get_loop().call_soon_threadsafe(proxy.server.close)


def _always(response: Response, name: str) -> Fault:
    async def fault(call: Call) -> None:
        await call.reply(response)

    fault.named = name  # type: ignore[attr-defined]
    return fault


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    raise HungUp


async def _request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> tuple[str, str, dict[str, str], bytes]:
    method, path, headers, body = await read_request(reader)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = await _chunks(reader)
    return method, path, headers, body


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return b"".join(parts)


async def _forwarded(call: Call, upstream: str) -> Response:
    address = urlsplit(upstream)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2**26)
    try:
        kept = [f"{name}: {value}" for name, value in call.headers.items() if name not in _HOP]
        # The client's own Host: signatures of S3 cover it.
        host = call.headers.get("host", address.netloc)
        lines = (f"{call.method} {call.path} HTTP/1.1", f"Host: {host}", *kept, f"Content-Length: {len(call.body)}")
        writer.write("\r\n".join((*lines, "", "")).encode("latin-1") + call.body)
        await writer.drain()
        return await _response(reader, call.method)
    finally:
        writer.close()


async def _response(reader: asyncio.StreamReader, method: str) -> Response:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = head.split("\r\n")
    code = int(first.split(" ", 2)[1])
    pairs = [(name.strip(), value.strip()) for name, value in (line.split(":", 1) for line in rest if ":" in line)]
    named = {name.lower(): value for name, value in pairs}
    if method == "HEAD" or code in {204, 304} or code < 200:
        body = b""
    elif "chunked" in named.get("transfer-encoding", "").lower():
        body = await _chunks(reader)
    elif "content-length" in named:
        body = await reader.readexactly(int(named["content-length"]))
    else:
        body = await reader.read()
    told = int(named["content-length"]) if method == "HEAD" and "content-length" in named else None
    return Response(code, tuple(pairs), body, told)

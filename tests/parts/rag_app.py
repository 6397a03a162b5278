"""A small RAG app to test against: an HTTP server on 127.0.0.1, Python callables, and a command.

It knows a few sentences in three languages, answers with the one that shares most words with the question, and does
worse things on request. Only the standard library, so that it starts fast as a command:
`python tests/parts/rag_app.py`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSAGES: Mapping[str, str] = {
    "vi#1": "Học phí một khóa học 12 tuần là 2.400.000 đồng.",
    "en#1": "A course lasts twelve weeks and ends with a test.",
    "zh#1": "课程持续十二周，最后有一次考试。",
}
BROKEN_QUESTION = "BREAK"
"""The app fails on this question."""


class BrokenError(Exception):
    """What the app raises on `BROKEN_QUESTION`."""


def respond(question: str, history: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
    """Answers a question: the answer tells the question and the number of earlier turns, so that tests can see them."""
    if question == BROKEN_QUESTION:
        raise BrokenError("the index is gone")
    shared = {id_: len(set(text) & set(question)) for id_, text in PASSAGES.items()}
    ranked = sorted(PASSAGES, key=lambda id_: -shared[id_])
    return {
        "answer": f"{question} ← {PASSAGES[ranked[0]]} ({len(history)})",
        "contexts": [{"id": id_, "text": PASSAGES[id_], "score": shared[id_]} for id_ in ranked],
        "citations": [ranked[0]],
    }


def answer(question: str, history: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The app as a function."""
    return respond(question, history)


async def answer_async(question: str, history: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The app as a coroutine function."""
    await asyncio.sleep(0)
    return respond(question, history)


def answer_sample(sample: Any) -> dict[str, Any]:
    """The app as a function of the whole sample."""
    return respond(sample.question, [{"role": turn.role, "content": turn.content} for turn in sample.history])


def answer_slowly(question: str, history: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The app, thinking for long."""
    time.sleep(30)
    return respond(question, history)


@dataclass(frozen=True)
class Request:
    """What the server received."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float


@dataclass(frozen=True)
class Reply:
    """What the server does with one request.

    Attributes:
        body: The body; None: the app's own answer.
        status: The status.
        headers: Further headers.
        delay_s: Seconds to think before the status line.
        cut: Announce the whole body, send half of it, and close.
        reset: Close with a TCP reset instead of replying.
        drip_s: Send the body byte by byte, with so many seconds between them.
    """

    body: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0
    cut: bool = False
    reset: bool = False
    drip_s: float = 0


OK = Reply()


def json_reply(value: Any, **more: Any) -> Reply:
    """A reply of a JSON value, lone surrogates and all."""
    return Reply(json.dumps(value).encode(), headers={"content-type": "application/json"}, **more)


@dataclass
class RagApp:
    """The running server: what it was asked, and what it is to do.

    Attributes:
        url: Where it listens.
        script: What to do with the next requests, in order; afterwards `then`.
        then: What to do when the script is at its end; may depend on the question.
        requests: What it received.
        most_at_once: How many requests it served at the same time.
        connections: How many connections were opened.
    """

    url: str
    script: list[Reply] = field(default_factory=list)
    then: Callable[[str], Reply] = lambda _question: OK
    requests: list[Request] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    most_at_once: int = 0
    connections: int = 0
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def received(self, request: Request, question: str) -> Reply:
        """Notes a request and says what to do with it."""
        with self._lock:
            self.requests.append(request)
            return self.script.pop(0) if self.script else self.then(question)

    def connected(self) -> None:
        """Counts a connection."""
        with self._lock:
            self.connections += 1

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Counts requests that are being served at the same time."""
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield
        finally:
            with self._lock:
                self._at_once -= 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    app: RagApp

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = self._asked(body)
        question = str(asked.get("question", ""))
        request = Request(self.command, self.path, headers, body, time.monotonic())
        reply = self.app.received(request, question)
        with self.app.busy():
            self._carry_out(reply, question, asked.get("history", []))

    @staticmethod
    def _asked(body: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(body)
        except ValueError:
            return {}
        return asked if isinstance(asked, dict) else {}

    def _carry_out(self, reply: Reply, question: str, history: Sequence[Mapping[str, str]]) -> None:
        self.app.stopping.wait(reply.delay_s)
        if reply.reset:
            # Lingering for no time at all makes close() send RST.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        body, status = reply.body, reply.status
        if body is None:
            try:
                body = json.dumps(respond(question, history), ensure_ascii=False).encode()
            except BrokenError as error:
                body, status = str(error).encode(), 400
        self.send_response(status)
        for name, value in {"content-type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self._send(body, reply)

    def _send(self, body: bytes, reply: Reply) -> None:
        if reply.cut:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif reply.drip_s:
            for byte in body:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                if self.app.stopping.wait(reply.drip_s):
                    return
        else:
            self.wfile.write(body)

    def handle(self) -> None:
        self.app.connected()
        try:
            super().handle()
        except (ConnectionError, ValueError):
            return  # the client is gone, or the connection was reset on purpose

    def finish(self) -> None:
        try:
            super().finish()
        except (ConnectionError, ValueError):
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        return


@contextmanager
def serving_rag_app() -> Iterator[RagApp]:
    """Runs the server for the length of a `with` block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    app = RagApp(f"http://127.0.0.1:{server.server_address[1]}/ask")
    server.RequestHandlerClass = type("_BoundHandler", (_Handler,), {"app": app})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield app
    finally:
        app.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def refused_url() -> str:
    """An address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/ask"


def main() -> None:
    """The app as a command: JSONL in, JSONL out."""
    for line in sys.stdin:
        row = json.loads(line)
        try:
            reply = {"id": row["id"], **respond(row["question"], row["history"])}
        except BrokenError as error:
            reply = {"id": row["id"], "error": str(error)}
        print(json.dumps(reply, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()

"""A small OpenAI-shaped embeddings server on 127.0.0.1, whose faults can be set request by request."""

import hashlib
import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import numpy as np

from tests.parts.hashed_vectors import packed_row

Fault = Literal[
    "right", "wrong_dim", "wrong_count", "shuffled", "same_index", "rate_limited", "error", "slow", "nan", "zeros",
    "ragged", "reset", "unauthorized", "not_found", "not_json",
]  # fmt: skip


def vector_of(text: str, dim: int) -> list[float]:
    """The vector that the server gives for a text: the same everywhere, not of length 1."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return [float(value) for value in np.random.default_rng(seed).normal(size=dim)]


class EmbeddingServer(ThreadingHTTPServer):
    """Answers POST /v1/embeddings.

    Attributes:
        faults: What goes wrong with the next requests, one each; "right" once it is empty.
        always: What goes wrong with every request that `faults` does not name.
        refused: Texts that are answered by 400 when they are in a request.
        max_batch: More texts than that are answered by 413.
        retry_after: Value of the header in a 429.
        inputs: The texts of each request that arrived, in order.
        keys: The Authorization header of each.
        forms: The encoding_format of each.
        packs: Whether it gives base64 where that is asked for.
        refuses_base64: Whether it answers such a request by 400.
    """

    daemon_threads = True

    def __init__(self, dim: int = 8) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.dim = dim
        self.faults: deque[Fault] = deque()
        self.always: Fault = "right"
        self.refused: set[str] = set()
        self.max_batch = 1000
        self.retry_after = "0"
        self.slow_s = 5.0
        self.inputs: list[list[str]] = []
        self.keys: list[str | None] = []
        self.models: list[str] = []
        self.forms: list[str] = []
        self.packs = self.refuses_base64 = False
        self.running = 0
        self.most_running = 0
        self.lock = threading.Lock()
        self.woken = threading.Event()

    @property
    def api_base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_fault(self) -> Fault:
        with self.lock:
            return self.faults.popleft() if self.faults else self.always

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is not this server's error."""


@contextmanager
def embedding_server(dim: int = 8) -> Iterator[EmbeddingServer]:
    """Runs a server for the length of a `with` block."""
    server = EmbeddingServer(dim)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.woken.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EmbeddingServer

    def log_message(self, *args: object) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = body["input"]
        with server.lock:
            server.inputs.append(texts)
            server.keys.append(self.headers["Authorization"])
            server.models.append(body["model"])
            server.forms.append(body.get("encoding_format", ""))
            server.running += 1
            server.most_running = max(server.most_running, server.running)
        try:
            self._answer(body, texts, server.next_fault())
        finally:
            with server.lock:
                server.running -= 1

    def _answer(self, body: dict[str, Any], texts: list[str], fault: Fault) -> None:
        packed = body.get("encoding_format") == "base64"
        if fault == "slow":
            self.server.woken.wait(self.server.slow_s)
        if fault == "reset":
            self._hang_up()
        elif packed and self.server.refuses_base64:
            self._problem(400, "encoding_format: only float is known")
        elif problem := self._refusal(texts, fault):
            self._problem(*problem)
        elif fault == "not_json":
            self._send(200, b"<html>hello</html>", {"Content-Type": "text/html"})
        else:
            usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
            data = self._data(texts, fault)
            if packed and self.server.packs:
                data = [{**item, "embedding": packed_row(item["embedding"])} for item in data]
            reply = {"object": "list", "model": body["model"], "data": data, "usage": usage}
            self._send(200, json.dumps(reply).encode())

    def _refusal(self, texts: list[str], fault: Fault) -> tuple[int, str] | None:
        if self.path != "/v1/embeddings":
            return 404, "no such path"
        if status := {"error": 500, "unauthorized": 401, "not_found": 404, "rate_limited": 429}.get(fault):
            return status, f"trouble {status}"
        if len(texts) > self.server.max_batch:
            return 413, f"batch of {len(texts)} is more than {self.server.max_batch}"
        refused = self.server.refused.intersection(texts)
        return (400, f"input is too long: {min(refused)[:40]}") if refused else None

    def _hang_up(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _data(self, texts: list[str], fault: Fault) -> list[dict[str, Any]]:
        dim = self.server.dim + (fault == "wrong_dim")
        vectors: list[list[float]] = [vector_of(text, dim) for text in texts]
        if fault == "nan":
            vectors[-1][0] = float("nan")
        elif fault == "zeros":
            vectors[-1] = [0.0] * dim
        elif fault == "ragged":
            vectors[-1].append(1.0)
        data = [
            {"object": "embedding", "index": 0 if fault == "same_index" else index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ]
        if fault == "wrong_count":
            return data[:-1]
        return data[::-1] if fault == "shuffled" else data

    def _problem(self, status: int, message: str) -> None:
        headers = {"Retry-After": self.server.retry_after} if status == 429 else {}
        body = json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": status}}).encode()
        self._send(status, body, headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def wait_until(happened: Any, deadline_s: float = 10.0) -> None:
    """Waits for something that another thread does; fails where it does not come."""
    end = time.monotonic() + deadline_s
    while not happened():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.005)

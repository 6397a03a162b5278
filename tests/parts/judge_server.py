"""An OpenAI-compatible judge and embedder on 127.0.0.1, with every fault that real ones have, at settable rates.

In a test: `with judge_server(latency_s=0.3) as server: … server.url …`. As a process:
`python -m tests.parts.judge_server --port 8000 --latency-s 0.3 --broken-rate 0.05`; `GET /stats` tells what it did.
"""

import argparse
import asyncio
import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import Any, Literal

from tests.parts.hashed_vectors import hashed_vector, packed_row
from tests.parts.judge_anthropic import as_anthropic, as_openai
from tests.parts.judge_faults import KINDS
from tests.parts.judge_rules import Asked, answer, read_prompt
from tests.parts.local_http import Reply, Reset, in_a_thread, start
from tests.parts.processes import HOST

Verdict = Callable[[str, str, list[list[str]]], str | None]
"""`verdict(task, line, passages)`: the verdict for a line, or None to leave it to the rule."""


@dataclass(frozen=True)
class Behaviour:
    """What the server does; rates are fractions of the calls, chosen by content and count, so the same in every run.

    Attributes:
        rpm: More calls than rpm / 60 within a second get a 429 with `Retry-After`.
        retry_after: What `Retry-After` says; empty for none.
        schema: `full` takes response_format json_schema, `object` only json_object, `none` neither (400).
        cut_below: A reply is cut (finish_reason length) where max_tokens is lower.
        window: Prompts of more tokens (characters / 4) are refused with 400 context_length_exceeded; 0: no limit.
        dead_after: After so many calls every connection is closed without a reply; -1: never.
        kinds: Names of the broken replies in use, separated by commas; empty for all.
    """

    latency_s: float = 0.0
    embedding_latency_s: float = 0.0
    flip_rate: float = 0.0
    broken_rate: float = 0.0
    kinds: str = ""
    error_rate: float = 0.0
    reset_rate: float = 0.0
    rpm: int = 0
    retry_after: str = "1"
    api_key: str = ""
    model: str = ""
    schema: Literal["full", "object", "none"] = "full"
    reject_temperature: bool = False
    cut_below: int = 0
    window: int = 0
    dead_after: int = -1
    dim: int = 256
    seed: int = 0


@dataclass
class Stats:
    """What the server did."""

    calls: int = 0
    embedding_calls: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    tasks: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    first_s: float | None = None
    last_s: float | None = None


class Refused(Exception):
    """An error reply."""

    def __init__(self, status: int, message: str, code: str = "", headers: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, headers


class JudgeServer:
    """Answers chat completions and embeddings.

    Attributes:
        behaviour: May be replaced at any time.
        verdict: Scripted verdicts.
        requests: The bodies of the chat requests, in order of arrival.
    """

    def __init__(self, behaviour: Behaviour, verdict: Verdict | None = None) -> None:
        self.behaviour = behaviour
        self.verdict = verdict
        self.stats = Stats()
        self.requests: list[dict[str, Any]] = []
        self.port = 0
        self._seen: Counter[str] = Counter()
        self._recent: deque[float] = deque()

    @property
    def url(self) -> str:
        """The base address, as `api_base`."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def prompts(self) -> list[str]:
        """The text of each chat request, system message included."""
        return [text_of(request) for request in self.requests]

    async def handle(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> Reply:
        """Answers one HTTP request."""
        reply = await self._respond(path, headers, raw)
        self.stats.statuses[reply[0]] += 1
        return reply

    async def _respond(self, path: str, headers: dict[str, str], raw: bytes) -> Reply:
        try:
            if path == "/stats":
                return 200, (), {**vars(self.stats), "statuses": dict(self.stats.statuses)}
            if path == "/v1/models":
                return 200, (), {"object": "list", "data": [{"id": self.behaviour.model or "judge", "object": "model"}]}
            self._check_key(headers)
            if path == "/v1/chat/completions":
                return 200, (), await self._chat(json.loads(raw))
            if path == "/v1/messages":
                return 200, (), as_anthropic(await self._chat(as_openai(json.loads(raw))))
            if path == "/v1/embeddings":
                return 200, (), await self._embed(json.loads(raw))
            raise Refused(404, f"no such path: {path}")
        except Refused as refused:
            error = {"message": refused.message, "type": "error", "param": None, "code": refused.code or None}
            return refused.status, refused.headers, {"error": error}

    def _check_key(self, headers: dict[str, str]) -> None:
        if self.behaviour.api_key and headers.get("authorization") != f"Bearer {self.behaviour.api_key}":
            raise Refused(401, "Incorrect API key provided: sk-wro****key.", "invalid_api_key")

    async def _chat(self, request: dict[str, Any]) -> dict[str, Any]:
        stats, behaviour = self.stats, self.behaviour
        arrived = time.monotonic()
        stats.calls += 1
        stats.first_s = arrived if stats.first_s is None else stats.first_s
        if 0 <= behaviour.dead_after < stats.calls:
            raise Reset
        self.requests.append(request)
        stats.in_flight += 1
        stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
        try:
            self._check_rate(arrived)
            await asyncio.sleep(behaviour.latency_s)
            return self._completion(request)
        finally:
            stats.in_flight -= 1
            stats.last_s = time.monotonic()

    def _check_rate(self, now: float) -> None:
        if not self.behaviour.rpm:
            return
        while self._recent and self._recent[0] <= now - 1:
            self._recent.popleft()
        if len(self._recent) >= max(1, self.behaviour.rpm // 60):
            wait = self.behaviour.retry_after
            raise Refused(429, "Rate limit reached", "rate_limit_exceeded", (f"Retry-After: {wait}",) if wait else ())
        self._recent.append(now)

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        behaviour = self.behaviour
        prompt = text_of(request)
        self._check_request(request, prompt)
        asked = read_prompt(prompt, schema_name(request))
        self.stats.tasks[asked.task] += 1
        count = self._seen[prompt]
        self._seen[prompt] += 1
        chance = random.Random(sha256(f"{behaviour.seed} {count} {prompt}".encode("utf-8", "replace")).hexdigest())
        fault = chance.random()
        if fault < behaviour.error_rate:
            raise Refused(chance.choice((500, 502, 503)), "The server had an error")
        if fault < behaviour.error_rate + behaviour.reset_rate:
            raise Reset
        try:
            reply = answer(asked, self._say(asked, chance))
        except KeyError as error:
            raise Refused(400, f"the test judge has no rule for task {asked.task}") from error
        content, finish = json.dumps(reply, ensure_ascii=False), "stop"
        if fault > 1 - behaviour.broken_rate:
            content, finish = KINDS[chance.choice(behaviour.kinds.split(",") if behaviour.kinds else list(KINDS))](
                reply
            )
        if (request.get("max_tokens") or request.get("max_completion_tokens") or 10**9) < behaviour.cut_below:
            content, finish = (content or "")[:20], "length"
        return self._body(request, prompt, content, finish)

    def _body(self, request: dict[str, Any], prompt: str, content: str | None, finish: str) -> dict[str, Any]:
        used = (len(prompt) // 4, len(content or "") // 4)
        self.stats.prompt_tokens += used[0]
        self.stats.completion_tokens += used[1]
        return {
            "id": f"chatcmpl-{self.stats.calls}",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
            "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}],
            "usage": {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)},
        }

    def _check_request(self, request: dict[str, Any], prompt: str) -> None:
        behaviour = self.behaviour
        if behaviour.model and request["model"] != behaviour.model:
            raise Refused(404, f"The model `{request['model']}` does not exist", "model_not_found")
        wanted = (request.get("response_format") or {}).get("type", "text")
        allowed = {"full": ("text", "json_object", "json_schema"), "object": ("text", "json_object"), "none": ("text",)}
        if wanted not in allowed[behaviour.schema]:
            raise Refused(
                400, f"Invalid parameter: 'response_format' of type '{wanted}' is not supported with this model."
            )
        if behaviour.reject_temperature and "temperature" in request:
            raise Refused(
                400, "Unsupported value: 'temperature' does not support 0.0 with this model.", "unsupported_value"
            )
        if behaviour.window and len(prompt) // 4 > behaviour.window:
            told = f"This model's maximum context length is {behaviour.window} tokens. However, your messages resulted in {len(prompt) // 4} tokens."
            raise Refused(400, told, "context_length_exceeded")

    def _say(self, asked: Asked, chance: random.Random) -> Callable[[str, Sequence[str], str], str]:
        def say(line: str, verdicts: Sequence[str], default: str) -> str:
            scripted = self.verdict(asked.task, line, asked.passages) if self.verdict else None
            chosen = scripted if scripted is not None else default
            if chance.random() < self.behaviour.flip_rate:
                return chance.choice([verdict for verdict in verdicts if verdict != chosen])
            return chosen

        return say

    async def _embed(self, request: dict[str, Any]) -> dict[str, Any]:
        self.stats.embedding_calls += 1
        await asyncio.sleep(self.behaviour.embedding_latency_s)
        texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
        packed = request.get("encoding_format") == "base64"
        rows = [hashed_vector(text, request.get("dimensions") or self.behaviour.dim) for text in texts]
        data = [
            {"object": "embedding", "index": index, "embedding": packed_row(row) if packed else row}
            for index, row in enumerate(rows)
        ]
        tokens = sum(len(text) for text in texts) // 4
        return {
            "object": "list",
            "model": request["model"],
            "data": data,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }


def text_of(request: dict[str, Any]) -> str:
    """The text of all messages of a chat request."""
    parts: list[str] = []
    for message in request["messages"]:
        content = message["content"]
        parts += [content] if isinstance(content, str) else [block["text"] for block in content or ()]
    return "\n".join(parts)


def schema_name(request: dict[str, Any]) -> str | None:
    """The name of the JSON schema that a chat request asks for."""
    schema = (request.get("response_format") or {}).get("json_schema") or {}
    return schema.get("name")


@contextmanager
def judge_server(verdict: Verdict | None = None, **behaviour: Any) -> Iterator[JudgeServer]:
    """Runs a server in a thread of its own for the length of a `with` block."""
    judge = JudgeServer(Behaviour(**behaviour), verdict)
    with in_a_thread(judge.handle) as judge.port:
        yield judge


def main() -> None:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    for option in fields(Behaviour):
        name = f"--{option.name.replace('_', '-')}"
        if isinstance(option.default, bool):
            parser.add_argument(name, action="store_true")
        else:
            parser.add_argument(name, type=type(option.default), default=option.default)
    arguments = vars(parser.parse_args())
    asyncio.run(_serve(arguments.pop("port"), replace(Behaviour(), **arguments)))


async def _serve(port: int, behaviour: Behaviour) -> None:
    judge = JudgeServer(behaviour)
    server, judge.port = await start(judge.handle, port)
    print(judge.url, flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    main()

"""A small Slack on 127.0.0.1: channels, messages, threads, history and webhooks, with Slack's limits and refusals."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.parts.local_http import Reply, Reset, in_a_thread
from tests.parts.processes import HOST

BLOCKS, HEADER, SECTION, FIELDS, FIELD, BUTTON, URL, ALL, TEXT = 50, 150, 3_000, 10, 2_000, 75, 3_000, 13_200, 40_000
TOKEN, HOOK = "xoxb-1234567890-abcdefghij", "/services/T0AAAAAAA/B0BBBBBBB/hooksecrethooksecret"
SCOPES = {"chat:write", "chat:write.public", "channels:read", "channels:history"}

Message = dict[str, Any]


@dataclass
class Fault:
    """What happens to the next `times` requests to a method; None drops the connection."""

    method: str
    reply: Reply | None
    times: int = 1
    after: int = 0


class Refused(Exception):
    """Slack's word for what is wrong."""


@dataclass
class Slack:
    """The workspace."""

    channels: dict[str, str] = field(default_factory=lambda: {"general": "C0GENERAL1", "rag-quality": "C0QUALITY1"})
    private: set[str] = field(default_factory=set)
    archived: set[str] = field(default_factory=set)
    scopes: set[str] = field(default_factory=lambda: set(SCOPES))
    messages: list[Message] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    url: str = ""
    page: int = 100

    @property
    def api(self) -> str:
        """The address of the API."""
        return f"{self.url}/api/"

    @property
    def hook(self) -> str:
        """The address of the webhook."""
        return self.url + HOOK

    def fail(
        self,
        method: str,
        status: int | None,
        body: Any = None,
        headers: Sequence[str] = (),
        *,
        times: int = 1,
        after: int = 0,
    ) -> None:
        """Makes requests fail; no status drops the connection."""
        self.faults.append(Fault(method, None if status is None else (status, headers, body), times, after))

    def texts(self) -> str:
        """All that was posted, as JSON."""
        return json.dumps(self.messages, ensure_ascii=False)

    async def handle(self, _method: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answers one request."""
        path = urlsplit(target).path
        name = "webhook" if path.startswith("/services/") else path.removeprefix("/api/")
        self.requests.append(name)
        for fault in self.faults:
            if fault.method == name and fault.times > 0:
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                if fault.reply is None:
                    raise Reset
                return fault.reply
        if name == "webhook":
            return self._webhook(path, json.loads(body))
        try:
            if headers.get("authorization") != f"Bearer {TOKEN}":
                raise Refused("invalid_auth")
            return 200, (), {"ok": True, **self._method(name, _content(headers, body))}
        except Refused as refused:
            error = str(refused)
            code, _, needed = error.partition(" ")
            return 200, (), {"ok": False, "error": code, **({"needed": needed} if needed else {})}

    def _webhook(self, path: str, content: Message) -> Reply:
        if path != HOOK:
            return 404, (), b"no_service"
        try:
            _check_message(content)
        except Refused as refused:
            return 400, (), str(refused).encode()
        self.messages.append({**content, "channel": "hook", "ts": "none"})
        return 200, (), b"ok"

    def _method(self, name: str, content: Message) -> Message:
        if name == "chat.postMessage":
            return self._post(content)
        if name == "conversations.list":
            self._need("channels:read")
            rows = [
                {"id": id_, "name": channel} for channel, id_ in self.channels.items() if channel not in self.private
            ]
            return self._paged(rows, content, "channels")
        if name == "conversations.history":
            self._need("channels:history")
            rows = [m for m in self.messages if m["channel"] == content["channel"] and "thread_ts" not in m]
            with_metadata = str(content.get("include_all_metadata")).lower() in {"true", "1"}
            shown = [m if with_metadata else {key: m[key] for key in m if key != "metadata"} for m in reversed(rows)]
            return self._paged(shown, content, "messages")
        raise Refused("unknown_method")

    def _need(self, scope: str) -> None:
        if scope not in self.scopes:
            raise Refused(f"missing_scope {scope}")

    def _paged(self, rows: list[Message], content: Message, name: str) -> Message:
        start = int(content.get("cursor") or 0)
        size = min(self.page, int(content.get("limit") or 100))
        following = str(start + size) if start + size < len(rows) else ""
        return {name: rows[start : start + size], "response_metadata": {"next_cursor": following}}

    def _post(self, content: Message) -> Message:
        self._need("chat:write")
        name = content["channel"].removeprefix("#")
        id_ = self.channels.get(name) or (name if name in self.channels.values() else None)
        if id_ is None or name in self.private:
            raise Refused("channel_not_found")
        if name in self.archived:
            raise Refused("is_archived")
        if "chat:write.public" not in self.scopes:
            raise Refused("not_in_channel")
        _check_message(content)
        thread = content.get("thread_ts")
        if thread is not None and thread not in {message["ts"] for message in self.messages}:
            raise Refused("thread_not_found")
        ts = f"1700000000.{len(self.messages):06d}"
        self.messages.append({**content, "channel": id_, "ts": ts})
        return {"channel": id_, "ts": ts}


def _content(headers: dict[str, str], body: bytes) -> Message:
    if headers.get("content-type", "").startswith("application/json"):
        return dict(json.loads(body))
    return {name: values[0] for name, values in parse_qs(body.decode()).items()}


def _check_message(content: Message) -> None:
    blocks = content.get("blocks") or []
    if not content.get("text") and not blocks:
        raise Refused("no_text")
    if len(content.get("text") or "") > TEXT:
        raise Refused("msg_too_long")
    if len(blocks) > BLOCKS or len(json.dumps(blocks, ensure_ascii=False)) > ALL:
        raise Refused("msg_blocks_too_long")
    for block in blocks:
        _check_block(block)
    payload = (content.get("metadata") or {}).get("event_payload", {})
    if any(not isinstance(value, str | int | bool | float) for value in payload.values()):
        raise Refused("invalid_metadata_format")


def _check_block(block: Message) -> None:
    check = _BLOCK_RULES.get(str(block.get("type")))
    if check is None or not check(block):
        raise Refused("invalid_blocks")


def _header(block: Message) -> bool:
    return _fits(block["text"], HEADER, "plain_text")


def _section(block: Message) -> bool:
    fields = block.get("fields", [])
    texts = "text" not in block or _fits(block["text"], SECTION)
    return (
        texts and ("text" in block or bool(fields)) and len(fields) <= FIELDS and all(_fits(f, FIELD) for f in fields)
    )


def _context(block: Message) -> bool:
    return 1 <= len(block["elements"]) <= 10 and all(_fits(one, SECTION) for one in block["elements"])


def _actions(block: Message) -> bool:
    buttons = block["elements"]
    one_by_one = all(
        _fits(button["text"], BUTTON, "plain_text")
        and len(button["url"]) <= URL
        and re.match("https?://", button["url"])
        for button in buttons
    )
    return one_by_one and len({button["action_id"] for button in buttons}) == len(buttons)


def _fits(text: Message, most: int, kind: str | None = None) -> bool:
    known = text.get("type") in ({kind} if kind else {"plain_text", "mrkdwn"})
    length = len(text["text"].encode("utf-16-le")) // 2
    return known and ("verbatim" not in text or text["type"] == "mrkdwn") and 1 <= length <= most


_BLOCK_RULES = {"header": _header, "section": _section, "context": _context, "actions": _actions}


@contextmanager
def slack_server() -> Iterator[Slack]:
    """Runs such a server."""
    server = Slack()
    with in_a_thread(server.handle) as port:
        server.url = f"http://{HOST}:{port}"
        yield server

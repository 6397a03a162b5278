"""What Slack and GitHub, or whoever answers in their place, reply: told in one line, without a secret, never a crash."""

from __future__ import annotations

import atexit
import contextlib
import functools
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from pydantic import SecretStr

from ragguard.adapters.github_reader import GitHubReader
from ragguard.adapters.notifiers.base import Notifier
from ragguard.adapters.notifiers.github_check import GitHubCheck
from ragguard.adapters.notifiers.github_comment import GitHubComment
from ragguard.adapters.notifiers.github_issue import GitHubIssue
from ragguard.adapters.notifiers.slack import Slack
from ragguard.adapters.notifiers.slack_webhook import SlackWebhook
from ragguard.core.report import Delivery
from tests.fakes.letters import GITHUB_TOKEN, ISSUE_TOKEN, SLACK_TOKEN, Waits, letter, place, secrets
from tests.fuzz.harness import attempt, fuzzed
from tests.fuzz.mutations import as_json, broken, broken_bytes, texts, values
from tests.parts.local_http import Reply, in_a_thread
from tests.parts.processes import HOST

LIKELY: tuple[Any, ...] = (
    {"ok": True, "ts": "1.2", "channel": "C0QUALITY1", "message": {"ts": "1.2"}},
    {"ok": False, "error": "channel_not_found"},
    {"ok": True, "channels": [{"id": "C0QUALITY1", "name": "rag-quality"}], "response_metadata": {"next_cursor": ""}},
    {"message": "Not Found", "errors": [{"field": "a", "code": "b"}]},
    [{"number": 1, "title": "x", "body": "<!-- ragguard -->", "user": {"login": "a", "type": "Bot"}, "html_url": "https://x/1", "id": 5, "state": "open"}],
    {"number": 1, "id": 7, "node_id": "N", "html_url": "https://code.example/1", "login": "a", "total_count": 0, "items": [], "check_runs": []},
    [],
    "ok",
)  # fmt: skip
HEADERS: tuple[tuple[str, ...], ...] = (
    (), ("Retry-After: 1",), ("Retry-After: nan",), ("Retry-After: inf",), ("Retry-After: -5",), ("Retry-After: x",),
    ("X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 99999999999999999999"), ("X-RateLimit-Remaining: 0", "Date: never"),
    ("Content-Type: text/html",), ("Link: <https://127.0.0.1:9/x>; rel=next",), ("Location: https://127.0.0.1:9/",),
)  # fmt: skip
replies = st.tuples(
    st.sampled_from([200, 200, 200, 201, 204, 301, 400, 401, 403, 404, 410, 422, 429, 500, 503]),
    st.sampled_from(HEADERS),
    st.one_of(
        broken(st.sampled_from(LIKELY)).map(as_json),
        broken_bytes(st.sampled_from(LIKELY).map(as_json)),
        values.map(as_json),
        st.binary(max_size=30),
    ),
)


class Anybody:
    """A server that replies what it is given, round and round."""

    def __init__(self) -> None:
        self.replies: Sequence[Reply] = ()
        self._count = 0

    async def handle(self, _method: str, _path: str, _headers: dict[str, str], _body: bytes) -> Reply:
        self._count += 1
        return self.replies[self._count % len(self.replies)]


@functools.cache
def anybody() -> tuple[Anybody, str]:
    """The server and its address, started once."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    server = Anybody()
    port = stack.enter_context(in_a_thread(server.handle))
    return server, f"http://{HOST}:{port}"


CHANNELS: tuple[Notifier, ...] = (
    Slack(channel="#rag-quality"), SlackWebhook(), GitHubIssue(repository="acme/tutor"), GitHubComment(), GitHubCheck()
)  # fmt: skip


@fuzzed(
    35,
    given=st.lists(replies, min_size=1, max_size=3),
    channel=st.sampled_from(CHANNELS),
    outcome=st.sampled_from(["failed", "passed"]),
)
def test_any_reply_is_a_delivery_or_told(given: list[Reply], channel: Notifier, outcome: Any) -> None:
    server, url = anybody()
    server.replies = given
    at = place("pull_request", slack_api=f"{url}/api/", github_api=url, pull_request=3, commit="a" * 40)
    known = secrets(slack_webhook_url=SecretStr(f"{url}/services/T0/B0/hooksecrethooksecret"))
    sent = channel.deliver(letter(outcome), at, known, Waits().patience)
    assert isinstance(sent, Delivery)
    assert sent.detail
    assert "\n" not in sent.detail
    for secret in (SLACK_TOKEN, GITHUB_TOKEN, ISSUE_TOKEN, "hooksecret"):
        assert secret not in sent.detail


@functools.cache
def reader_of(url: str) -> GitHubReader:
    """A reader that does not wait, made once."""
    return GitHubReader("acme/tutor", SecretStr(GITHUB_TOKEN), url, sleep=lambda _: None)


@fuzzed(25, given=st.lists(replies, min_size=1, max_size=3), name=texts.filter(str.isprintable))
def test_any_reply_about_the_repository_is_read_or_told(given: list[Reply], name: str) -> None:
    server, url = anybody()
    server.replies = given
    reader = reader_of(url)
    for act in (
        lambda: reader.file("ragguard.yaml", "main"),
        lambda: reader.folder("templates", name or "main"),
        lambda: reader.commit_time("a" * 40),
        lambda: reader.merge_base_time("a" * 40, "b" * 40),
        lambda: reader.open_pull_requests("a" * 40, "mai", name),
    ):
        attempt(act, {2, 4})

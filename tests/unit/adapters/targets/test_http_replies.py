"""What an HTTP target makes of replies: good ones, broken ones, and a target that is down."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ragguard.adapters.targets import HttpTarget
from ragguard.core.samples import Passage
from ragguard.errors import ExitCode, TargetError
from tests.parts.rag_app import OK, RagApp, Reply, json_reply, refused_url, serving_rag_app
from tests.unit.adapters.targets.asking import answer_to, ask, collect, failure_of, many, samples_of


@pytest.fixture
def app() -> Iterator[RagApp]:
    with serving_rag_app() as running:
        yield running


def _target(app: RagApp, **settings: Any) -> HttpTarget:
    defaults = {"url": app.url, "backoff": 0.01, "concurrency": 1, "timeout": 10}
    return HttpTarget.model_validate({**defaults, **settings})


def _down(target: HttpTarget, count: int = 8) -> TargetError:
    with pytest.raises(TargetError) as caught:
        asyncio.run(collect(target, many(count)))
    assert caught.value.exit_code == ExitCode.OUTSIDE_WORLD
    assert len(caught.value.message.splitlines()) == 1
    assert caught.value.mend
    return caught.value


# --- good replies ---


def test_the_answer_is_picked_out_by_pointers(app: RagApp) -> None:
    app.then = lambda _question: json_reply(
        {
            "choices": [{"message": {"content": "Mười hai tuần. 十二周。"}}],
            "sources": [{"chunk_id": 7, "page_content": "đoạn", "relevance_score": 0.5}, "plain"],
            "used": [{"chunk_id": 7}, "b"],
            "usage": {"usd": 0.25},
        }
    )
    target = _target(
        app, answer="/choices/0/message/content", passages="/sources", citations="/used", cost="/usage/usd"
    )
    answer = answer_to(target)
    assert answer.text == "Mười hai tuần. 十二周。"
    assert answer.contexts == (Passage(id="7", text="đoạn", rank=1, score=0.5), Passage(text="plain", rank=2))
    assert answer.citations == ("7", "b")
    assert answer.cost_usd == 0.25


def test_the_whole_reply_may_be_the_answer(app: RagApp) -> None:
    app.then = lambda _question: json_reply("just text")
    assert answer_to(_target(app, answer="")).text == "just text"


def test_what_is_not_pointed_at_is_not_told(app: RagApp) -> None:
    answer = answer_to(_target(app))
    assert (answer.contexts, answer.citations, answer.cost_usd) == (None, None, None)


def test_nothing_retrieved_is_an_empty_list(app: RagApp) -> None:
    app.then = lambda _question: json_reply({"answer": "x", "contexts": []})
    assert answer_to(_target(app, passages="/contexts")).contexts == ()


def test_null_citations_and_cost_are_not_told(app: RagApp) -> None:
    app.then = lambda _question: json_reply({"answer": "x", "citations": None, "cost": None})
    answer = answer_to(_target(app, citations="/citations", cost="/cost"))
    assert (answer.citations, answer.cost_usd) == (None, None)


@pytest.mark.parametrize("text", ["", "   ", "\u3000"])
def test_a_blank_answer_is_an_answer(text: str, app: RagApp) -> None:
    app.then = lambda _question: json_reply({"answer": text})
    assert answer_to(_target(app)).text == text


@pytest.mark.parametrize(
    "reply",
    [
        Reply('{"answer": "đúng"}'.encode(), headers={"content-type": "text/plain"}),
        Reply(b"\xef\xbb\xbf" + '{"answer": "đúng"}'.encode()),
        Reply('{"answer": "đúng"}'.encode(), status=201),
        Reply('{"answer": "đúng", "unused": NaN}'.encode()),
        Reply('\r\n {"answer": "đúng"} \r\n'.encode()),
    ],
    ids=["plain text type", "byte order mark", "created", "NaN where nobody looks", "white space"],
)
def test_what_is_odd_but_clear_is_taken(reply: Reply, app: RagApp) -> None:
    app.then = lambda _question: reply
    assert answer_to(_target(app)).text == "đúng"


def test_lone_surrogates_and_nul_are_replaced(app: RagApp) -> None:
    app.then = lambda _question: Reply(b'{"answer": "a\\ud800b\\u0000c"}')
    assert answer_to(_target(app)).text == "a\ufffdb\ufffdc"


# --- one sample's failure ---

DEEP = b'{"answer": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
FAULTS: dict[str, tuple[Reply, str]] = {
    "no JSON": (Reply(b"<html>Welcome</html>", headers={"content-type": "text/html"}), "<html>Welcome</html>"),
    "empty": (Reply(b""), "the reply is empty"),
    "no content": (Reply(b"", status=204), "the reply is empty"),
    "cut JSON": (Reply(b'{"answer": "abc'), "is not JSON"),
    "two objects": (Reply(b'{"answer": "a"}{"answer": "b"}'), "is not JSON"),
    "repeated key": (Reply(b'{"answer": "a", "answer": "b"}'), "stands twice"),
    "not UTF-8": (Reply(b'{"answer": "\xff\xfe"}'), "is not UTF-8"),
    "deep": (Reply(DEEP), "nested too deeply"),
    "event stream": (Reply(b'data: {"answer": "a"}\n\n'), "is not JSON"),
    "compressed": (
        Reply(gzip.compress(b'{"answer": "a"}'), headers={"content-encoding": "gzip"}),
        "compressed (gzip)",
    ),
    "too large": (json_reply({"answer": "x" * 3_000}), "larger than max_response_bytes (2,000 bytes)"),
    "pointer missing": (json_reply({"result": "x"}), "nothing at /answer: the keys at the top are result"),
    "passages missing": (json_reply({"answer": "x"}), "nothing at /contexts"),
    "list": (json_reply(["x"]), "the list at the top has 1 items"),
    "null reply": (json_reply(None), "the top is null"),
    "null answer": (json_reply({"answer": None, "contexts": []}), '/answer: is null; give a text, ""'),
    "number": (json_reply({"answer": 42, "contexts": []}), "/answer: is a number (42)"),
    "NaN": (Reply(b'{"answer": NaN, "contexts": []}'), "/answer: is the number NaN"),
    "object": (json_reply({"answer": {"text": "x"}, "contexts": []}), "/answer: is an object"),
    "null passages": (json_reply({"answer": "x", "contexts": None}), "/contexts: is null; give []"),
    "passages no list": (json_reply({"answer": "x", "contexts": {}}), "/contexts: is an object; write a list"),
    "passage without text": (json_reply({"answer": "x", "contexts": [{"id": "1"}]}), "/contexts[0].text: is missing"),
    "passage null": (json_reply({"answer": "x", "contexts": [None]}), "/contexts[0]: is null"),
    "bad rank": (json_reply({"answer": "x", "contexts": [{"text": "a", "rank": 0}]}), "ranks are whole numbers"),
    "endless score": (Reply(b'{"answer": "x", "contexts": [{"text": "a", "score": 1e999}]}'), "cannot hold"),
    "bad request": (Reply(b"question too\nlong", status=400), "HTTP 400 Bad Request: question too long"),
    "unprocessable": (Reply(b"{}", status=422), "HTTP 422"),
    "odd status": (Reply(b"", status=499), "HTTP 499"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "reason"), FAULTS.values(), ids=FAULTS.keys())
def test_a_broken_reply_fails_its_sample_only_and_is_not_asked_again(reply: Reply, reason: str, app: RagApp) -> None:
    good = json_reply({"answer": "fine", "contexts": []})
    app.script, app.then = [good, reply], lambda _question: good
    samples = samples_of("one", "two", "three")
    given = ask(_target(app, passages="/contexts", max_response_bytes=2_000 if "larger" in reason else 10**6), samples)
    failure = given["s2"].failure
    assert failure is not None
    assert reason in failure
    assert "\n" not in failure
    assert len(failure) < 500
    assert given["s1"].answer is not None
    assert given["s3"].answer is not None
    assert len(app.requests) == 3


@pytest.mark.parametrize(
    ("reply", "pointers", "reason"),
    [
        ({"answer": "x"}, {"citations": "/cited"}, "nothing at /cited"),
        ({"answer": "x", "cited": "s1"}, {"citations": "/cited"}, None),
        ({"answer": "x", "cited": [{"title": "no id"}]}, {"citations": "/cited"}, "/cited[0]: is an object"),
        ({"answer": "x", "cited": [""]}, {"citations": "/cited"}, "/cited[0]: is blank"),
        ({"answer": "x"}, {"cost": "/usd"}, "nothing at /usd"),
        ({"answer": "x", "usd": -1}, {"cost": "/usd"}, "/usd: is -1, must be at least 0"),
        ({"answer": "x", "usd": "1"}, {"cost": "/usd"}, "/usd: is a text"),
        ({"answer": "x", "usd": True}, {"cost": "/usd"}, "/usd: is true or false"),
    ],
)
def test_configured_pointers_are_kept_to(reply: Any, pointers: dict[str, str], reason: str | None, app: RagApp) -> None:
    app.script = [json_reply({"answer": "x", "cited": [], "usd": 0}), json_reply(reply)]
    given = ask(_target(app, **pointers), samples_of("one", "two"))["s2"]
    if reason is None:
        assert given.answer is not None
    else:
        assert reason in (given.failure or "")


# --- faults that another attempt mends ---

MENDED: dict[str, list[Reply]] = {
    "500 once": [Reply(b"oops", status=500)],
    "503, 502, 504": [Reply(b"", status=503), Reply(b"", status=502), Reply(b"", status=504)],
    "429 with no wait": [Reply(b"", status=429, headers={"retry-after": "0"})],
    "429 without Retry-After": [Reply(b"", status=429)],
    "429 with nonsense": [Reply(b"", status=429, headers={"retry-after": "soon ²"})],
    "429 with a date that is past": [Reply(b"", status=429, headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})],
    "408": [Reply(b"", status=408)],
    "reset": [Reply(reset=True)],
    "half a reply": [Reply(cut=True)],
    "reset, then half": [Reply(reset=True), Reply(cut=True)],
    "half an error": [Reply(b"long error", status=500, cut=True)],
}


@pytest.mark.parametrize("script", MENDED.values(), ids=MENDED.keys())
def test_what_another_attempt_mends(script: list[Reply], app: RagApp) -> None:
    app.script = list(script)
    assert answer_to(_target(app)).text.startswith("How long")
    assert len(app.requests) == len(script) + 1


def test_attempts_are_bounded_and_counted(app: RagApp) -> None:
    app.script = [OK, *[Reply(b"busy", status=503)] * 9]
    failure = failure_of(_target(app, retries=2))
    assert failure == "HTTP 503 Service Unavailable: busy (attempt 3 of 3)"
    assert len(app.requests) == 4


def test_no_retries_means_one_attempt(app: RagApp) -> None:
    app.script = [OK, Reply(reset=True)]
    assert "attempt" not in failure_of(_target(app, retries=0))
    assert len(app.requests) == 2


def test_retry_after_is_obeyed_by_all_questions_in_flight(app: RagApp) -> None:
    # One question is told to wait; the other is answered a little later, and the third must not go out at once.
    app.script = [Reply(b"", status=429, headers={"retry-after": "1"}), Reply(delay_s=0.2)]
    asyncio.run(collect(_target(app, concurrency=2), many(3)))
    first, _, *later = app.requests
    assert len(later) == 2
    assert all(request.at - first.at >= 1 for request in later)


def test_a_wait_that_is_too_long_is_not_waited_for(app: RagApp) -> None:
    app.script = [OK, Reply(b"quota", status=429, headers={"retry-after": "7200"})]
    assert "asks to wait 7200 s" in failure_of(_target(app))
    assert len(app.requests) == 2


@pytest.mark.parametrize("reply", [Reply(delay_s=20), Reply(drip_s=0.05)], ids=["silent", "dripping"])
def test_a_slow_reply_is_a_failure_of_its_sample(reply: Reply, app: RagApp) -> None:
    app.script = [OK, reply, reply]
    assert failure_of(_target(app, timeout=0.8, retries=1)) == "no whole reply within 0.8 s (attempt 2 of 2)"


def test_latency_is_that_of_the_attempt_that_succeeded(app: RagApp) -> None:
    app.script = [Reply(b"", status=500, delay_s=0.5), Reply(delay_s=0.05)]
    start = time.monotonic()
    latency = answer_to(_target(app)).latency_s
    assert latency is not None
    assert 0.05 <= latency <= time.monotonic() - start - 0.5


# --- the target as a whole ---


def test_refused_connections_end_the_run_with_one_sentence() -> None:
    error = _down(HttpTarget(url=refused_url() + "?key=abc", backoff=0.01, retries=1))
    assert "gave no answer to any of the first 5 questions: the connection was not made" in error.message
    assert "?key" not in str(error)
    assert "start the RAG app" in (error.mend or "")


def test_one_sample_and_a_refused_connection_is_down_too() -> None:
    error = _down(HttpTarget(url=refused_url(), backoff=0.01, retries=0), count=1)
    assert "gave no answer: the connection was not made" in error.message


def test_an_unknown_host_is_down() -> None:
    _down(HttpTarget(url="http://no-such-host.invalid/ask", backoff=0.01, retries=0))


def test_a_host_name_that_cannot_be_is_down_and_no_traceback() -> None:
    _down(HttpTarget(url=f"http://{'x' * 70}.example/ask", backoff=0.01, retries=0))


def test_https_to_a_plain_server_is_down(app: RagApp) -> None:
    _down(_target(app, url=app.url.replace("http:", "https:"), retries=0))


@pytest.mark.parametrize(
    ("reply", "words", "mend"),
    [
        (Reply(b"no", status=401), "HTTP 401 Unauthorized: no", "auth"),
        (Reply(b"no", status=403), "HTTP 403", "auth"),
        (Reply(b"", status=404), "HTTP 404 Not Found", "url"),
        (Reply(b"", status=405), "HTTP 405", "method"),
        (Reply(b"", status=500), "HTTP 500", "log"),
        (Reply(b"", status=429), "HTTP 429", "log"),
        (Reply(reset=True), "connection", "start the RAG app"),
        (Reply(delay_s=20), "no whole reply within 0.3 s", "`timeout`"),
        (Reply(b"", status=307, headers={"location": "/other?x=1"}), "/other, and redirects are not followed", "final"),
    ],
)
def test_what_turns_every_question_away_is_down(reply: Reply, words: str, mend: str, app: RagApp) -> None:
    app.then = lambda _question: reply
    error = _down(_target(app, retries=0, timeout=0.3 if reply.delay_s else 10, concurrency=4))
    assert words in error.message
    assert mend in (error.mend or "")
    assert len(app.requests) < 12


def test_redirects_to_another_host_get_nothing(app: RagApp) -> None:
    with serving_rag_app() as other:
        app.then = lambda _question: Reply(b"", status=302, headers={"location": other.url})
        target = _target(app, auth={"env": "RAGGUARD_TARGET_TOKEN"})
        error = _down(target.with_environment({"RAGGUARD_TARGET_TOKEN": "s3cret-s3cret"}))
        assert other.requests == []
        assert "it redirects to http://127.0.0.1:" in error.message


def test_a_late_start_is_forgiven_and_the_first_failures_are_kept(app: RagApp) -> None:
    app.script = [Reply(b"", status=503)] * 4
    given = ask(_target(app, retries=0), many(6))
    assert [given[f"s{number}"].failure is None for number in range(1, 7)] == [False] * 4 + [True] * 2


def test_going_down_later_fails_the_rest_and_keeps_what_was_answered(app: RagApp) -> None:
    app.script = [OK]
    app.then = lambda _question: Reply(reset=True)
    given = ask(_target(app, retries=0), many(9))
    assert given["s1"].answer is not None
    assert sum(each.failure is not None for each in given.values()) == 8


def test_broken_replies_are_not_a_target_that_is_down(app: RagApp) -> None:
    app.then = lambda _question: Reply(b"<html>")
    given = ask(_target(app), many(7))
    assert all("is not JSON" in (each.failure or "") for each in given.values())


def test_questions_in_flight_are_bounded(app: RagApp) -> None:
    app.then = lambda _question: Reply(delay_s=0.03)
    ask(_target(app, concurrency=3), many(12))
    assert app.most_at_once == 3


def test_connections_are_kept_and_used_again(app: RagApp) -> None:
    given = ask(_target(app, concurrency=4), many(60))
    assert all(each.answer is not None for each in given.values())
    assert len(app.requests) == 60
    assert app.connections <= 4

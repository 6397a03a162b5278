"""The HTTP target's settings: what is refused before a request is sent, and what a request holds."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from ragguard.adapters.targets import HttpTarget
from ragguard.adapters.targets.exchange import tls_context
from ragguard.core.samples import Sample
from ragguard.errors import UserInputError
from tests.parts import rag_app
from tests.unit.adapters.targets.asking import SAMPLES, WITH_HISTORY, answer_to, ask, collect, failure_of, samples_of

URL = "http://127.0.0.1:1/ask"
TOKEN = "tok/en-9f8e7d6c5b"


@pytest.fixture
def app() -> Iterator[rag_app.RagApp]:
    with rag_app.serving_rag_app() as running:
        yield running


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "ftp://host/x"}, "is no http or https URL"),
        ({"url": "localhost:8000/ask"}, "is no http or https URL"),
        ({"url": "http:///ask"}, "is no http or https URL"),
        ({"url": "http://host/a b"}, "is no http or https URL"),
        ({"url": "http://host/a\r\nx: y"}, "is no http or https URL"),
        ({"url": "http://user:pw@host/ask"}, "give them by `auth`"),
        ({"url": "http://host:99999/ask"}, "Port out of range"),
        ({"headers": {"X-A": "b\r\nX-Evil: 1"}}, "printable ASCII on one line"),
        ({"headers": {"X A": "b"}}, "no name of an HTTP header"),
        ({"headers": {"Authorization": "Bearer sk-1"}}, "use `auth` or `headers_env`"),
        ({"headers": {"X-A": "b", "x-a": "c"}}, "x-a is given twice"),
        ({"headers_env": {"authorization": "RAGGUARD_TARGET_A"}, "auth": {"env": "RAGGUARD_TARGET_B"}}, "given twice"),
        ({"headers_env": {"X-Key": "OPENAI_API_KEY"}}, "start with RAGGUARD_TARGET_"),
        ({"auth": {"env": "GITHUB_TOKEN"}}, "start with RAGGUARD_TARGET_"),
        ({"answer": "data.answer"}, "`/data/answer`"),
        ({"body": '{"q": "{{ question }}"}'}, "{{ question | tojson }} without quotes"),
        ({"body": '{"q": {{ question | tojson }}, }'}, "breaks the JSON"),
        ({"body": '{"q": {{ reference | tojson }}}'}, "'reference' is undefined; a template may use question"),
        ({"body": '{"q": {{ question | tojson }'}, "line 1"),
        ({"body": "{{ question.__class__.__mro__ | tojson }}"}, "unsafe"),
        ({"query": {"q": "{{ nothing }}"}}, "query.q: 'nothing' is undefined"),
        ({"method": "DELETE"}, "'GET', 'POST', 'PUT' or 'PATCH'"),
        ({"timeout": 0}, "greater than 0"),
        ({"timeout": float("nan")}, "finite"),
        ({"concurrency": 0}, "greater than or equal to 1"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused_with_the_mend(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HttpTarget(**{"url": URL, **settings})
    assert message in str(caught.value)


NASTY = 'a "quote" \\ and\nlines </script> {{ 7*7 }} tiếng Việt 中文 \U0001f600'


def test_no_question_can_break_the_body(app: rag_app.RagApp) -> None:
    answer = answer_to(HttpTarget(url=app.url), NASTY)
    assert json.loads(app.requests[0].body) == {"question": NASTY, "history": []}
    assert answer.text.startswith(NASTY)


def test_text_goes_out_as_it_is_and_not_escaped(app: rag_app.RagApp) -> None:
    answer_to(HttpTarget(url=app.url), "Học phí 课程 <b>")
    assert "Học phí 课程 <b>" in app.requests[0].body.decode()


def test_a_lone_surrogate_in_a_question_is_sent_as_a_replacement(app: rag_app.RagApp) -> None:
    sample = Sample.model_construct(**{**samples_of("x")[0].__dict__, "question": "a\ud800b"})
    assert ask(HttpTarget(url=app.url), [sample])["s1"].answer is not None
    assert b'"a?b"' in app.requests[0].body


def test_the_users_own_body_and_history(app: rag_app.RagApp) -> None:
    body = """{"id": {{ id | tojson }}, "messages": [
        {% for turn in history %}{{ turn | tojson }}, {% endfor %}
        {"role": "user", "content": {{ question | tojson }}}]}"""
    ask(HttpTarget(url=app.url, body=body), [WITH_HISTORY])
    sent = json.loads(app.requests[0].body)
    assert sent["id"] == "turns"
    assert [turn["content"] for turn in sent["messages"]] == ["课程有多长？", "十二周。", "And how much?"]


def test_a_form_body_is_not_taken_for_json(app: rag_app.RagApp) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer_to(HttpTarget(url=app.url, headers=headers, body="q={{ question | urlencode }}"), "a&b=ü")
    assert app.requests[0].body == b"q=a%26b%3D%C3%BC"
    assert app.requests[0].headers["content-type"] == "application/x-www-form-urlencoded"


def test_a_template_that_fails_on_one_sample_fails_that_sample(app: rag_app.RagApp) -> None:
    target = HttpTarget(url=app.url, body='{"question": {{ (1 / (question | length - 3)) | tojson }}}')
    assert "division by zero" in failure_of(target, "abc")


def test_get_sends_query_parameters_and_no_body(app: rag_app.RagApp) -> None:
    target = HttpTarget(url=f"{app.url}?k=5&lang=vi", method="GET", query={"q": "{{ question }}", "lang": "zh"})
    answer_to(target, "a&b 中")
    assert app.requests[0].method == "GET"
    assert app.requests[0].path == "/ask?k=5&lang=zh&q=a%26b+%E4%B8%AD"
    assert app.requests[0].body == b""
    assert "content-type" not in app.requests[0].headers


def test_headers_and_secrets_reach_the_app_and_nothing_else_does(
    app: rag_app.RagApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    target = HttpTarget(
        url=app.url,
        headers={"X-Tenant": "edu"},
        headers_env={"X-Api-Key": "RAGGUARD_TARGET_KEY"},
        auth={"env": "RAGGUARD_TARGET_TOKEN"},
    )
    assert target.environment_names == {"RAGGUARD_TARGET_KEY", "RAGGUARD_TARGET_TOKEN"}
    environment = {"RAGGUARD_TARGET_KEY": "key-123456", "RAGGUARD_TARGET_TOKEN": f"{TOKEN}\n", "HOME": "/root"}
    answer_to(target.with_environment(environment))
    headers = app.requests[0].headers
    assert headers["x-tenant"] == "edu"
    assert headers["x-api-key"] == "key-123456"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert set(headers) == {
        "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host",
        "user-agent", "x-api-key", "x-tenant",
    }  # fmt: skip


def test_basic_authentication(app: rag_app.RagApp) -> None:
    target = HttpTarget(url=app.url, auth={"scheme": "basic", "env": "RAGGUARD_TARGET_LOGIN"})
    answer_to(target.with_environment({"RAGGUARD_TARGET_LOGIN": "me:pa:ss"}))
    assert app.requests[0].headers["authorization"] == "Basic " + base64.b64encode(b"me:pa:ss").decode()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "RAGGUARD_TARGET_TOKEN is not set"),
        ({"RAGGUARD_TARGET_TOKEN": " \n"}, "RAGGUARD_TARGET_TOKEN is empty"),
        ({"RAGGUARD_TARGET_TOKEN": "sk-secret\nX-Evil: 1"}, "no header can carry"),
        ({"RAGGUARD_TARGET_TOKEN": "sk-secret-mật-khẩu"}, "no header can carry"),
    ],
)
def test_a_secret_that_cannot_be_sent_is_a_user_error_that_does_not_show_it(
    environment: dict[str, str], message: str, app: rag_app.RagApp
) -> None:
    target = HttpTarget(url=app.url, auth={"env": "RAGGUARD_TARGET_TOKEN"}).with_environment(environment)
    with pytest.raises(UserInputError) as caught:
        asyncio.run(collect(target, SAMPLES))
    assert message in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert app.requests == []


ECHOES = [TOKEN, json.dumps(TOKEN), TOKEN.replace("/", "%2F"), f"Bearer {TOKEN}", "x" * 195 + TOKEN]


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_secret_that_the_app_echoes_is_never_shown(echo: str, status: int, app: rag_app.RagApp) -> None:
    app.script = [rag_app.OK, rag_app.Reply(f"debug: {echo}".encode(), status=status)]
    target = HttpTarget(url=app.url, auth={"env": "RAGGUARD_TARGET_TOKEN"}, retries=0, concurrency=1)
    failure = failure_of(target.with_environment({"RAGGUARD_TARGET_TOKEN": TOKEN}))
    assert not any(TOKEN[:length] in failure for length in range(6, len(TOKEN)))
    assert "tok%2F" not in failure


def test_a_secret_that_an_answer_echoes_is_blotted_out(app: rag_app.RagApp) -> None:
    app.then = lambda _question: rag_app.json_reply({"answer": f"your key is {TOKEN}"})
    target = HttpTarget(url=app.url, auth={"env": "RAGGUARD_TARGET_TOKEN"})
    answer = answer_to(target.with_environment({"RAGGUARD_TARGET_TOKEN": TOKEN}))
    assert answer.text == "your key is ***"


def test_cookies_do_not_join_questions_to_one_session(app: rag_app.RagApp) -> None:
    app.then = lambda _question: rag_app.Reply(headers={"set-cookie": "session=1; Path=/"})
    ask(HttpTarget(url=app.url, concurrency=1))
    assert len(app.requests) == 3
    assert not any("cookie" in request.headers for request in app.requests)


def test_certificates_are_checked() -> None:
    context = tls_context()
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()

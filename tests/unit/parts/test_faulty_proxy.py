"""The proxy breaks what it is told to break, and passes the rest on as it is."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

import httpx
import pytest

from tests.parts import faulty_proxy as faults
from tests.parts.faulty_proxy import FaultyProxy, faulty_proxy
from tests.parts.local_http import Reply, in_a_thread

BODY = {"method": "POST", "path": "/v1/x?a=1", "sent": "học phí 学费", "auth": "Bearer k"}


async def echo(method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
    auth = headers.get("authorization")
    return 200, ("X-Own: yes",), {"method": method, "path": path, "sent": body.decode(), "auth": auth}


@pytest.fixture
def proxy() -> Iterator[FaultyProxy]:
    with in_a_thread(echo) as port, faulty_proxy(f"http://127.0.0.1:{port}/v1") as one:
        yield one


def post(proxy: FaultyProxy, path: str = "/x?a=1", timeout: float = 5) -> httpx.Response:
    headers = {"Authorization": "Bearer k"}
    return httpx.post(proxy.url + path, content="học phí 学费".encode(), headers=headers, timeout=timeout)


def test_a_call_without_a_rule_is_passed_on_as_it_is(proxy: FaultyProxy) -> None:
    response = post(proxy)
    assert response.json() == BODY
    assert response.headers["X-Own"] == "yes"
    assert [(call.method, call.path, call.fault) for call in proxy.calls] == [("POST", "/v1/x?a=1", "")]


def test_a_body_in_chunks_is_passed_on(proxy: FaultyProxy) -> None:
    assert httpx.post(proxy.url + "/x", content=iter([b"one ", b"two"])).json()["sent"] == "one two"


def test_rules_count_the_calls_of_their_own_path(proxy: FaultyProxy) -> None:
    proxy.on(2, faults.status(503), path="/chat")
    codes = [post(proxy, path).status_code for path in ("/chat", "/embeddings", "/chat", "/chat")]
    assert codes == [200, 200, 503, 200]
    assert [call.fault for call in proxy.calls] == ["", "", "status 503", ""]


def test_first_after_share_and_heal(proxy: FaultyProxy) -> None:
    proxy.first(1, faults.status(500))
    proxy.after(3, faults.status(502))
    assert [post(proxy).status_code for _ in range(4)] == [500, 200, 200, 502]
    proxy.heal()
    proxy.share(0.5, faults.status(504))
    codes = [post(proxy).status_code for _ in range(20)]
    assert 4 <= codes.count(504) <= 16
    assert codes.count(200) + codes.count(504) == 20


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.hang(), httpx.ReadTimeout),
        (faults.hang(0), httpx.RemoteProtocolError),
        (faults.half(), httpx.RemoteProtocolError),
        (faults.reset(), httpx.ReadError),
        (faults.wrong_length(+5), httpx.RemoteProtocolError),
        (faults.bad_gzip(), httpx.DecodingError),
        (faults.refused(), httpx.ReadError),
    ],
)
def test_broken_connections(proxy: FaultyProxy, fault: faults.Fault, error: type[Exception]) -> None:
    proxy.always(fault)
    with pytest.raises(error):
        post(proxy, timeout=0.3)


def test_refused_until_it_is_healed(proxy: FaultyProxy) -> None:
    proxy.on(2, faults.refused())
    assert post(proxy).status_code == 200
    with pytest.raises(httpx.ReadError):
        post(proxy)
    with pytest.raises(httpx.ConnectError):
        post(proxy)
    proxy.heal()
    assert post(proxy).json() == BODY


def test_replies_that_are_no_json(proxy: FaultyProxy) -> None:
    broken = (faults.page(), faults.garbled(), faults.truncated(), faults.empty(), faults.wrong_length(-5))
    for number, fault in enumerate(broken, 1):
        proxy.on(number, fault)
    for _ in broken:
        response = post(proxy)
        assert response.status_code == 200
        with pytest.raises(ValueError, match=r"."):
            json.loads(response.content)


def test_status_headers_and_redirects(proxy: FaultyProxy) -> None:
    proxy.on(1, faults.status(429, "slow down", kind="rate_limit", retry_after="soon"))
    proxy.on(2, faults.redirect("http://elsewhere.invalid/", 307))
    proxy.always(faults.circle())
    limited = post(proxy)
    assert (limited.status_code, limited.headers["Retry-After"]) == (429, "soon")
    assert limited.json()["error"]["code"] == "rate_limit"
    assert post(proxy).headers["Location"] == "http://elsewhere.invalid/"
    with pytest.raises(httpx.TooManyRedirects):
        httpx.get(proxy.url + "/x", follow_redirects=True)


def test_delayed_and_replaced_replies_arrive(proxy: FaultyProxy) -> None:
    proxy.on(1, faults.delayed(0.01))
    proxy.on(2, faults.replaced(lambda body: body.replace(b"POST", b"LOST")))
    assert post(proxy).json() == BODY
    assert post(proxy).json()["method"] == "LOST"


def test_an_oversized_body_is_streamed(proxy: FaultyProxy) -> None:
    proxy.always(faults.oversized(50))
    tracemalloc.start()
    with httpx.stream("GET", proxy.url + "/x") as response:
        size = sum(len(part) for part in response.iter_bytes())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 50 * 2**20
    assert peak < 30 * 2**20


def test_head_tells_the_length_of_what_is_not_sent(proxy: FaultyProxy) -> None:
    with httpx.Client() as client:
        assert int(client.head(proxy.url + "/x").headers["Content-Length"]) > 10


def test_calls_are_broken_by_what_they_hold(proxy: FaultyProxy) -> None:
    proxy.always(faults.only("学费", faults.status(400)))
    assert post(proxy).status_code == 400
    assert httpx.post(proxy.url + "/x", content=b"fee").status_code == 200

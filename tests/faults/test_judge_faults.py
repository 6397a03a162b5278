"""The judge breaks: at once, in the middle, now and then, by its words, by its price; each run through the real client."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fault_runs import Ended, expect, expect_error_kept, expect_whole
from tests.faults.fault import Fault
from tests.faults.judge_world import World, judge_world, no_keys
from tests.parts import faulty_proxy as faults
from tests.parts.faulty_proxy import FaultyProxy, status

KEY = "8f2e77aa90bc41dd9e"
OLD = "Wed, 21 Oct 2015 07:28:00 GMT"
ERROR = "the reports, as an error; no judgment, no baseline: the next run starts as if this one had not been"
PAID = "every judgment that was paid for: the next run pays for the rest alone; no baseline"
RAW = "the reports, as an error, and the replies that could not be used; no baseline"
WHOLE = "everything: all samples are scored"
MOST = "the other scores, and why one sample has none"

Arrange = Callable[[FaultyProxy], None]


@dataclass(frozen=True)
class Scene:
    """A fault, how it is made, and the config that meets it."""

    fault: Fault
    arrange: Arrange = lambda proxy: None
    server: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, object] = field(default_factory=dict)
    n: int = 6
    key: bool = False


def ends(name: str, says: str, arrange: Arrange, kept: str = ERROR, **more: Any) -> Scene:
    """A fault that no run can overcome."""
    more.setdefault("n", 3 if kept == ERROR else 6)
    return Scene(Fault("judge", name, "error", 4, kept, says), arrange, **more)


def heals(name: str, *broken: faults.Fault, says: str = "no baseline yet", **more: Any) -> Scene:
    """A fault of single calls that is overcome."""

    def arrange(proxy: FaultyProxy) -> None:
        for number, one in enumerate(broken, 2):
            proxy.on(number, one)

    return Scene(Fault("judge", name, "warned", 0, WHOLE, says), arrange, **more)


def always(fault: faults.Fault) -> Arrange:
    return lambda proxy: proxy.always(fault)


def after(calls: int, fault: faults.Fault) -> Arrange:
    return lambda proxy: proxy.after(calls, fault)


def without_usage(body: bytes) -> bytes:
    return body.replace(b'"usage"', b'"used"')


CHOICES = b'{"id":"x","object":"chat.completion","created":1,"model":"judge","choices":[%s]}'
RUNS = "check that it runs, and `api_base`"
AGAIN = "run again later: what is done is kept"

DEAD = (
    ends("nobody listens at its address", RUNS, lambda proxy: proxy.server.get_loop().call_soon_threadsafe(proxy.server.close)),
    ends("its name cannot be resolved", RUNS, always(faults.reset()), overrides={"judge.api_base": "http://judge.invalid/v1"}),
    ends("it accepts and says nothing", RUNS, always(faults.hang()), overrides={"judge.timeout": 60}),
    ends("it resets every connection", RUNS, always(faults.reset())),
    ends("every reply breaks off", RUNS, always(faults.half())),
    ends("it answers 500 to everything", RUNS, always(status(500))),
    ends("a gateway answers 502 with a page", RUNS, always(faults.page(502))),
    ends("a gateway answers 504 to everything", RUNS, always(status(504))),
    ends("it answers 408 to everything", RUNS, always(status(408))),
    ends("a login page in its place, status 200", RUNS, always(faults.page())),
    ends("its replies are not UTF-8", RUNS, always(faults.garbled())),
    ends("its replies are half a JSON", RUNS, always(faults.truncated())),
    ends("its replies are empty", RUNS, always(faults.empty())),
    ends("its replies are damaged gzip", RUNS, always(faults.bad_gzip())),
    ends("its replies are longer than they say", RUNS, always(faults.wrong_length(-9))),
    ends("it redirects in a circle", RUNS, always(faults.circle())),
    ends("its replies hold no choices", RUNS, always(faults.replaced(lambda body: CHOICES % b""))),
    ends("its replies hold no message", RUNS, always(faults.replaced(lambda body: CHOICES % b'{"index":0,"message":null}'))),
    ends("no key is set (401)", "set OPENAI_API_KEY in the environment", always(status(401, "no key given"))),
    ends("the key is wrong (401)", "set the provider's key in its environment variable", always(status(401, f"wrong key {KEY}")), key=True),
    ends("the key may not use the model (403)", "check that it may use this model", always(status(403, "not allowed")), key=True),
    ends("the model is unknown (404)", "check `judge.model`", always(status(404, "The model `judge` does not exist"))),
    ends("the quota is used up (429)", "check the account's plan and credit", always(status(429, "You exceeded your current quota", kind="insufficient_quota"))),
    ends("payment is required (402)", "check the account's plan and credit", always(status(402, "pay first"))),
    ends("it refuses every request as wrong (400)", "check model, api_base and parameters of `judge`", always(status(400, "no such parameter")), n=8),
    ends("it is a teapot (418)", "check model, api_base and parameters of `judge`", always(status(418)), n=8),
    ends("every prompt is too long (413)", "longer than the model's window", always(status(413, "too large"))),
    ends("every prompt is longer than the window (400)", "longer than the model's window", lambda proxy: None, server={"window": 20}),
    ends("its policy refuses every prompt", "filtered: ", always(status(400, "content management policy", kind="content_policy_violation"))),
    ends("a limit that lifts in a day (429, Retry-After 86400)", "asks to wait 86400 s", always(status(429, "slow down", retry_after="86400"))),
    ends("429 without end", "lower `judge.concurrency` or set `judge.rpm`", always(status(429, "slow down")), overrides={"judge.call_deadline": 60}),
)  # fmt: skip

WORDS = tuple(
    ends(name, says, lambda proxy: None, RAW, server={"broken_rate": 1.0, "kinds": kind})
    for name, says, kind in (
        ("it will not judge", "no usable reply in 3 attempts", "refusal"),
        ("its replies have no text", "no usable reply in 3 attempts", "null"),
        ("every reply is cut", "the reply was cut after", "cut told"),
        ("a filter withholds every reply", "the provider's content filter withheld the reply", "filtered"),
        ("its replies are a web page", "no usable reply in 3 attempts", "html"),
    )
)

MIDDLE = (
    ends("it dies in the middle", AGAIN, after(3, faults.refused()), PAID),
    ends("it hangs from the middle on", AGAIN, after(3, faults.hang()), PAID, overrides={"judge.timeout": 16}),
    ends("it answers 503 from the middle on", AGAIN, after(3, status(503)), PAID),
    ends("the key is revoked in the middle", "set OPENAI_API_KEY", after(3, status(401, "revoked")), PAID),
    ends("the quota ends in the middle", "check the account's plan", after(3, status(429, "insufficient_quota")), PAID),
    ends("the budget of calls is spent", "raise `budget` or lower `sample_budget`", after(99, status(500)), PAID, overrides={"budget.max_calls": 3}),
    ends("the budget of tokens is spent", "raise `budget` or lower `sample_budget`", after(99, status(500)), PAID, overrides={"budget.max_tokens": 6000}),
    ends(
        "the budget of dollars is spent", "raise `budget` or lower `sample_budget`", after(99, status(500)), PAID,
        overrides={"budget.max_usd": 0.006, "judge.price": {"prompt_per_million": 1, "reply_per_million": 1}},
    ),
    ends("the time for the run is over", "raise `judge.run_deadline`", after(99, status(500)), PAID, server={"latency_s": 0.2}, overrides={"judge.run_deadline": 3}),
)  # fmt: skip

PASSING = (
    heals("single 500, 502 (a page), 503, 504 and 408", status(500), faults.page(502), status(503), status(504), status(408)),
    heals("single 429 with Retry-After in seconds and as a date", status(429, retry_after="2"), status(429, retry_after=OLD)),
    heals("single 429 with a Retry-After of nonsense, below zero, or none", status(429, retry_after="soon"), status(429, retry_after="-5"), status(429)),
    heals("connections that are reset or break off", faults.reset(), faults.half(), faults.wrong_length(9)),
    heals("single replies that are no JSON", faults.garbled(), faults.truncated(), faults.empty(), faults.bad_gzip(), faults.page()),
    heals("a reply of 5 MB", faults.oversized(5)),
    heals("a reply that comes late", faults.delayed(0.2)),
    heals("one call hangs", faults.hang(), overrides={"judge.timeout": 20}),
    heals("replies without usage: tokens and cost are unknown, not 0", faults.replaced(without_usage)),
    Scene(
        Fault("judge", "a storm of 429s: every other call", "warned", 0, WHOLE, "no baseline yet"),
        lambda proxy: proxy.share(0.5, status(429, "slow down", retry_after="1")),
    ),
    Scene(
        Fault("judge", "a third of all replies are broken in any of 23 ways", "warned", 0, WHOLE, "no baseline yet"),
        server={"broken_rate": 0.3, "seed": 5},
        overrides={"gate.min_coverage": 0.0},
    ),
)  # fmt: skip

ONE = tuple(
    Scene(Fault("judge", name, "warned", 0, MOST, says), always(faults.only("course 3", broken)), n=24)
    for name, says, broken in (
        ("one prompt is filtered", "filtered: ", status(400, "content management policy", kind="content_policy_violation")),
        ("one prompt is refused as wrong", "rejected: no emoji please", status(400, "no emoji please")),
        ("one prompt is too long", "longer than the model's window", status(400, "maximum context length is 20 tokens")),
    )
)  # fmt: skip

SCENES = (*DEAD, *WORDS, *MIDDLE, *PASSING, *ONE)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[World]:
    scene: Scene = request.param
    no_keys(monkeypatch)
    if scene.key:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with judge_world(tmp_path, scene.n, **scene.server) as world:
        yield world


def kept_error(ended: Ended, world: World) -> None:
    expect_error_kept(ended, world.runs)
    assert world.judgments_in_cache == 0
    assert world.runs.comparable == []


def kept_paid(ended: Ended, world: World) -> None:
    expect_error_kept(ended, world.runs)
    paid = sum(judgment["status"] == "ok" for line in ended.lines for judgment in line["judgments"])
    assert 1 <= paid < world.runs.n
    scored = [score for line in ended.lines for score in line["scores"] if score["status"] == "scored"]
    assert len(scored) == paid
    world.proxy.heal()
    following = world.end()
    assert (following.outcome, following.exit_code) == ("warned", 0)
    assert following.usage.calls + following.usage.cached_calls == world.runs.n
    assert following.usage.cached_calls >= paid


def kept_raw(ended: Ended, world: World) -> None:
    expect_error_kept(ended, world.runs)
    judgments = [judgment for line in ended.lines for judgment in line["judgments"]]
    assert len(judgments) == world.runs.n
    assert all(judgment["status"] == "failed" and judgment["raw"] is not None for judgment in judgments)
    assert all(score["value"] is None for line in ended.lines for score in line["scores"])


def kept_whole(ended: Ended, world: World) -> None:
    expect_whole(ended, world.runs)


def kept_most(ended: Ended, world: World) -> None:
    assert ended.report is not None
    metric = ended.report.head.metrics["faithfulness"]
    assert (metric.n_scored, metric.n_failed) == (world.runs.n - 1, 1)


KEPT = {ERROR: kept_error, PAID: kept_paid, RAW: kept_raw, WHOLE: kept_whole, MOST: kept_most}


@pytest.mark.parametrize(
    ("world", "scene"), [(one, one) for one in SCENES], ids=[one.fault.id for one in SCENES], indirect=["world"]
)
def test_a_fault_of_the_judge(world: World, scene: Scene) -> None:
    scene.arrange(world.proxy)
    ended = world.end(scene.overrides)
    expect(scene.fault, ended)
    KEPT[scene.fault.kept](ended, world)
    for path in world.runs.folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


FAULTS: tuple[Fault, ...] = tuple(scene.fault for scene in SCENES)

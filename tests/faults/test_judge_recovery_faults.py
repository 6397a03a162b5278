"""What a broken judge costs: nothing that was paid for, no baseline, no key given to strangers; and who stands in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.fault_runs import Ended, expect, expect_error_kept, expect_whole
from tests.fakes.small_runs import answer_rows, write_rows
from tests.faults.fault import Fault
from tests.faults.judge_world import World, judge_world, no_keys
from tests.parts import faulty_proxy as faults
from tests.parts.faulty_proxy import faulty_proxy, status

KEY = "8f2e77aa90bc41dd9e"
TEN_YEARS_S = 10 * 365 * 86_400

FALLBACK = Fault(
    "judge", "it is down from the start, and a fallback is configured", "warned", 0,
    "everything: all samples are judged by the fallback, and the report says so",
    "Judged by a fallback, because the configured judge failed",
)  # fmt: skip
FALLBACK_MIDDLE = Fault(
    "judge", "it dies in the middle, and a fallback is configured", "warned", 0,
    "everything: all samples are judged by the fallback, none by two; the first judge's judgments stay paid",
    "Judged by a fallback, because the configured judge failed",
)  # fmt: skip
FALLBACK_DEAD = Fault(
    "judge", "it is down, and so is its fallback", "error", 4, "the reports, as an error; no baseline",
    "check that it runs, and `api_base`",
)  # fmt: skip
PANEL = Fault(
    "judge", "one judge of a panel is down", "error", 4, "the other judge's judgments; no baseline",
    "check that it runs, and `api_base`",
)  # fmt: skip
BESIDE = Fault(
    "judge", "it dies in the middle of a run that has a baseline", "error", 4,
    "the baseline as it was: the next run is compared with it and pays for the rest alone",
    "run again later: what is done is kept",
)  # fmt: skip
UNCACHED = Fault(
    "judge", "it loses its key in the middle, and the cache is off", "error", 4,
    "every judgment that was paid for, in samples.jsonl", "set OPENAI_API_KEY in the environment",
)  # fmt: skip
ELSEWHERE = Fault(
    "judge", "it redirects to another server", "error", 4, "the reports, as an error; the key is not given to the other server",
    "set the provider's key in its environment variable",
)  # fmt: skip
CLOCK_BACK = Fault(
    "judge", "the clock was set back ten years since the cache was filled", "warned", 0,
    "every judgment: the run pays nothing", "no baseline yet",
)  # fmt: skip
CLOCK_ON = Fault(
    "judge", "the clock jumped ten years ahead since the cache was filled", "warned", 0,
    "everything: old judgments are not used, all samples are judged anew", "no baseline yet",
)  # fmt: skip
BROKEN_CACHE = Fault(
    "judge", "the cache file is garbage", "warned", 0, "everything: all samples are judged anew, the garbage is moved aside",
    "no baseline yet",
)  # fmt: skip
FAULTS: tuple[Fault, ...] = (
    FALLBACK, FALLBACK_MIDDLE, FALLBACK_DEAD, PANEL, BESIDE, UNCACHED, ELSEWHERE, CLOCK_BACK, CLOCK_ON, BROKEN_CACHE,
)  # fmt: skip


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    no_keys(monkeypatch)
    with judge_world(tmp_path) as one:
        yield one


def fallback_to(url: str) -> dict[str, object]:
    return {"judge.fallbacks": [{"model": "openai/second", "api_base": url}]}


def models(ended: Ended) -> set[str]:
    return {judgment["model"] for line in ended.lines for judgment in line["judgments"]}


def test_a_fallback_judges_the_whole_run(world: World) -> None:
    world.proxy.always(status(500))
    ended = world.end(fallback_to(world.server.url))
    expect(FALLBACK, ended)
    expect_whole(ended, world.runs)
    assert models(ended) == {"openai/second"}


def test_a_fallback_in_the_middle_judges_everything_again(world: World) -> None:
    world.proxy.after(3, faults.refused())
    ended = world.end(fallback_to(world.server.url))
    expect(FALLBACK_MIDDLE, ended)
    expect_whole(ended, world.runs)
    assert models(ended) == {"openai/second"}
    assert world.judgments_in_cache == 3 + world.runs.n


def test_a_fallback_that_is_down_too(world: World) -> None:
    world.proxy.always(status(500))
    with faulty_proxy(world.server.url) as second:
        second.always(status(503))
        ended = world.end(fallback_to(second.url))
        assert len(second.calls) > 0
    expect(FALLBACK_DEAD, ended)
    expect_error_kept(ended, world.runs)


def test_one_judge_of_a_panel_is_down(world: World) -> None:
    with faulty_proxy(world.server.url) as second:
        second.always(status(500))
        judges = [
            {"model": "openai/judge", "api_base": world.proxy.url},
            {"model": "openai/second", "api_base": second.url},
        ]
        ended = world.end({"judge": None, "judges": judges})
    expect(PANEL, ended)
    expect_error_kept(ended, world.runs)
    assert 1 <= world.judgments_in_cache <= world.runs.n


def test_a_baseline_outlives_a_run_that_broke(world: World) -> None:
    assert world.end().outcome == "warned"
    write_rows(world.runs.folder / "answers.jsonl", answer_rows(world.runs.n, wrong=4))
    world.proxy.after(1, status(503))
    ended = world.end()
    expect(BESIDE, ended)
    expect_error_kept(ended, world.runs)
    assert world.runs.comparable == ["run-1"]
    world.proxy.heal()
    following = world.end()
    assert following.report is not None
    assert following.report.baseline_run_id == "run-1"
    assert following.outcome == "inconclusive"  # six are too few to fail a run
    assert following.usage.cached_calls >= 1


def test_what_was_paid_for_is_kept_without_a_cache(world: World) -> None:
    world.proxy.after(3, status(401, "revoked"))
    ended = world.end({"cache.enabled": False})
    expect(UNCACHED, ended)
    expect_error_kept(ended, world.runs)
    judged = [judgment for line in ended.lines for judgment in line["judgments"] if judgment["status"] == "ok"]
    assert len(judged) == world.server.stats.calls == 3


def test_a_key_is_not_given_to_another_server(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with faulty_proxy(world.server.url) as stranger:
        stranger.always(status(401, "who are you?"))
        world.proxy.always(faults.redirect(f"{stranger.url}/chat/completions", 307))
        ended = world.end()
        assert KEY in world.proxy.calls[0].headers["authorization"]
        assert all(KEY not in str(call.headers) for call in stranger.calls)
        assert len(stranger.calls) > 0
    expect(ELSEWHERE, ended)
    expect_error_kept(ended, world.runs)


@pytest.mark.parametrize(("fault", "shift_s", "calls"), [(CLOCK_BACK, TEN_YEARS_S, 0), (CLOCK_ON, -TEN_YEARS_S, 6)])
def test_a_clock_that_jumps(world: World, fault: Fault, shift_s: int, calls: int) -> None:
    world.end()
    with sqlite3.connect(world.cache) as db:
        db.execute("UPDATE judgments SET made = made + ?, used = used + ?", (shift_s, shift_s))
    db.close()
    ended = world.end(apart(world))
    expect(fault, ended)
    assert (ended.usage.calls, ended.usage.cached_calls) == (calls, world.runs.n - calls)


def test_a_cache_of_garbage(world: World) -> None:
    world.cache.write_bytes(b"\x00 not a database, by far " * 500)
    ended = world.end()
    expect(BROKEN_CACHE, ended)
    expect_whole(ended, world.runs)
    assert len(list(world.runs.folder.glob("cache.sqlite.broken-*"))) == 1
    assert world.end(apart(world)).usage.calls == 0


def apart(world: World) -> dict[str, object]:
    """A store of its own, so that nothing is carried over from the first run."""
    return {"reporting.sink": str(world.runs.folder / "other")}

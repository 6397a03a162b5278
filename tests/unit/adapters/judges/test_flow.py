"""Flow control in virtual time: how many calls at once, how fast, when again, when never again."""

import asyncio
import random
from collections.abc import Callable

import pytest

from ragguard.adapters.judges.flow import Flow, Limits
from ragguard.adapters.judges.slots import Slots
from ragguard.adapters.judges.troubles import Kind, TroubleError
from ragguard.errors import JudgeError
from tests.fakes.virtual_time import run


class Provider:
    """Takes `latency` seconds a call and follows a script; the default is success.

    Attributes:
        sent_at: When each call was sent.
        most: The most calls at once.
    """

    def __init__(self, script: Callable[[int, float], TroubleError | None] = lambda n, now: None, latency: float = 1.0):
        self.script, self.latency = script, latency
        self.sent_at: list[float] = []
        self.now = self.most = 0

    async def send(self) -> str:
        loop = asyncio.get_running_loop()
        self.sent_at.append(loop.time())
        number, sent_at = len(self.sent_at), loop.time()
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.latency)
        finally:
            self.now -= 1
        if trouble := self.script(number, sent_at):
            raise trouble
        return "reply"


def flow(**limits: object) -> Flow:
    return Flow("openai/judge", Limits(**limits), chance=random.Random(1))


def always(kind: Kind, retry_after_s: float | None = None) -> Callable[[int, float], TroubleError]:
    return lambda number, now: TroubleError(kind, f"{kind}!", retry_after_s)


async def many(judge: Flow, provider: Provider, count: int) -> list[object]:
    calls = (judge.call(provider.send, 10) for _ in range(count))
    return list(await asyncio.gather(*calls, return_exceptions=True))


def test_the_first_call_goes_alone_and_the_others_follow_up_to_the_limit() -> None:
    provider = Provider()
    assert run(many(flow(concurrency=4), provider, 9)) == ["reply"] * 9
    assert provider.sent_at == pytest.approx([0.0, *[1.0] * 4, *[2.0] * 4], abs=1e-6)


def test_while_the_first_call_fails_nothing_else_is_spent() -> None:
    provider = Provider(always("unreachable"), latency=0.0)
    results = run(many(flow(), provider, 50))
    assert all(isinstance(result, JudgeError) for result in results)
    assert provider.most == 1
    assert provider.sent_at[-1] <= 6.0


@pytest.mark.parametrize(
    ("kind", "words"),
    [("denied", "refuses the key"), ("unknown_model", "does not know the model"), ("exhausted", "has no quota left")],
)
def test_what_can_never_succeed_stops_at_once(kind: Kind, words: str) -> None:
    provider = Provider(always(kind))
    results = run(many(flow(), provider, 5))
    assert len(provider.sent_at) == 1
    assert all(isinstance(result, JudgeError) for result in results)
    message = str(results[0])
    assert message.startswith(f"judge openai/judge {words} ({kind}!)")
    assert "mend:" in message


def test_a_missing_key_is_named() -> None:
    judge = Flow("openai/judge", Limits(), missing_keys=["OPENAI_API_KEY"])
    (error,) = run(many(judge, Provider(always("denied")), 1))
    assert "set OPENAI_API_KEY in the environment" in str(error)


def test_a_key_that_is_revoked_midway_stops_the_run() -> None:
    provider = Provider(lambda number, now: TroubleError("denied", "revoked") if number > 5 else None)
    results = run(many(flow(concurrency=1), provider, 20))
    assert results[:5] == ["reply"] * 5
    assert all(isinstance(result, JudgeError) for result in results[5:])
    assert len(provider.sent_at) == 6


def test_a_judge_that_hangs_at_the_first_call_is_given_up_after_one_time_out() -> None:
    provider = Provider(always("timeout"), latency=60.0)
    results = run(many(flow(), provider, 5))
    assert len(provider.sent_at) == 1
    assert "does not answer" in str(results[0])


def test_a_judge_that_refuses_every_call_is_given_up_before_the_run_is_spent() -> None:
    provider = Provider(always("rejected"))
    results = run(many(flow(rejections=3), provider, 50))
    assert len(provider.sent_at) == 3
    assert "refuses every call" in str(results[-1])


def test_a_judge_that_goes_down_midway_is_given_up() -> None:
    provider = Provider(lambda number, now: TroubleError("unreachable", "gone") if now > 10 else None)
    results = run(many(flow(concurrency=4, down_after_s=30.0), provider, 200))
    assert any(result == "reply" for result in results)
    assert isinstance(results[-1], JudgeError)
    assert "is down" in str(results[-1])
    assert "what is done is kept" in str(results[-1])
    assert 40 <= provider.sent_at[-1] < 80


def test_a_judge_that_is_restarted_midway_costs_no_sample() -> None:
    provider = Provider(lambda number, now: TroubleError("unreachable", "gone") if 10 < now < 22 else None)
    assert run(many(flow(concurrency=4), provider, 100)) == ["reply"] * 100


def test_one_call_that_keeps_failing_is_given_up_and_the_others_are_not() -> None:
    async def story() -> tuple[list[object], object]:
        judge = flow(concurrency=4)
        good, bad = Provider(), Provider(always("overloaded"))
        await judge.call(good.send, 10)
        results = await asyncio.gather(many(judge, good, 60), many(judge, bad, 1))
        assert len(bad.sent_at) == 8
        return results[0], results[1][0]

    replies, failed = run(story())
    assert replies == ["reply"] * 60
    assert isinstance(failed, TroubleError)


def test_one_bad_call_at_the_very_end_does_not_bring_the_run_down() -> None:
    async def story() -> list[object]:
        judge = flow()
        await many(judge, Provider(), 5)
        return await many(judge, Provider(always("overloaded"), latency=10.0), 2)

    assert all(isinstance(result, TroubleError) for result in run(story()))


def test_retry_after_is_obeyed_by_all_calls() -> None:
    def script(number: int, now: float) -> TroubleError | None:
        return TroubleError("rate_limited", "slow down", 20.0) if number == 3 else None

    provider = Provider(script)
    assert run(many(flow(concurrency=2), provider, 8)) == ["reply"] * 8
    after = [at for at in provider.sent_at if at > 2.0]
    assert min(after) >= 22.0
    assert len(provider.sent_at) == 9


def test_a_wait_beyond_the_deadline_stops_the_run_instead_of_sleeping_through_it() -> None:
    provider = Provider(always("rate_limited", 7200.0))
    results = run(many(flow(call_deadline_s=300.0), provider, 5))
    assert "asks to wait 7200 s" in str(results[0])
    assert len(provider.sent_at) == 1


def test_429s_without_end_fail_the_call_at_its_deadline() -> None:
    async def story() -> object:
        judge = flow(call_deadline_s=100.0)
        await judge.call(Provider().send, 10)
        (result,) = await many(judge, Provider(always("rate_limited", 1.0)), 1)
        assert 100.0 <= asyncio.get_running_loop().time() < 110.0
        return result

    result = run(story())
    assert isinstance(result, TroubleError)
    assert result.kind == "rate_limited"


def test_a_judge_that_lets_no_call_through_its_rate_limit_is_given_up_instead_of_asked_for_hours() -> None:
    async def story() -> list[object]:
        judge = flow(call_deadline_s=100.0)
        await judge.call(Provider().send, 10)
        results: list[object] = []
        for _ in range(50):
            results += await many(judge, Provider(always("rate_limited")), 1)
        assert asyncio.get_running_loop().time() < 250.0
        return results

    results = run(story())
    assert all(isinstance(result, JudgeError) for result in results[1:])
    assert "let no call through its rate limit" in str(results[-1])
    assert "judge.rpm" in str(results[-1])


def test_429s_are_not_taken_for_a_judge_that_is_down() -> None:
    """A rate limit that holds every call back for a minute is no outage."""
    provider = Provider(lambda number, now: TroubleError("rate_limited", "later", 2.0) if 5 < now < 65 else None)
    assert run(many(flow(concurrency=8), provider, 60)) == ["reply"] * 60


def test_the_limit_falls_with_429s_and_rises_again() -> None:
    def script(number: int, now: float) -> TroubleError | None:
        return TroubleError("rate_limited", "slow down", 0.5) if 5 <= now < 8 else None

    async def story() -> tuple[int, float, float]:
        judge, provider = flow(concurrency=16), Provider(script)
        lowest = 16.0
        running = asyncio.ensure_future(many(judge, provider, 400))
        while not running.done():
            await asyncio.sleep(0.25)
            lowest = min(lowest, judge.slots.limit) if asyncio.get_running_loop().time() > 2 else lowest
        return provider.most, lowest, judge.slots.limit

    most, lowest, last = run(story())
    assert most == 16
    assert lowest < 8
    assert last > 8


def test_one_wave_of_429s_lowers_the_limit_once() -> None:
    slots = Slots(16)
    slots.open()
    for _ in range(16):
        slots.lower(started_at=1.0, now=2.0)
    assert slots.limit == pytest.approx(11.2)
    slots.lower(started_at=2.5, now=3.0)
    assert slots.limit == pytest.approx(7.84)


def test_a_call_that_is_cancelled_while_it_waits_leaves_its_place() -> None:
    async def story() -> None:
        slots = Slots(1)
        await slots.acquire()
        first, second = asyncio.ensure_future(slots.acquire()), asyncio.ensure_future(slots.acquire())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        slots.release()
        await second
        assert slots.in_flight == 1
        slots.release()
        assert slots.in_flight == slots.waiting == 0

    run(story())


def test_a_call_that_is_cancelled_as_its_slot_comes_gives_it_back() -> None:
    async def story() -> None:
        slots = Slots(1)
        await slots.acquire()
        waiting = asyncio.ensure_future(slots.acquire())
        await asyncio.sleep(0)
        slots.release()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert slots.in_flight == 0

    run(story())


@pytest.mark.parametrize(("rpm", "in_a_minute"), [(6, 6), (60, 60), (120, 120), (600, 600)])
def test_rpm_is_kept_in_every_minute(rpm: int, in_a_minute: int) -> None:
    provider = Provider(latency=0.0)
    run(many(flow(rpm=rpm, concurrency=100, call_deadline_s=1e6), provider, rpm * 2))
    for start in provider.sent_at:
        # rpm calls, and the one second's worth that the limiter allows as a burst
        assert sum(start <= at < start + 60 for at in provider.sent_at) <= in_a_minute + max(1, rpm // 60)
    assert provider.sent_at[-1] >= 58


def test_tpm_is_kept_and_a_call_larger_than_a_slice_still_passes() -> None:
    async def story() -> float:
        judge, provider = flow(tpm=6_000, call_deadline_s=1e6), Provider(latency=0.0)
        await asyncio.gather(*(judge.call(provider.send, 3_000) for _ in range(4)))
        return asyncio.get_running_loop().time()

    assert run(story()) >= 100  # 12,000 tokens less one slice of 1,500, at 100 a second


def test_the_runs_deadline_stops_further_calls() -> None:
    provider = Provider()
    results = run(many(flow(concurrency=1, run_deadline_s=10.0), provider, 100))
    assert 10 <= results.count("reply") <= 12
    assert "deadline of 10 s has passed" in str(results[-1])
    assert isinstance(results[-1], JudgeError)


def test_waiting_calls_wake_when_the_judge_is_given_up() -> None:
    def script(number: int, now: float) -> TroubleError | None:
        if number == 1:
            return None
        return TroubleError("overloaded", "busy") if number < 10 else TroubleError("denied", "revoked")

    async def story() -> float:
        results = await many(flow(concurrency=8), Provider(script), 9)
        assert sum(isinstance(result, JudgeError) for result in results) == 8
        return asyncio.get_running_loop().time()

    assert run(story()) < 10

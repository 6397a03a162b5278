"""Flow control of one judge: how many calls at once and how fast, when to try again, and when to stop for good.

The number of calls at once adapts: each success raises it a little, a 429 or time-out lowers it by a third. The first
call goes alone: until one has succeeded, nothing else is spent. Time is the event loop's, so that tests can bend it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential

from ragguard.adapters.judges.slots import Pace, Slots
from ragguard.adapters.judges.troubles import FATAL, PASSING, TroubleError
from ragguard.errors import JudgeError

T = TypeVar("T")

_LONGEST_WAIT = wait_exponential(multiplier=1, min=1, max=20)
_MOST_TRIES = 8


@dataclass(frozen=True)
class Limits:
    """The limits of one judge.

    Attributes:
        concurrency: Calls at once, at most.
        rpm: Calls a minute, spread evenly; None: no limit.
        tpm: Tokens a minute; None: no limit.
        call_deadline_s: Seconds that one judgment's call may take, waiting and repetitions included.
        run_deadline_s: Seconds from the first call after which no further one is sent; None: no limit.
        proving_s: Seconds in which the first call must succeed, once it has failed.
        down_after_s: Seconds without any success, failures only, after which the judge counts as down.
        down_after_failures: As many failures in a row must have been seen by then,
        down_after_calls: and of as many different calls: one call that always fails is that call's failure.
            Refusals for the rate limit alone count as down after `call_deadline_s` without any success.
        rejections: Calls in a row that may be refused as wrong before one has succeeded.
    """

    concurrency: int = 16
    rpm: int | None = None
    tpm: int | None = None
    call_deadline_s: float = 300.0
    run_deadline_s: float | None = None
    proving_s: float = 5.0
    down_after_s: float = 30.0
    down_after_failures: int = 8
    down_after_calls: int = 3
    rejections: int = 8


@dataclass
class Breaker:
    """Decides when the judge as a whole cannot be used.

    Attributes:
        who: The judge, for messages.
        limits: When it counts as down.
        missing_keys: Environment variables of keys that are not set, for messages.
        proved: Whether any call has succeeded.
        open: The reason for stopping; None while all is well.
    """

    who: str
    limits: Limits
    missing_keys: tuple[str, ...] = ()
    proved: bool = False
    open: JudgeError | None = None
    _failures: int = 0
    _failing: set[object] = field(default_factory=set)
    _rejections: int = 0
    _failing_since: float | None = None
    _limited_since: float | None = None
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self) -> None:
        """Raises JudgeError if the judge cannot be used."""
        if self.open is not None:
            raise JudgeError(self.open.message, mend=self.open.mend)

    def succeeded(self) -> None:
        """A call gave a reply."""
        self.proved = True
        self._failures = self._rejections = 0
        self._failing.clear()
        self._failing_since = self._limited_since = None

    def failed(self, call: object, trouble: TroubleError, now: float) -> None:
        """A call gave no reply, for the first time or again."""
        if trouble.kind == "denied" and self.missing_keys:
            self.stop("has no key", f"set {' or '.join(self.missing_keys)} in the environment", trouble.message)
        elif trouble.kind in FATAL:
            self.stop(*_FATAL_WORDS[trouble.kind], trouble.message)
        elif trouble.kind == "rejected" and not self.proved:
            self._rejections += 1
            if self._rejections >= self.limits.rejections:
                self.stop("refuses every call", "check model, api_base and parameters of `judge`", trouble.message)
        elif trouble.kind == "rate_limited":
            self._count_limited(trouble, now)
        elif trouble.kind in PASSING:
            self._count(call, trouble, now)

    def _count_limited(self, trouble: TroubleError, now: float) -> None:
        """A provider at its limit is waited for as long as one call may take; after that no other call fares better."""
        self._limited_since = now if self._limited_since is None else self._limited_since
        if (lasted := now - self._limited_since) >= self.limits.call_deadline_s:
            mend = "lower `judge.concurrency` or set `judge.rpm`, or run again later: what is done is kept"
            self.stop(f"has let no call through its rate limit for {lasted:.0f} s", mend, trouble.message)

    def _count(self, call: object, trouble: TroubleError, now: float) -> None:
        self._failures += 1
        self._failing.add(call)
        self._failing_since = now if self._failing_since is None else self._failing_since
        lasted = now - self._failing_since
        if not self.proved and (trouble.kind == "timeout" or lasted >= self.limits.proving_s):
            mend = "check that it runs, and `api_base`, `timeout` and the network"
            self.stop("does not answer", mend, trouble.message)
        elif (
            self._failures >= self.limits.down_after_failures
            and len(self._failing) >= self.limits.down_after_calls
            and lasted >= self.limits.down_after_s
        ):
            told = f"{self._failures} calls in a row failed within {lasted:.0f} s"
            self.stop(f"is down: {told}", "run again later: what is done is kept", trouble.message)

    def stop(self, what: str, mend: str, words: str = "") -> None:
        """Opens the breaker for good."""
        if self.open is None:
            self.open = JudgeError(f"judge {self.who} {what}{f' ({words})' if words else ''}", mend=mend)
            self.opened.set()

    def patience(self, now: float) -> float:
        """The longest useful wait before the next try, in seconds."""
        if self.proved or self._failing_since is None:
            return float("inf")
        return max(0.1, self._failing_since + self.limits.proving_s - now)


_FATAL_WORDS = {
    "denied": (
        "refuses the key",
        "set the provider's key in its environment variable, and check that it may use this model",
    ),
    "unknown_model": (
        "does not know the model",
        "check `judge.model` (provider/model, as LiteLLM names it) and `judge.api_base`",
    ),
    "exhausted": ("has no quota left", "check the account's plan and credit at the provider"),
}


class Flow:
    """Sends the calls of one judge."""

    def __init__(
        self, who: str, limits: Limits, *, missing_keys: Sequence[str] = (), chance: random.Random | None = None
    ) -> None:
        self.limits = limits
        self.slots = Slots(limits.concurrency)
        self.breaker = Breaker(who, limits, tuple(missing_keys))
        self._pace = Pace(limits.rpm, limits.tpm)
        self._chance = chance or random.Random()  # noqa: S311 - jitter is no secret
        self._resume_at = 0.0
        self._ends_at: float | None = None

    @property
    def paused_s(self) -> float:
        """Seconds that the provider has asked to wait still."""
        try:
            return max(0.0, self._resume_at - asyncio.get_running_loop().time())
        except RuntimeError:  # nothing runs
            return 0.0

    async def call(self, send: Callable[[], Awaitable[T]], tokens: int) -> T:
        """Sends a call when it may be sent, again where that can help.

        Args:
            send: Sends it once; raises TroubleError where there is no reply.
            tokens: About how many tokens it takes, for `tpm`.

        Raises:
            TroubleError: This call failed for good.
            JudgeError: The judge as a whole cannot be used.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.limits.call_deadline_s
        if self._ends_at is None and self.limits.run_deadline_s is not None:
            self._ends_at = loop.time() + self.limits.run_deadline_s
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, TroubleError) and error.kind in PASSING),
            wait=self._wait,
            stop=lambda state: self._is_enough(state, deadline),
            sleep=self._sleep,
            reraise=True,
        )
        return await retrying(self._once, object(), send, tokens)

    async def _once(self, call: object, send: Callable[[], Awaitable[T]], tokens: int) -> T:
        loop = asyncio.get_running_loop()
        await self.slots.acquire()
        try:
            await self._until_allowed(tokens)
            started = loop.time()
            try:
                result = await send()
            except TroubleError as trouble:
                self._learn(call, trouble, started, loop.time())
                raise
            self._succeeded()
            return result
        finally:
            self.slots.release()

    async def _until_allowed(self, tokens: int) -> None:
        self.breaker.check()
        await self._pace.wait(tokens)
        while (left := self.paused_s) > 0:
            await self._sleep(left + self._chance.uniform(0, min(1.0, left / 4)))
            self.breaker.check()
        if self._ends_at is not None and asyncio.get_running_loop().time() > self._ends_at:
            told = f"was stopped: the run's deadline of {self.limits.run_deadline_s:g} s has passed"
            self.breaker.stop(told, "raise `judge.run_deadline`; what is done is kept")
        self.breaker.check()

    def _succeeded(self) -> None:
        if self.breaker.proved:
            self.slots.raise_limit()
        else:
            self.slots.open()
        self.breaker.succeeded()

    def _learn(self, call: object, trouble: TroubleError, started: float, now: float) -> None:
        if trouble.kind in {"rate_limited", "timeout"}:
            self.slots.lower(started, now)
        if trouble.retry_after_s is not None and trouble.kind in PASSING:
            if trouble.retry_after_s > self.limits.call_deadline_s:
                told = f"asks to wait {trouble.retry_after_s:.0f} s"
                self.breaker.stop(told, "run again then, or use another judge; what is done is kept", trouble.message)
            self._resume_at = max(self._resume_at, now + trouble.retry_after_s)
        self.breaker.failed(call, trouble, now)
        self.breaker.check()

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, TroubleError) and error.retry_after_s is not None:
            return 0.0  # `_until_allowed` waits, for all calls alike
        wait = self._chance.uniform(0.1, _LONGEST_WAIT(state))
        return min(wait, self.breaker.patience(asyncio.get_running_loop().time()))

    def _is_enough(self, state: RetryCallState, deadline: float) -> bool:
        error = state.outcome.exception() if state.outcome else None
        limited = isinstance(error, TroubleError) and error.kind == "rate_limited"
        proving = not self.breaker.proved
        return asyncio.get_running_loop().time() >= deadline or (
            state.attempt_number >= _MOST_TRIES and not limited and not proving
        )

    async def _sleep(self, seconds: float) -> None:
        """Sleeps, but wakes when the judge is given up."""
        try:
            async with asyncio.timeout(seconds):
                await self.breaker.opened.wait()
        except TimeoutError:
            pass

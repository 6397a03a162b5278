"""A RAG app that is a Python function: sync ones run in threads, async ones on the event loop."""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ragguard.adapters.targets import replies
from ragguard.adapters.targets.calls import UserFunction, find_function, in_thread
from ragguard.adapters.targets.flow import Outcome, ask_each
from ragguard.adapters.targets.presence import require_function
from ragguard.adapters.targets.settings import TargetSettings
from ragguard.adapters.targets.wording import said
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer, Sample
from ragguard.errors import UserInputError


def _checked_callable(name: str) -> str:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", name):
        raise ValueError("is not written `module:function`, such as `my_app.rag:answer`")
    return name


class PythonTarget(TargetSettings):
    """A Python function, called with `question` and `history` by keyword, or with the whole `sample`.

    It returns a text, a mapping (`answer`, `contexts`, `citations`, `latency_s`, `cost_usd`) or an `Answer`.

    Attributes:
        callable: `module:function`.
        folder: Where modules are looked for first.
        concurrency: Calls at a time.
        timeout: Seconds for one call. A sync call that is late is left behind in its thread.
    """

    type: Literal["python"] = "python"
    callable: Annotated[str, AfterValidator(_checked_callable)]
    folder: Path = Path()
    concurrency: int = Field(default=8, ge=1, le=256)
    timeout: float = Field(default=120, gt=0, le=3600)

    def check(self) -> None:
        """Looks for the function in the module's source; nothing is imported."""
        require_function(self.callable, self.folder)

    async def answer_all(self, samples: Sequence[Sample]) -> AsyncIterator[Answered]:
        """Calls the function for every sample; yields answers as they come.

        Raises:
            UserInputError: The function cannot be imported or called.
        """
        function = find_function(self.callable, self.folder)
        if function.drops_history and any(sample.history for sample in samples):
            raise UserInputError(
                f"target python: `{self.callable}`: some samples have earlier turns, but it takes no `history`",
                mend="add a parameter `history` (a list of role and content)",
            )
        async with aclosing(ask_each(samples, self.concurrency, lambda sample: self._ask(sample, function))) as done:
            async for outcome in done:
                yield outcome.answered

    async def _ask(self, sample: Sample, function: UserFunction) -> Outcome:
        failure: str
        try:
            value, latency_s = await self._timed(sample, function)
            return Outcome(Answered(sample.id, _answer_of(value, sample, latency_s)))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            failure = f"`{self.callable}` raised CancelledError"  # its own doing, not ours
        except _LateError:
            failure = f"`{self.callable}` gave no answer within {self.timeout:g} s"
        except replies.ReplyError as error:
            failure = f"`{self.callable}` returned something else than an answer: {error}"
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's function may raise anything
            failure = f"`{self.callable}` raised {said(error)}"
        return Outcome(Answered(sample.id, None, failure))

    async def _timed(self, sample: Sample, function: UserFunction) -> tuple[Any, float]:
        """One call and its seconds, without the time that it waited for its turn."""
        call = partial(function.function, **function.arguments(sample))
        start = time.monotonic()
        limit = asyncio.timeout(self.timeout)
        try:
            async with limit:
                value = call() if function.is_async else await in_thread(call)
                if inspect.isawaitable(value):
                    value = await value
        except TimeoutError as error:
            if not limit.expired():
                raise  # the function's own
            raise _LateError from error
        return value, time.monotonic() - start


class _LateError(Exception):
    """A call took longer than it may."""


def _answer_of(value: Any, sample: Sample, latency_s: float) -> Answer:
    """Turns what a function returned into an answer; its own latency, where it tells one, is the better one."""
    if isinstance(value, str):
        return Answer(text=value, latency_s=latency_s)
    if isinstance(value, Mapping):
        row = {str(key): replies.plain(item) for key, item in value.items()}
        _, value = replies.answer_from_row({**row, "id": sample.id})
    if not isinstance(value, Answer):
        raise replies.ReplyError(f"{type(value).__name__}; it may be a text, a mapping or an Answer")
    return value if value.latency_s is not None else value.model_copy(update={"latency_s": latency_s})

"""The local executor when judge or budget end the run: what is out is given out, and the error is the judge's."""

from __future__ import annotations

import asyncio
from itertools import count as counter

import pytest

from ragguard.adapters.executors.local import LocalExecutor
from ragguard.core.scores import JudgeRequest, Judgment
from ragguard.core.tasks import Task
from ragguard.errors import JudgeError
from tests.fakes.lane_jobs import CountingJudge, Till, bench, items

CALLS_A_SAMPLE = 2


class DyingJudge(CountingJudge):
    """Answers all samples but one, whose calls fail a moment later."""

    def __init__(self, sample: int) -> None:
        super().__init__(Till(), None)
        self._numbers = counter()
        self._sample = sample

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        if next(self._numbers) // CALLS_A_SAMPLE == self._sample:
            await asyncio.sleep(0.01)
            raise JudgeError("the judge is gone", mend="start it")
        return await super().ask(task, request)


@pytest.mark.parametrize("pause_s", [0, 0.05], ids=["read at once", "failed while the reader was busy"])
@pytest.mark.parametrize(("count", "dies"), [(1, 0), (2, 1), (5, 4), (5, 0), (5, 2)])
def test_all_but_the_failed_are_given_out_before_the_error(count: int, dies: int, pause_s: float) -> None:
    seen: list[str] = []

    async def story() -> None:
        async for result in LocalExecutor().evaluate(items(count), bench(DyingJudge(dies))):
            seen.append(result.id)
            await asyncio.sleep(pause_s)

    with pytest.raises(JudgeError, match="the judge is gone"):
        asyncio.run(story())
    assert seen == [f"s{k:03d}" for k in range(count) if k != dies]

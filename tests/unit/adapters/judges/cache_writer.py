"""A process of its own that asks through a cache; run by the cache's tests: FILE FIRST COUNT [PAID].

PAID is a file to which each call that was paid for adds a line; calls then take a while, eight at once.
"""

import asyncio
import sys
from pathlib import Path

from ragguard.adapters.judges.cached import CachedJudge
from ragguard.core.scores import JudgeRequest, Judgment
from ragguard.core.tasks import Task, questions_task
from tests.fakes.judging import ScriptedJudge

AT_ONCE = 8


class PaidJudge(ScriptedJudge):
    """Notes each call in a file before it answers."""

    def __init__(self, paid: Path | None) -> None:
        super().__init__({"questions": {"noncommittal": False, "questions": ["Tại sao?"]}})
        self.paid = paid

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        if self.paid is not None:
            with self.paid.open("a") as lines:
                lines.write(f"{task.inputs['answer']}\n")
            await asyncio.sleep(0.01)
        return await super().ask(task, request)


async def main(path: Path, first: int, count: int, paid: Path | None) -> None:
    inner = PaidJudge(paid)
    judge = CachedJudge(inner, path=path)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        task = questions_task(f"câu trả lời {number}", 1)
        (request,) = judge.requests(task, 0, None)
        async with gate:
            assert (await judge.ask(task, request)).status == "ok"

    await asyncio.gather(*(one(number) for number in range(first, first + count)))
    await judge.aclose()
    print(len(inner.asked), *judge.notices)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    paid_file = Path(arguments[3]) if len(arguments) > 3 else None
    asyncio.run(main(Path(arguments[0]), int(arguments[1]), int(arguments[2]), paid_file))

"""A process of its own that asks through a cache; run by the cache's tests: FILE FIRST COUNT."""

import asyncio
import sys
from pathlib import Path

from ragguard.adapters.judges.cached import CachedJudge
from ragguard.core.tasks import questions_task
from tests.fakes.judging import ScriptedJudge


async def main(path: Path, first: int, count: int) -> None:
    inner = ScriptedJudge({"questions": {"noncommittal": False, "questions": ["Tại sao?"]}})
    judge = CachedJudge(inner, path=path)
    for number in range(first, first + count):
        task = questions_task(f"câu trả lời {number}", 1)
        (request,) = judge.requests(task, 0, None)
        assert (await judge.ask(task, request)).status == "ok"
    await judge.aclose()
    print(len(inner.asked), *judge.notices)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))

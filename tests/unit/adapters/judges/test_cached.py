"""The cache: nothing paid twice, nothing wrong taken from it, no file so broken that a run fails."""

import asyncio
import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ragguard.adapters.judges.cached import CachedJudge
from ragguard.core.ports import Judge
from ragguard.core.scores import Judgment, judgment_key
from ragguard.core.tasks import Task, questions_task
from tests.fakes.judging import ScriptedJudge
from tests.unit.adapters.judges.cache_writer import AT_ONCE

ROOT = Path(__file__).parents[4]
GOOD = {"noncommittal": False, "questions": ["学费是多少？"]}
DAY = 86_400.0


def task(number: int = 1) -> Task:
    return questions_task(f"câu trả lời {number}", 1)


async def ask(judge: Judge, asked: Task | None = None, repeat: int = 0, session: str | None = None) -> Judgment:
    asked = asked or task()
    (request,) = judge.requests(asked, repeat, session)
    return await judge.ask(asked, request)


def cached(path: Path, inner: ScriptedJudge | None = None, **settings: object) -> CachedJudge:
    return CachedJudge(inner or ScriptedJudge({"questions": GOOD}), path=path / "cache.sqlite", **settings)


def edit(path: Path, sql: str, *values: object) -> None:
    with sqlite3.connect(path / "cache.sqlite") as db:
        db.execute(sql, values)
    db.close()


def test_the_second_time_costs_nothing_and_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        inner = ScriptedJudge({"questions": GOOD})
        first = await ask(cached(tmp_path, inner))
        again = cached(tmp_path, inner)
        second = await ask(again)
        assert len(inner.asked) == 1
        assert first.source == "called"
        assert (second.source, second.attempts) == ("cached", 0)
        assert second.output == first.output == GOOD
        assert again.hits == 1
        assert not again.notices

    asyncio.run(story())


def test_values_are_json_as_it_is_read(tmp_path: Path) -> None:
    asyncio.run(ask(cached(tmp_path)))
    with sqlite3.connect(tmp_path / "cache.sqlite") as db:
        ((value,),) = db.execute("SELECT value FROM judgments").fetchall()
    db.close()
    assert json.loads(value)["output"] == GOOD
    assert "学费是多少？" in value


@pytest.mark.parametrize("other", [{"repeat": 1}, {"session": "look"}, {"asked": task(2)}])
def test_another_repeat_session_or_text_is_another_judgment(tmp_path: Path, other: dict[str, object]) -> None:
    async def story() -> None:
        inner = ScriptedJudge({"questions": GOOD})
        judge = cached(tmp_path, inner)
        await ask(judge)
        await ask(judge, **other)
        assert len(inner.asked) == 2

    asyncio.run(story())


def test_failures_are_never_kept(tmp_path: Path) -> None:
    async def story() -> None:
        inner = ScriptedJudge({"questions": None})
        judge = cached(tmp_path, inner)
        assert (await ask(judge)).status == "failed"
        assert (await ask(judge)).status == "failed"
        assert len(inner.asked) == 2

    asyncio.run(story())


def test_the_same_question_at_once_is_paid_for_once(tmp_path: Path) -> None:
    async def story() -> None:
        inner = ScriptedJudge({"questions": GOOD})
        judge = cached(tmp_path, inner)
        results = await asyncio.gather(*(ask(judge) for _ in range(20)))
        assert len(inner.asked) == 1
        assert sorted(result.source for result in results) == ["cached"] * 19 + ["called"]

    asyncio.run(story())


def test_entries_grow_old(tmp_path: Path) -> None:
    async def story() -> None:
        inner = ScriptedJudge({"questions": GOOD})
        await ask(cached(tmp_path, inner, ttl_days=30, now=lambda: 0.0))
        await ask(cached(tmp_path, inner, ttl_days=30, now=lambda: 29 * DAY))
        assert len(inner.asked) == 1
        await ask(cached(tmp_path, inner, ttl_days=None, now=lambda: 900 * DAY))
        assert len(inner.asked) == 1
        await ask(cached(tmp_path, inner, ttl_days=30, now=lambda: 31 * DAY))
        assert len(inner.asked) == 2

    asyncio.run(story())


def test_the_file_keeps_its_size_and_the_last_used(tmp_path: Path) -> None:
    clock = iter(range(10**9))
    long = {"noncommittal": False, "questions": ["x" * 5_000]}

    async def story() -> None:
        judge = cached(tmp_path, ScriptedJudge({"questions": long}), max_mb=0.3, now=lambda: float(next(clock)))
        for number in range(301):
            await ask(judge, task(number))
        await judge.aclose()

    asyncio.run(story())
    with sqlite3.connect(tmp_path / "cache.sqlite") as db:
        kept = {key for (key,) in db.execute("SELECT key FROM judgments")}
    db.close()
    judge = ScriptedJudge({})
    assert 10 < len(kept) < 301 - 100
    (newest,) = judge.requests(task(300), 0, None)
    (oldest,) = judge.requests(task(0), 0, None)
    assert judgment_key(newest) in kept
    assert judgment_key(oldest) not in kept


BROKEN = {
    "not a database": b"this is no database, but long enough to look like one " * 50,
    "cut in the middle": None,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_put_aside_and_said(tmp_path: Path, content: bytes | None) -> None:
    async def story() -> None:
        inner = ScriptedJudge({"questions": GOOD})
        first = cached(tmp_path, inner)
        for number in range(100):
            await ask(first, task(number))
        await first.aclose()
        whole = (tmp_path / "cache.sqlite").read_bytes()
        (tmp_path / "cache.sqlite").write_bytes(whole[:100] + b"\xff" * 2_000 if content is None else content)
        inner.asked.clear()
        judge = cached(tmp_path, inner)
        assert (await ask(judge)).status == "ok"
        assert (await ask(judge)).source == "cached"
        assert len(inner.asked) == 1
        assert len(judge.notices) == 1
        assert "was broken" in judge.notices[0]
        await judge.aclose()

    asyncio.run(story())
    assert len(list(tmp_path.glob("cache.sqlite.broken-*"))) == 1


@pytest.mark.parametrize("kind", ["a folder", "no permission", "another program's database"])
def test_a_file_that_cannot_be_used_costs_calls_not_the_run(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "cache.sqlite"
    if kind == "a folder":
        path.mkdir()
    elif kind == "no permission":
        (tmp_path / "file").write_text("x")
        path = tmp_path / "file" / "cache.sqlite"
    else:
        edit(tmp_path, "CREATE TABLE judgments (name TEXT)")

    async def story() -> None:
        inner = ScriptedJudge({"questions": GOOD})
        judge = CachedJudge(inner, path=path)
        assert (await ask(judge)).status == "ok"
        assert (await ask(judge)).status == "ok"
        assert len(inner.asked) == 2
        assert len(judge.notices) == 1
        assert "going on without it" in judge.notices[0]

    asyncio.run(story())


TAMPERED = {
    "no JSON": "{",
    "of another key": lambda entry: {**entry, "key": "0" * 64},
    "failed": lambda entry: {**entry, "status": "failed"},
    "too few questions": lambda entry: {**entry, "output": {"noncommittal": False, "questions": []}},
    "of another task": lambda entry: {**entry, "output": {"relevant": [1], "irrelevant": []}},
    "more than was asked": lambda entry: {**entry, "output": {**GOOD, "score": 1}},
    "an unknown field": lambda entry: {**entry, "surprise": 1},
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_an_entry_that_does_not_answer_is_asked_again(tmp_path: Path, change) -> None:
    async def story() -> None:
        inner = ScriptedJudge({"questions": GOOD})
        first = await ask(cached(tmp_path, inner))
        entry = first.model_dump(mode="json")
        edit(
            tmp_path, "UPDATE judgments SET value = ?", change if isinstance(change, str) else json.dumps(change(entry))
        )
        again = await ask(cached(tmp_path, inner))
        assert (again.source, again.output) == ("called", GOOD)
        assert (await ask(cached(tmp_path, inner))).source == "cached"

    asyncio.run(story())


def process(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.unit.adapters.judges.cache_writer", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_run_that_is_killed_pays_again_only_for_what_was_in_flight(tmp_path: Path) -> None:
    chance, paid, kills = random.Random(4), tmp_path / "paid", 5
    paid.touch()
    for kill in range(kills):
        goal = min(150, len(paid.read_text().splitlines()) + chance.randint(1, 40))
        with process(tmp_path / "c", 0, 200, paid) as running:
            while running.poll() is None and len(paid.read_text().splitlines()) < goal:
                time.sleep(0.002)
            running.kill()
            running.communicate()
        assert running.returncode == -signal.SIGKILL, f"kill {kill} came too late"
    with process(tmp_path / "c", 0, 200, paid) as last:
        out, err = last.communicate(timeout=60)
    assert last.returncode == 0, err
    assert len(out.split()) == 1  # no notices
    lines = Counter(paid.read_text().splitlines())
    assert len(lines) == 200
    assert lines.total() - 200 <= kills * AT_ONCE


def test_two_processes_write_one_file(tmp_path: Path) -> None:
    pair = [process(tmp_path / "c", 0, 150), process(tmp_path / "c", 100, 150)]
    told = [one.communicate(timeout=60) for one in pair]
    assert [one.returncode for one in pair] == [0, 0], told
    called = [int(out.split()[0]) for out, _ in told]
    assert all(out.split() == [out.split()[0]] for out, _ in told)  # no notices
    assert 250 <= sum(called) <= 300

    async def nothing_is_missing() -> int:
        inner = ScriptedJudge({"questions": GOOD})
        judge = CachedJudge(inner, path=tmp_path / "c")
        for number in range(250):
            await ask(judge, task(number))
        await judge.aclose()
        return len(inner.asked)

    assert asyncio.run(nothing_is_missing()) == 0


def test_the_cache_is_the_judge_it_wraps(tmp_path: Path) -> None:
    inner = ScriptedJudge({"questions": GOOD}, panel=2)
    judge = cached(tmp_path, inner)
    assert isinstance(judge, Judge)
    assert judge.fingerprint == inner.fingerprint
    assert judge.models == inner.models
    assert judge.prompt_digest("claims") == inner.prompt_digest("claims")
    assert judge.requests(task(), 1, "s") == inner.requests(task(), 1, "s")

"""Many questions in flight: what is passed on, what ends the run, and what importing costs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from ragguard.adapters.targets.flow import Outcome, ask_each, unless_down
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer, Sample
from ragguard.errors import TargetError
from tests.unit.adapters.targets.asking import many


def _run(samples: list[Sample], reached: str) -> list[Answered]:
    """Asks one by one; `reached` has one letter a sample: y answered, f failed, n not reached."""

    async def ask(sample: Sample) -> Outcome:
        letter = reached[int(sample.id[1:]) - 1]
        answer = Answer(text="x") if letter == "y" else None
        failure = None if letter == "y" else f"because {sample.id}"
        return Outcome(Answered(sample.id, answer, failure), unreachable="mend it" if letter == "n" else None)

    async def run() -> list[Answered]:
        return [each async for each in unless_down(ask_each(samples, 1, ask), len(samples), "the target")]

    return asyncio.run(run())


@pytest.mark.parametrize("reached", ["y", "f", "nnnny", "nnnnf", "ynnnnnnnn", "fnnnnnnnn", "nnnnynnnnnn"])
def test_what_was_reached_once_is_not_down_and_nothing_is_lost(reached: str) -> None:
    given = _run(many(len(reached)), reached)
    assert [each.id for each in given] == [f"s{number}" for number in range(1, len(reached) + 1)]
    assert [each.answer is not None for each in given] == [letter == "y" for letter in reached]


@pytest.mark.parametrize(("reached", "count"), [("n", 1), ("nnn", 3), ("nnnnn", 5), ("nnnnnyyy", 5)])
def test_the_first_ones_all_unreached_are_a_target_that_is_down(reached: str, count: int) -> None:
    with pytest.raises(TargetError) as caught:
        _run(many(len(reached)), reached)
    assert caught.value.message.endswith(f"because s{count}")
    assert caught.value.mend == "mend it"


def test_a_bug_in_one_question_ends_all_and_leaves_nothing_running(caplog: pytest.LogCaptureFixture) -> None:
    started: list[str] = []

    async def ask(sample: Sample) -> Outcome:
        started.append(sample.id)
        if sample.id in {"s2", "s3"}:
            raise ZeroDivisionError
        await asyncio.sleep(30)
        raise AssertionError

    async def run() -> set[asyncio.Task[Any]]:
        with pytest.raises(ZeroDivisionError):
            _ = [each async for each in ask_each(many(9), 4, ask)]
        return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]

    assert asyncio.run(run()) == set()
    assert started == ["s1", "s2", "s3", "s4"]
    assert "never retrieved" not in caplog.text


def test_importing_targets_imports_no_client() -> None:
    code = "import sys, ragguard.adapters.targets; print({'httpx', 'jinja2', 'tenacity', 'litellm'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"

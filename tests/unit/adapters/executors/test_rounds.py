"""Lanes through kills, errors, budgets and cancellations: nothing is paid for twice, and no limit is passed."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ragguard.adapters.executors.lanes import LaneReport, run_lane
from ragguard.core.elsewhere import Paid
from ragguard.core.scores import SampleResult
from ragguard.errors import BudgetError, ConfigError, JudgeError, OutsideWorldError, RunFileError
from tests.fakes.lane_jobs import Evaluator, KilledError, ThreadJobs, Till, items, locally, plain

N = 40


def once(number: int, error: BaseException) -> Till:
    """A till at whose n-th call something goes wrong, once."""
    done = threading.Event()

    def before(call: int) -> None:
        if call == number and not done.is_set():
            done.set()
            raise error

    return Till(before_call=before)


def test_a_worker_that_dies_costs_only_what_was_in_flight(tmp_path: Path) -> None:
    till = once(30, KilledError())
    evaluator = Evaluator(tmp_path, till, lanes=2)
    results = list(evaluator.results(items(N)))
    assert results == locally(items(N))
    assert 2 * N < len(till.calls) <= 2 * N + 2 * (evaluator.concurrency + evaluator.unit)
    assert evaluator.kit.booked.calls <= len(till.calls)


def test_a_job_that_was_killed_is_taken_up_by_the_next_one(tmp_path: Path) -> None:
    first = Evaluator(tmp_path, once(41, KilledError()), ThreadJobs(attempts=1))
    with pytest.raises(KilledError):
        list(first.results(items(N), "first"))
    till = Till()
    second = Evaluator(tmp_path, till)
    results = list(second.results(items(N), "second"))
    assert plain(results) == plain(locally(items(N)))
    known = sum(judgment.source == "cached" for result in results for judgment in result.judgments)
    assert known > 0
    assert known + len(till.calls) == 2 * N
    assert second.kit.booked.calls == len(till.calls)


def test_the_same_work_again_costs_nothing_and_other_work_does(tmp_path: Path) -> None:
    list(Evaluator(tmp_path).results(items(8), "a"))
    till = Till()
    list(Evaluator(tmp_path, till).results(items(8), "b"))
    assert till.calls == []
    list(Evaluator(tmp_path, till).results([*items(4), *items(4, start=50)], "c"))
    assert len(till.calls) == 8


def test_a_judge_that_is_down_ends_the_job_and_keeps_what_is_done(tmp_path: Path) -> None:
    evaluator = Evaluator(tmp_path, once(30, JudgeError("the judge is down", mend="wait")))
    seen: list[SampleResult] = []
    with pytest.raises(JudgeError, match="the judge is down") as caught:
        seen.extend(evaluator.results(items(200)))
    assert caught.value.mend == "wait"
    assert len(evaluator.till.calls) < 2 * 200
    assert evaluator.kit.booked.calls == len(evaluator.till.calls)


def test_a_budget_that_is_enough_is_enough_however_it_was_divided(tmp_path: Path) -> None:
    work = items(N)
    known = Evaluator(tmp_path / "a")
    list(known.results(work[:13]))
    evaluator = Evaluator(tmp_path / "b", Till(budget=2 * N + 20), lanes=5, unit=3)
    assert list(evaluator.results(work)) == locally(work)
    assert len(evaluator.till.calls) <= 2 * N + 20


@pytest.mark.parametrize("lanes", [1, 3, 7])
@pytest.mark.parametrize("budget", [1, 17, 2 * N - 1])
def test_a_budget_is_never_passed(tmp_path: Path, budget: int, lanes: int) -> None:
    evaluator = Evaluator(tmp_path, Till(budget=budget), lanes=lanes)
    with pytest.raises(BudgetError, match="the budget is spent"):
        list(evaluator.results(items(N)))
    assert len(evaluator.till.calls) <= budget


def test_a_lane_that_was_started_again_does_not_get_its_budget_anew(tmp_path: Path) -> None:
    till = once(60, KilledError())
    till.budget = 2 * N - 10
    evaluator = Evaluator(tmp_path, till, lanes=1, concurrency=1)
    with pytest.raises(BudgetError):
        list(evaluator.results(items(N)))
    assert len(till.calls) <= till.budget + 2 * evaluator.unit


def test_results_are_read_while_later_ones_are_still_made(tmp_path: Path) -> None:
    first_is_read = threading.Event()

    def before(call: int) -> None:
        if call > 60 and not first_is_read.wait(20):
            raise AssertionError("nothing was read before the end")

    evaluator = Evaluator(tmp_path, Till(before_call=before), lanes=1)
    results = evaluator.results(items(N))
    next(results)
    first_is_read.set()
    assert len(list(results)) == N - 1


def test_a_cancelled_run_stops_the_lanes(tmp_path: Path) -> None:
    evaluator = Evaluator(tmp_path)

    async def story() -> None:
        stream = evaluator.stream(items(400))
        await anext(stream)
        await stream.aclose()

    asyncio.run(story())
    assert evaluator.jobs.cancelled == ["job"]
    assert len(evaluator.till.calls) < 800


def test_a_worker_that_would_score_otherwise_does_not_score(tmp_path: Path) -> None:
    evaluator = Evaluator(tmp_path, lanes=1)
    list(evaluator.results(items(2)))
    lane = replace(evaluator.jobs.rounds[0][0], fingerprints={"faithfulness": "another"}, job="other")
    report = run_lane(lane)
    assert (report.kind, report.error) == ("error", "ConfigError")
    assert isinstance(report.exception(), ConfigError)


def test_a_worker_that_cannot_see_the_folder_says_so(tmp_path: Path) -> None:
    evaluator = Evaluator(tmp_path, lanes=1)
    list(evaluator.results(items(2)))
    report = run_lane(replace(evaluator.jobs.rounds[0][0], folder=str(tmp_path / "elsewhere")))
    assert report.error == "ConfigError"
    assert "executor.scratch" in str(report.exception())


def test_a_job_that_ends_without_results_or_reason_is_an_error(tmp_path: Path) -> None:
    class Lazy(ThreadJobs):
        def run(self, lanes: object, tag: str) -> list[LaneReport]:
            return [LaneReport("done")]

    with pytest.raises(OutsideWorldError, match="without all results"):
        list(Evaluator(tmp_path, jobs=Lazy()).results(items(3)))


def test_a_damaged_results_file_is_named(tmp_path: Path) -> None:
    import zstandard

    list(Evaluator(tmp_path, unit=3).results(items(3)))
    path = next((tmp_path / "results").iterdir())
    lines = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(zstandard.ZstdCompressor().compress(b"".join(lines[:-1])))
    with pytest.raises(RunFileError, match="holds 2 of 3 results"):
        list(Evaluator(tmp_path, unit=3).results(items(3), "next"))
    assert json.loads(lines[0]) == {"job": "job", "count": 3}


def test_an_unknown_error_of_a_worker_is_the_outside_worlds() -> None:
    assert type(LaneReport("error", "x", None, "SystemExit").exception()) is OutsideWorldError
    assert Paid(1, 2, None) + Paid(1, 2, 0.5) == Paid(2, 4, None)

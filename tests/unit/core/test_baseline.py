"""Which runs may be a baseline, which of them are independent, and what makes them comparable."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ragguard.core.baseline import Baseline, BaselineRun, independent, is_accepted, pinned_run
from ragguard.core.runs import DatasetInfo, Event, EventKind, Fingerprint, Outcome, RunHead, Selection
from ragguard.core.tables import DigestTable

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def head(run_id: str = "r", *, event: str = "push", outcome: Outcome = "passed", overridden: bool = False) -> RunHead:
    info = DatasetInfo(uri="g", digest="d", ids_digest="i", n_total=1, n_selected=1, overridden=overridden)
    return RunHead(
        run_id=run_id,
        suite="s",
        event=event,
        created_at=NOW,
        dataset=info,
        answers_digest="a",
        fingerprints={"faithfulness": Fingerprint(judge="j", metric="m")},
        policy={},
        metrics={},
        outcome=outcome,
        coverage=1.0,
    )


def event(kind: EventKind, hours: int, run_id: str = "r") -> Event:
    return Event(run_id=run_id, suite="s", kind=kind, by="x", at=NOW + timedelta(hours=hours))


@pytest.mark.parametrize("name", ["local", "push", "schedule", "workflow_dispatch"])
@pytest.mark.parametrize("outcome", ["passed", "warned"])
def test_a_good_run_of_the_base_branch_accepts_itself(name: str, outcome: Outcome) -> None:
    assert is_accepted(head(event=name, outcome=outcome), [])


@pytest.mark.parametrize(
    "run",
    [
        head(event="pull_request"),
        head(event="merge_group"),
        head(outcome="failed"),
        head(outcome="error"),
        head(outcome="inconclusive"),
        head(outcome="not_comparable"),
        head(overridden=True),
    ],
)
def test_no_other_run_does(run: RunHead) -> None:
    assert not is_accepted(run, [])
    assert is_accepted(run, [event("accepted", 1)])


def test_a_shard_is_no_baseline_whatever_anybody_says() -> None:
    run = head()
    part = run.dataset.model_copy(update={"selection": Selection(shard="1/2")})
    shard = run.model_copy(update={"dataset": part})
    assert is_accepted(run, [event("accepted", 1)])
    assert not is_accepted(shard, [])
    assert not is_accepted(shard, [event("accepted", 1)])


def test_the_newest_word_of_a_person_counts() -> None:
    assert not is_accepted(head(), [event("accepted", 1), event("rejected", 2)])
    assert is_accepted(head(), [event("rejected", 1), event("accepted", 2)])
    assert is_accepted(head(), [event("rejected", 1, run_id="another")])


def test_the_newest_pin_that_was_not_taken_back_counts() -> None:
    assert pinned_run([]) is None
    assert pinned_run([event("pinned", 1, "a"), event("pinned", 2, "b")]) == "b"
    assert pinned_run([event("pinned", 1, "a"), event("unpinned", 2, "a")]) is None


def run_with(name: str, answers: list[str]) -> BaselineRun:
    return BaselineRun(head(name), DigestTable({str(n): ("s", "p", answer) for n, answer in enumerate(answers)}))


def test_runs_that_share_more_than_half_of_their_answers_count_as_one() -> None:
    new = run_with("new", ["a", "b", "c", "d"])
    half = run_with("half", ["a", "b", "x", "y"])
    most = run_with("most", ["a", "b", "c", "z"])
    assert [run.run_id for run in independent([new, most, half])] == ["new", "half"]


def test_no_more_than_five_runs_are_kept_and_none_is_read_in_vain() -> None:
    read: list[int] = []

    def runs() -> object:
        for n in range(20):
            read.append(n)
            yield run_with(f"r{n}", [f"{n}a", f"{n}b"])

    assert len(independent(runs())) == 5  # type: ignore[arg-type]
    assert len(read) == 5


def test_a_changed_fingerprint_is_named() -> None:
    baseline = Baseline((run_with("r", ["a"]),))
    same, other = Fingerprint(judge="j", metric="m"), Fingerprint(judge="k", metric="m")
    assert baseline.difference("faithfulness", same) is None
    assert baseline.difference("faithfulness", other) == "changed: judge"
    assert baseline.difference("context_recall", same) == "the metric is new"
    assert Baseline().difference("faithfulness", other) is None

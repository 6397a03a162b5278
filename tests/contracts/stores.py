"""What every store of runs must do. A subclass names the implementation and gives a fixture `open_store`."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar

import pytest

from ragguard.core.ports import Store
from ragguard.core.runs import Event, RunHead
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.scores import Judgment, SampleResult, Score
from ragguard.errors import StoreError
from tests.fakes.reports import make_report

OpenStore = Callable[[], Store]

START = datetime(2026, 3, 1, 8, 30, 15, 123457, tzinfo=UTC)
SUITE = "toán-数学"
STRANGE = ["a/b", "../../etc/passwd", "..", "x" * 400, "x" * 401, "chạy 数学 #1?%2F", "=2E", "a.b~c\\d'\"`"]


def make_head(run_id: str = "r1", **changes: Any) -> RunHead:
    fields: dict[str, Any] = {"run_id": run_id, "suite": SUITE, "branch": "main", "commit_time": START, "samples": None}
    return make_report("passed", "vi").head.model_copy(update={**fields, **changes})


def make_results(count: int = 3, value: float = 1.0) -> list[SampleResult]:
    return [
        SampleResult(
            id=f"câu-{number}",
            sample_digest="s",
            passages_digest="p",
            answer_digest="a",
            sample=Sample(id=f"câu-{number}", question="为什么？", contexts=(Passage(id="đoạn\n1", text="…\u2028…"),)),
            answer=Answer(text="Vì\r\nthế\t😀", latency_s=0.25),
            tags=("hình học",),
            scores=(
                Score(metric="faithfulness", status="scored", value=value, passed=True, details={"claims": [1, None]}),
                Score(metric="answer_relevance", status="failed", reason="评判 `;-- '\"\\"),
            ),
            judgments=(Judgment(key="k", task="claims", model="m", status="ok", output={"câu": ["Đúng", "正确"]}),),
        )
        for number in range(count)
    ]


def ids(heads: list[RunHead]) -> list[str]:
    return [head.run_id for head in heads]


def apart_from_samples(head: RunHead | None) -> RunHead | None:
    return None if head is None else head.model_copy(update={"samples": None})


class StoreContract:
    """One test for each promise of the port."""

    implementation: ClassVar[type]

    @pytest.fixture
    def open_store(self) -> Iterator[OpenStore]:
        """Gives new handles on one empty store."""
        raise NotImplementedError

    def test_an_empty_store_is_no_error(self, open_store: OpenStore) -> None:
        store = open_store()
        assert store.heads(SUITE) == []
        assert store.heads(SUITE, branch="main", before=START) == []
        assert store.events(SUITE) == []
        assert store.head("r1") is None

    def test_a_run_comes_back_as_it_was(self, open_store: OpenStore) -> None:
        head, results = make_head(), make_results()
        open_store().save(head, iter(results))
        store = open_store()
        assert apart_from_samples(store.head("r1")) == head
        assert [apart_from_samples(found) for found in store.heads(SUITE)] == [head]
        assert list(store.samples("r1")) == results

    def test_a_run_of_no_results(self, open_store: OpenStore) -> None:
        open_store().save(make_head(), [])
        assert list(open_store().samples("r1")) == []

    def test_samples_of_some_ids(self, open_store: OpenStore) -> None:
        open_store().save(make_head(), make_results(5))
        found = list(open_store().samples("r1", frozenset({"câu-3", "câu-1", "unknown"})))
        assert [result.id for result in found] == ["câu-1", "câu-3"]
        assert list(open_store().samples("r1", frozenset())) == []

    def test_several_results_of_one_sample_are_kept_apart(self, open_store: OpenStore) -> None:
        (one,) = make_results(1)
        sides = [one, *(one.model_copy(update={"side": "r0", "session": "look", "repeat": n}) for n in (1, 2))]
        open_store().save(make_head(), sides)
        assert list(open_store().samples("r1")) == sides
        assert list(open_store().samples("r1", frozenset({one.id}))) == sides

    def test_samples_of_an_unknown_run(self, open_store: OpenStore) -> None:
        with pytest.raises(StoreError, match="no-such-run") as caught:
            list(open_store().samples("no-such-run"))
        assert caught.value.mend

    def test_heads_are_newest_first_by_commit_time_else_by_creation(self, open_store: OpenStore) -> None:
        store = open_store()
        hours = {"old": 1, "new": 5, "middle": 3}
        for run_id, hour in hours.items():
            store.save(make_head(run_id, commit_time=START + timedelta(hours=hour)), [])
        store.save(make_head("no-commit", commit_time=None, created_at=START + timedelta(hours=4)), [])
        # The same instant in another zone is the same place in the order.
        elsewhere = (START + timedelta(hours=2)).astimezone(timezone(timedelta(hours=7)))
        store.save(make_head("elsewhere", commit_time=elsewhere), [])
        assert ids(open_store().heads(SUITE)) == ["new", "no-commit", "middle", "elsewhere", "old"]
        assert ids(open_store().heads(SUITE, limit=2)) == ["new", "no-commit"]
        assert open_store().heads(SUITE, limit=0) == []

    def test_of_one_commit_the_later_run_is_newer(self, open_store: OpenStore) -> None:
        store = open_store()
        for minute, run_id in ((2, "b"), (3, "a"), (1, "c")):
            store.save(make_head(run_id, created_at=START + timedelta(minutes=minute)), [])
        assert ids(open_store().heads(SUITE)) == ["a", "b", "c"]

    def test_heads_before_a_time_include_that_time(self, open_store: OpenStore) -> None:
        store = open_store()
        for second in range(3):
            store.save(make_head(f"r{second}", commit_time=START + timedelta(seconds=second)), [])
        assert ids(open_store().heads(SUITE, before=START + timedelta(seconds=1))) == ["r1", "r0"]
        assert ids(open_store().heads(SUITE, before=START + timedelta(microseconds=999_999))) == ["r0"]
        assert open_store().heads(SUITE, before=START - timedelta(microseconds=1)) == []

    def test_heads_of_a_branch_and_suite_alone(self, open_store: OpenStore) -> None:
        store = open_store()
        branches = ("main", "main/2", "mai", "MAIN.x", "nhánh/数学", "../main", None)
        for number, branch in enumerate(branches):
            store.save(make_head(f"r{number}", branch=branch, commit_time=START - timedelta(hours=number)), [])
        store.save(make_head("other", suite=f"{SUITE}-2"), [])
        for number, branch in enumerate(branches[:-1]):
            assert ids(open_store().heads(SUITE, branch=branch)) == [f"r{number}"]
        assert ids(open_store().heads(SUITE)) == [f"r{number}" for number in range(len(branches))]
        assert ids(open_store().heads(f"{SUITE}-2")) == ["other"]
        assert open_store().heads("toán") == []

    def test_any_text_is_a_run_id_of_its_own(self, open_store: OpenStore) -> None:
        store = open_store()
        for number, run_id in enumerate(STRANGE):
            store.save(make_head(run_id, commit_time=START - timedelta(hours=number)), make_results(number))
            store.event(run_id, "pinned", run_id, START + timedelta(hours=number), SUITE)
        assert ids(open_store().heads(SUITE)) == STRANGE
        for number, run_id in enumerate(STRANGE):
            assert apart_from_samples(open_store().head(run_id)) == make_head(
                run_id, commit_time=START - timedelta(hours=number)
            )
            assert list(open_store().samples(run_id)) == make_results(number)
        assert [(event.run_id, event.by) for event in open_store().events(SUITE)] == [(text, text) for text in STRANGE]

    def test_saving_a_run_id_again_changes_nothing(self, open_store: OpenStore) -> None:
        open_store().save(make_head(), make_results(2))
        later = make_head(created_at=START + timedelta(days=1), commit_time=START + timedelta(days=1), branch="other")
        open_store().save(later, make_results(3, value=0.5))
        store = open_store()
        assert [apart_from_samples(head) for head in store.heads(SUITE)] == [make_head()]
        assert store.heads(SUITE, branch="other") == []
        assert list(store.samples("r1")) == make_results(2)

    def test_a_run_that_breaks_off_is_not_there_and_can_be_saved_later(self, open_store: OpenStore) -> None:
        def broken() -> Iterator[SampleResult]:
            yield from make_results(2)
            raise RuntimeError("the results broke off")

        with pytest.raises(RuntimeError, match="broke off"):
            open_store().save(make_head(), broken())
        assert open_store().heads(SUITE) == []
        assert open_store().head("r1") is None
        open_store().save(make_head(), make_results(3))
        assert list(open_store().samples("r1")) == make_results(3)

    def test_events_are_kept_in_the_order_of_time(self, open_store: OpenStore) -> None:
        store = open_store()
        store.event("r2", "rejected", "bot@ci", START + timedelta(seconds=1), SUITE)
        store.event("r1", "accepted", "Lê Thị/学", START, SUITE)
        store.event("r1", "pinned", "x" * 300, START + timedelta(seconds=2), SUITE)
        store.event("r1", "accepted", "nobody", START, "other")
        expected = [
            Event(run_id="r1", suite=SUITE, kind="accepted", by="Lê Thị/学", at=START),
            Event(run_id="r2", suite=SUITE, kind="rejected", by="bot@ci", at=START + timedelta(seconds=1)),
            Event(run_id="r1", suite=SUITE, kind="pinned", by="x" * 300, at=START + timedelta(seconds=2)),
        ]
        assert open_store().events(SUITE) == expected

    def test_the_same_event_again_changes_nothing_and_another_of_that_time_is_kept(self, open_store: OpenStore) -> None:
        store = open_store()
        for run_id, by in (("r1", "a"), ("r1", "a"), ("r1", "b"), ("r2", "a")):
            store.event(run_id, "accepted", by, START, SUITE)
        assert [(event.run_id, event.by) for event in open_store().events(SUITE)] == [
            ("r1", "a"),
            ("r1", "b"),
            ("r2", "a"),
        ]

    def test_two_runs_saved_at_once_lose_nothing(self, open_store: OpenStore) -> None:
        open_store().save(make_head("first", commit_time=START - timedelta(hours=1)), [])

        def save(number: int) -> None:
            store = open_store()
            store.save(make_head(f"r{number}", commit_time=START + timedelta(hours=number)), make_results(number + 1))
            store.event(f"r{number}", "accepted", "ci", START, SUITE)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(save, range(4)))
        store = open_store()
        assert ids(store.heads(SUITE)) == ["r3", "r2", "r1", "r0", "first"]
        assert [len(list(store.samples(f"r{number}"))) for number in range(4)] == [1, 2, 3, 4]
        assert len(store.events(SUITE)) == 4

    def test_one_run_saved_twice_at_once_is_one_of_the_two(self, open_store: OpenStore) -> None:
        def save(value: int) -> None:
            open_store().save(make_head(coverage=value / 10), make_results(2, value=value / 10))

        open_store().save(make_head("first", branch="other"), [])
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(save, (1, 2)))
        store = open_store()
        (head,) = store.heads(SUITE, branch="main")
        assert head.coverage in {0.1, 0.2}
        assert list(store.samples("r1")) == make_results(2, value=head.coverage)

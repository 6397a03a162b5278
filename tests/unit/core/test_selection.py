"""Selection: stable under added and moved rows, nested budgets, disjoint shards, and the same rule for baseline ids."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.core.runs import Selection
from ragguard.core.samples import Sample
from ragguard.core.selection import parse_shard, select, selects
from ragguard.errors import ConfigError


def samples(count: int, prefix: str = "q") -> list[Sample]:
    return [
        Sample(id=f"{prefix}{i}", question="?", tags=("even",) if i % 2 == 0 else ("odd", "三")) for i in range(count)
    ]


def ids(chosen: object) -> list[str]:
    return [sample.id for sample in chosen.samples]  # type: ignore[attr-defined]


@given(st.integers(1, 60), st.integers(1, 60), st.randoms())
def test_a_larger_budget_takes_all_that_a_smaller_one_takes(small: int, more: int, rng: random.Random) -> None:
    rows = samples(100)
    few, many = select(rows, Selection(budget=small)), select(rows, Selection(budget=small + more))
    assert len(few.samples) == small
    assert set(ids(few)) <= set(ids(many))
    shuffled = rng.sample(rows, len(rows))
    assert set(ids(select(shuffled, Selection(budget=small)))) == set(ids(few))


def test_the_order_of_the_data_set_is_kept_and_the_first_rows_are_not_favoured() -> None:
    chosen = ids(select(samples(1000), Selection(budget=100)))
    assert chosen == sorted(chosen, key=lambda id_: int(id_[1:]))
    assert 20 <= sum(int(id_[1:]) < 500 for id_ in chosen) <= 80


def test_an_added_row_displaces_at_most_one() -> None:
    rows = samples(200)
    before = set(ids(select(rows, Selection(budget=50))))
    for extra in samples(50, "new"):
        after = set(ids(select([extra, *rows], Selection(budget=50))))
        assert len(before - after) <= 1


def test_a_budget_above_the_size_takes_all() -> None:
    chosen = select(samples(5), Selection(budget=180))
    assert len(chosen.samples) == 5
    assert chosen.cutoff is None
    assert chosen.would_take("anything")


@given(st.integers(1, 7), st.one_of(st.none(), st.integers(1, 80)))
def test_shards_share_nothing_and_together_are_the_run(count: int, budget: int | None) -> None:
    rows = samples(100)
    whole = ids(select(rows, Selection(budget=budget)))
    shards = [ids(select(rows, Selection(budget=budget, shard=f"{k}/{count}"))) for k in range(1, count + 1)]
    assert sorted(id_ for shard in shards for id_ in shard) == sorted(whole)


def test_shards_of_a_small_budget_are_all_used() -> None:
    shards = [select(samples(1000), Selection(budget=100, shard=f"{k}/4")) for k in (1, 2, 3, 4)]
    assert all(len(shard.samples) > 10 for shard in shards)


def test_tags_keep_samples_with_at_least_one_of_them() -> None:
    assert ids(select(samples(4), Selection(tags=("三",)))) == ["q1", "q3"]
    assert ids(select(samples(4), Selection(tags=("even", "odd")))) == ["q0", "q1", "q2", "q3"]
    assert ids(select(samples(4), Selection(tags=("none",)))) == []


def test_the_rule_says_of_a_baseline_id_whether_this_run_would_take_it() -> None:
    rows = samples(100)
    selection = Selection(budget=30, tags=("odd",), shard="1/2")
    chosen = select(rows, selection)
    taken = [row.id for row in rows if chosen.would_take(row.id, row.tags)]
    assert taken == ids(chosen)
    # A row removed since then would have been in this run exactly when its place is before the cutoff.
    removed = samples(200, "gone")
    again = select([*rows, *removed], selection)
    assert {row.id for row in removed if again.would_take(row.id, row.tags)} == set(ids(again)) - {
        row.id for row in rows
    }
    assert selects("gone1", ("odd",), Selection(), None)
    assert not selects("gone1", ("odd",), Selection(tags=("even",)), None)


def test_the_choice_never_changes_between_versions() -> None:
    assert ids(select(samples(20), Selection(budget=4))) == EXPECTED
    assert ids(select(samples(8), Selection(shard="1/3"))) == EXPECTED_SHARD


EXPECTED = ["q1", "q5", "q10", "q12"]
EXPECTED_SHARD = ["q4", "q7"]


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", " 1/2", "-1/2", "1/2\n"])
def test_a_wrong_shard(text: str) -> None:
    with pytest.raises(ConfigError, match="is not k/n") as caught:
        parse_shard(text)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_of_nothing(budget: int) -> None:
    with pytest.raises(ConfigError, match="sample_budget"):
        select(samples(3), Selection(budget=budget))

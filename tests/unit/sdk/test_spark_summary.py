"""Sums of partitions, put together in any order, are `math.fsum` to the last digit."""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from ragguard.sdk.spark_summary import Sums, grow

NUMBERS = st.lists(st.floats(min_value=-1e300, max_value=1e300, allow_nan=False))


@given(NUMBERS)
def test_an_exact_sum_is_fsum(values: list[float]) -> None:
    parts: list[float] = []
    for value in values:
        grow(parts, value)
    assert math.fsum(parts) == math.fsum(values)


@given(st.lists(st.floats(0, 1)), st.integers(1, 7), st.randoms())
def test_partitions_add_up_to_the_whole(values: list[float], count: int, rng: random.Random) -> None:
    partitions = [Sums() for _ in range(count)]
    for value in values:
        rng.choice(partitions).add(value, "scored", passed=value >= 0.5)
    whole = Sums()
    for partition in rng.sample(partitions, count):
        whole.merge(Sums(**json.loads(json.dumps(asdict(partition)))))
    assert math.fsum(whole.parts) == math.fsum(values)
    assert (whole.count, whole.least, whole.most) == (len(values), min(values, default=None), max(values, default=None))
    assert whole.good == sum(value >= 0.5 for value in values)


def test_what_has_no_value_is_counted_by_its_reason() -> None:
    sums = Sums()
    sums.add(None, "failed", passed=False)
    sums.add(None, "not_applicable", passed=False)
    assert (sums.count, sums.n_failed, sums.n_not_applicable, sums.least) == (0, 1, 1, None)

"""The check of what an embedder gave."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.adapters.embedders.base import unit_vectors
from ragguard.errors import EmbedderError

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.lists(NUMBERS, min_size=3, max_size=3).filter(any), min_size=1, max_size=5))
def test_rows_become_unit_vectors_however_large_or_small(rows: list[list[float]]) -> None:
    vectors = unit_vectors(rows, len(rows), 3, "x")
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (np.sign(vectors) * np.sign(rows) >= 0).all()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1.0, float("inf")]], "NaN or infinity"),
        ([[1.0, None]], "NaN or infinity|something else"),
        ([[1.0, "many"]], "something else than lists of numbers"),
        ([[1.0, 2.0], [1.0]], "different dimensions"),
        ([[1.0, 2.0], None], "different dimensions"),
        ([1.0], "not lists of numbers"),
        (None, "not lists of numbers"),
        ([[0.0, 0.0]], "zeros"),
        ([[1.0, 2.0], [1.0, 2.0]], "2 vectors for 1 texts"),
        ([[1.0, 2.0, 3.0]], r"dimension 3, but embedder\.dim is 2"),
        ([[]], "dimension 0"),
    ],
)
def test_what_is_not_a_vector_is_an_error(rows: object, said: str) -> None:
    with pytest.raises(EmbedderError, match=said):
        unit_vectors(rows, 1, 2, "embedder x")


def test_empty_vectors_are_an_error_whatever_the_dimension() -> None:
    with pytest.raises(EmbedderError, match="zeros"):
        unit_vectors([[]], 1, None, "embedder x")

"""Strategies: texts that try to be more than text, JSON values, and whole documents broken in a few places."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.fakes.hostile import HOSTILE

Draw = Callable[[st.SearchStrategy[Any]], Any]

EDGES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10**6, -(10**18), 10**400, 0.5, -0.0, 1e308, 1e-320,
    float("nan"), float("inf"), float("-inf"), "", " ", "\u0000", "\ud800", "\u202e", "a" * 5000, "x\ny", "nan", "Infinity",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-03-01", "2026-03-01T00:00:00", "../../etc/passwd", "https://127.0.0.1:9/x",
    [], {}, [None], [[]], {"": None}, {"a": {"b": {"c": []}}}, "学费", "Học phí", "{{ 7*7 }}", "${HOME}", "${RAGGUARD_VAR_X}",
)  # fmt: skip
"""Values that a careless reader stumbles over."""

texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40))
"""Any text, hostile ones often."""

scalars = st.one_of(
    st.sampled_from(EDGES), st.integers(), st.floats(), texts, st.characters(codec=None).map(lambda char: char * 3)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
"""Any JSON value, and numbers that are none."""


def _place(draw: Draw, tree: Any) -> tuple[Any, ...]:
    """The path of some value below the root."""
    path: tuple[Any, ...] = ()
    while isinstance(tree, dict | list) and tree and (not path or draw(st.integers(0, 3))):
        step = draw(st.sampled_from(list(tree) if isinstance(tree, dict) else range(len(tree))))
        path, tree = (*path, step), tree[step]
    return path


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _break(draw: Draw, tree: Any) -> None:
    """Breaks a tree in one place, below its root."""
    path = _place(draw, tree)
    parent, last = _at(tree, path[:-1]), path[-1]
    how = draw(st.sampled_from(["set", "set", "edge", "edge", "delete", "twin", "add", "rename"]))
    if how == "set":
        parent[last] = copy.deepcopy(draw(values))
    elif how == "edge":
        parent[last] = copy.deepcopy(draw(st.sampled_from(EDGES)))
    elif how == "delete":
        del parent[last]
    elif how == "twin":
        parent[last] = copy.deepcopy(_at(tree, _place(draw, tree)))
    elif isinstance(parent, dict):
        taken = parent.pop(last) if how == "rename" else copy.deepcopy(draw(values))
        parent[draw(texts)] = taken
    else:
        parent.insert(0, copy.deepcopy(draw(values)))


@st.composite
def broken(draw: Draw, trees: st.SearchStrategy[Any], most: int = 3) -> Any:
    """A document broken in up to so many places; now and then left whole."""
    tree = copy.deepcopy(draw(trees))
    for _ in range(draw(st.integers(0, most))):
        if isinstance(tree, dict | list) and tree:
            _break(draw, tree)
    return tree


def as_json(tree: Any) -> bytes:
    """JSON as a careless writer writes it: NaN, infinities and lone surrogates included."""
    return json.dumps(tree, ensure_ascii=False, allow_nan=True, default=str).encode("utf-8", "surrogatepass")


@st.composite
def broken_bytes(draw: Draw, whole: st.SearchStrategy[bytes]) -> bytes:
    """Bytes of a file with a piece cut out, put in or doubled."""
    data = draw(whole)
    start = draw(st.integers(0, len(data)))
    end = draw(st.integers(start, min(len(data), start + draw(st.sampled_from([0, 1, 8, 10**6])))))
    piece = draw(
        st.one_of(
            st.binary(max_size=6),
            st.just(data[start:end] * 2),
            texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
        )
    )
    return data[:start] + piece + data[end:]

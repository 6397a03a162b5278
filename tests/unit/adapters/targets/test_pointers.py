"""JSON pointers: RFC 6901's own examples, and what is said when there is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ragguard.adapters.targets.pointers import PointerError, checked_pointer, resolve

RFC_DOCUMENT: dict[str, Any] = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC_DOCUMENT), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2),
        ("/e^f", 3), ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7), ("/m~0n", 8),
    ],
)  # fmt: skip
def test_the_examples_of_the_rfc(pointer: str, value: object) -> None:
    assert resolve(RFC_DOCUMENT, checked_pointer(pointer)) == value


def test_an_escaped_tilde_is_not_unescaped_twice() -> None:
    assert resolve({"~1": "right", "/": "wrong"}, "/~01") == "right"


def test_a_key_may_be_in_any_language() -> None:
    assert resolve({"kết quả": {"答案": "ok"}}, "/kết quả/答案") == "ok"


@pytest.mark.parametrize(
    ("document", "pointer", "message"),
    [
        ({"result": {"text": "x", "sources": []}}, "/result/answer", "the keys at /result are text, sources"),
        ({}, "/answer", "the keys at the top are (none)"),
        (["a"], "/1", "the list at the top has 1 items"),
        (["a"], "/-", "the list at the top has 1 items"),
        (["a"], "/00", "the list at the top has 1 items"),
        (["a"], "/²", "the list at the top has 1 items"),
        (["a"], "/" + "9" * 5000, "the list at the top has 1 items"),
        ({"answer": None}, "/answer/text", "/answer is null"),
        ("text", "/answer", "the top is a text"),
        ({"a\n::error::x": 1}, "/b", r'"a\n::error::x"'),
    ],
)
def test_what_is_there_instead_is_said(document: Any, pointer: str, message: str) -> None:
    with pytest.raises(PointerError) as caught:
        resolve(document, pointer)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("pointer", "mend"), [("answer.text", "`/answer/text`"), ("/a~2b", "`~0`"), ("/a~", "`~0`")])
def test_what_is_no_pointer_is_refused_with_the_mend(pointer: str, mend: str) -> None:
    with pytest.raises(ValueError, match=r"JSON pointer") as caught:
        checked_pointer(pointer)
    assert mend in str(caught.value)

"""Sentences in English, Vietnamese and Chinese, with what the library breaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.core.sentences import language_of, split_sentences
from ragguard.core.text import is_blank

CASES = [
    ("TP. Hồ Chí Minh có 9 triệu dân. GS. Lê dạy ở đó.", ["TP. Hồ Chí Minh có 9 triệu dân.", "GS. Lê dạy ở đó."]),
    ("PGS. TS. Trần và ThS. Lan cùng viết. Sách hay!", ["PGS. TS. Trần và ThS. Lan cùng viết.", "Sách hay!"]),
    ("It costs approx. 5 dollars. See Fig. 3.", ["It costs approx. 5 dollars.", "See Fig. 3."]),
    ("The fee is 2.5 million. It is due.", ["The fee is 2.5 million.", "It is due."]),
    ("The lake is 1,470 m. It is deep.", ["The lake is 1,470 m.", "It is deep."]),
    ("Sound travels at 343 m/s. Khi nóng thì nhanh hơn.", ["Sound travels at 343 m/s.", "Khi nóng thì nhanh hơn."]),
    ("水在100℃沸腾。冰在0℃融化！真的吗？", ["水在100℃沸腾。", "冰在0℃融化！", "真的吗？"]),
    ("长江流入东海。2014年通航。", ["长江流入东海。", "2014年通航。"]),
    ("1. First\n2. Second\n- third", ["1. First", "2. Second", "- third"]),
    ("A heading\n\nA sentence that was wrapped by somebody\nand goes on.", None),
    ("one\r\ntwo\u2028three\u0085four", ["one", "two", "three", "four"]),
    ("", []),
    (" \n\t ", []),
    ("…", ["…"]),
]


@pytest.mark.parametrize(("text", "sentences"), [case for case in CASES if case[1] is not None])
def test_sentences(text: str, sentences: list[str]) -> None:
    assert list(split_sentences(text)) == sentences


def test_a_wrapped_line_goes_on() -> None:
    text = "A sentence that was wrapped by somebody at a width\nand goes on here.\nNext."
    assert list(split_sentences(text)) == [
        "A sentence that was wrapped by somebody at a width and goes on here.",
        "Next.",
    ]


def test_a_quotation_or_an_apostrophe_does_not_swallow_what_follows() -> None:
    long = "If it is worth X $'s when sold, that is the amount. " + "Use it well and do not lose it at all. " * 6
    assert len(split_sentences(long)) == 7
    quoted = '"' + "This is one of many sentences in a long quotation. " * 6 + '"'
    assert len(split_sentences(quoted)) >= 6


@pytest.mark.parametrize(("text", "language"), [("水在沸腾", "zh"), ("Học phí", "vi"), ("The fee", "en"), ("", "en")])
def test_the_language_is_guessed_by_script_and_diacritics(text: str, language: str) -> None:
    assert language_of(text) == language


def _seen(text: str) -> str:
    return "".join(char for char in text if not is_blank(char))


def test_what_nobody_sees_is_no_sentence() -> None:
    assert split_sentences("The fee is 5. \U000e0049\U000e0067\U000e006e. \u200b\u202e") == (
        "The fee is 5.",
        "\U000e0049\U000e0067\U000e006e.",
    )
    assert split_sentences("\u200b\ufeff \U000e0041") == ()


@given(st.text(max_size=300))
def test_no_letter_is_lost_and_no_sentence_is_blank_or_of_two_lines(text: str) -> None:
    sentences = split_sentences(text)
    assert _seen("".join(sentences)) == _seen(text)
    assert all(not is_blank(sentence) and len(sentence.splitlines()) == 1 for sentence in sentences)

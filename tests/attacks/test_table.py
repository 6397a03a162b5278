"""SECURITY.md tells what the tests try, and the suite is as wide as it claims."""

from __future__ import annotations

from tests.attacks.attack import KINDS
from tests.attacks.table import DOC, all_attacks, document


def test_the_document_tells_what_the_tests_try() -> None:
    text = DOC.read_text(encoding="utf-8")
    assert text == document(text), "run: python -m tests.attacks.table"


def test_no_attack_is_told_twice_and_no_kind_is_left_out() -> None:
    attacks = all_attacks()
    assert len({attack.name for attack in attacks}) == len(attacks) >= 60
    assert {attack.kind for attack in attacks} == set(KINDS)
    assert all(sum(attack.kind == kind for attack in attacks) >= 3 for kind in KINDS)

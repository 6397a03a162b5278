"""Flip rates: the share of single verdicts on which judges or repeats differ."""

import pytest

from ragguard.core.agreement import Agreement, agreement, agreement_by_task, unit_verdicts
from ragguard.core.scores import Judgment


def claim(source: int, verdict: str) -> dict[str, object]:
    return {"source": source, "claim": "x", "passage": 1, "verdict": verdict}


@pytest.mark.parametrize(
    ("outputs", "units", "differing"),
    [
        ([], 0, 0),
        ([{"relevant": [1], "irrelevant": [2]}], 0, 0),
        ([{"relevant": [1], "irrelevant": [2, 3, 4]}, {"relevant": [2, 1], "irrelevant": [4, 3]}], 4, 1),
        ([{"relevant": [1, 2], "irrelevant": []}] * 3, 2, 0),
        # Claims cut in another way, same lines supported.
        (
            [
                {"claims": [claim(1, "supported"), claim(1, "supported"), claim(2, "absent")], "no_claim": [3]},
                {"claims": [claim(1, "supported"), claim(2, "contradicted")], "no_claim": [3]},
            ],
            3,
            0,
        ),
        (
            [
                {"claims": [claim(1, "supported"), claim(1, "absent")], "no_claim": [2]},
                {"claims": [claim(1, "supported"), claim(2, "supported")], "no_claim": []},
            ],
            2,
            2,
        ),
        ([{"noncommittal": False, "questions": ["a?"]}, {"noncommittal": False, "questions": ["b?"]}], 1, 0),
        ([{"noncommittal": False, "questions": ["a?"]}, {"noncommittal": True, "questions": ["a?"]}], 1, 1),
        ([{"verdict": "answered"}, {"verdict": "partial"}], 1, 1),
        ([{"reason": "a", "score": 3}, {"reason": "b", "score": 3}], 1, 0),
        (
            [
                {"grades": [{"passage": 1, "grade": 2}, {"passage": 2, "grade": 0}]},
                {"grades": [{"passage": 2, "grade": 1}, {"passage": 1, "grade": 2}]},
            ],
            2,
            1,
        ),
        (
            [
                {"answer": [{"source": 1, "claim": "x", "in_references": [1]}], "reference": [{"source": 1, "in_answer": True}]},
                {"answer": [{"source": 1, "claim": "y", "in_references": []}], "reference": [{"source": 1, "in_answer": True}]},
            ],
            2,
            1,
        ),
    ],
)  # fmt: skip
def test_units_and_differences(outputs: list[dict[str, object]], units: int, differing: int) -> None:
    assert agreement(outputs) == Agreement(units, differing)


def test_a_claim_and_no_claim_of_one_line_are_two_verdicts_on_one_unit() -> None:
    assert unit_verdicts({"claims": [claim(1, "supported")], "no_claim": [2]}) == {"item 1": True, "item 2": "no_claim"}


def test_nothing_to_compare_is_unknown_not_zero() -> None:
    assert Agreement().flip_rate is None
    assert Agreement(4, 1).flip_rate == 0.25


def judgment(task: str, output: dict[str, object], status: str = "ok") -> Judgment:
    return Judgment(key="k", task=task, model="m", status=status, output=output)


def test_adds_up_by_task_over_samples_and_leaves_failures_out() -> None:
    yes, no = {"verdict": "answered"}, {"verdict": "refused"}
    samples = [
        [judgment("abstention", yes), judgment("abstention", no), judgment("sentences", {"relevant": [1], "irrelevant": []})],
        [judgment("abstention", yes), judgment("abstention", yes)],
        [judgment("abstention", yes), judgment("abstention", {}, "failed")],
    ]  # fmt: skip
    assert agreement_by_task(samples) == {"abstention": Agreement(2, 1)}

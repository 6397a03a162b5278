"""Flip rates: the share of single verdicts on which judges or repeats differ."""

import pytest

from ragguard.core.agreement import Agreement, AgreementMeter, agreement, unit_verdicts
from ragguard.core.runs import TaskAgreement
from ragguard.core.scores import Judgment, SampleResult, Score


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


ABSENT, SUPPORTED = (
    {"claims": [claim(1, "absent")], "no_claim": []},
    {"claims": [claim(1, "supported")], "no_claim": []},
)


def judgment(model: str, output: dict[str, object], repeat: int = 0, status: str = "ok", key: str = "k") -> Judgment:
    return Judgment(key=key, task="claims", model=model, status=status, output=output, repeat=repeat)  # type: ignore[arg-type]


def result(*judgments: Judgment, scores: tuple[Score, ...] = (), **fields: object) -> SampleResult:
    return SampleResult(id="s", sample_digest="a", passages_digest="b", judgments=judgments, scores=scores, **fields)  # type: ignore[arg-type]


def told(*results: SampleResult) -> TaskAgreement | None:
    meter = AgreementMeter()
    for one in results:
        meter.add(one)
    return meter.by_task.get("claims")


def test_a_task_that_was_judged_once_is_left_out() -> None:
    assert told(result(judgment("a", SUPPORTED))) is None
    assert told(result(judgment("a", SUPPORTED), judgment("b", {}, status="failed"))) is None


def test_judges_are_compared_by_their_first_replies_and_each_with_its_own_repeats() -> None:
    found = told(
        result(judgment("a", SUPPORTED), judgment("a", ABSENT, 1), judgment("b", SUPPORTED), judgment("b", SUPPORTED, 1)),
        result(judgment("a", SUPPORTED), judgment("b", ABSENT)),
    )  # fmt: skip
    assert found is not None
    assert (found.n_compared, found.n_differing, found.disagreement) == (2, 1, 0.5)
    # Of the second sample nothing was asked again.
    assert (found.n_repeated, found.n_flipped, found.flip_rate) == (2, 1, 0.5)


def test_one_judge_asked_again_has_a_flip_rate_and_nobody_to_differ_from() -> None:
    found = told(result(judgment("a", SUPPORTED), judgment("a", SUPPORTED, 1), judgment("a", ABSENT, 2)))
    assert found is not None
    assert (found.n_compared, found.disagreement) == (0, None)
    assert found.flip_rate == 1.0


def test_one_model_with_two_settings_is_two_judges_whose_repeats_cannot_be_told_apart() -> None:
    found = told(result(judgment("a", SUPPORTED, key="cold"), judgment("a", ABSENT, key="hot")))
    assert found is not None
    assert (found.disagreement, found.flip_rate) == (1.0, None)


def test_later_looks_and_the_baseline_are_left_out() -> None:
    both = (judgment("a", SUPPORTED), judgment("b", ABSENT))
    assert told(result(*both, side="run-1")) is None
    assert told(result(*both, session="look", repeat=1)) is None


def test_ties_of_a_call_that_two_metrics_share_are_counted_once() -> None:
    votes = {"votes": {"claims": {"votes": 2, "verdicts": 3, "tied": 1}}}
    scores = tuple(Score(metric=name, status="scored", value=1.0, details=dict(votes)) for name in ("x", "y"))
    found = told(result(judgment("a", SUPPORTED), judgment("b", SUPPORTED), scores=scores))
    assert found is not None
    assert (found.n_voted, found.n_tied) == (3, 1)

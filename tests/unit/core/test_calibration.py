"""The figures of two raters against scikit-learn, and the bootstrap against what it must keep."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from ragguard.core.calibration import Labelled, figures, people_agreement

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40)


def labelled(rows: list[tuple[bool, int]], threshold: float = 0.5) -> list[Labelled]:
    return [
        Labelled(good=good, score=grade / 6, passed=grade / 6 >= threshold, cluster=str(place))
        for place, (good, grade) in enumerate(rows)
    ]


@given(ROWS)
@settings(max_examples=150, deadline=None)
def test_every_figure_is_scikit_learn_s(rows: list[tuple[bool, int]]) -> None:
    answers = labelled(rows)
    good = [each.good for each in answers]
    passed = [each.passed for each in answers]
    found = figures(answers, resamples=1)
    assert found.accuracy.value == pytest.approx(sk.accuracy_score(good, passed))
    one_class = len(set(good)) == 1
    assert (found.auc.value is None) == one_class
    if not one_class:
        assert found.auc.value == pytest.approx(sk.roc_auc_score(good, [each.score for each in answers]))
    if len(set(good) | set(passed)) > 1:
        assert found.kappa.value == pytest.approx(sk.cohen_kappa_score(good, passed))
    else:
        assert found.kappa.value is None
    for positive, prefix in ((False, ""), (True, "good_")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = sk.precision_recall_fscore_support(good, passed, labels=[positive], zero_division=np.nan)
        for name, values in zip(("precision", "recall", "f1"), expected, strict=False):
            value = getattr(found, prefix + name).value
            if value is None:
                assert np.isnan(values[0])
            else:
                assert value == pytest.approx(values[0])
    assert found.caught + found.missed == found.bad
    assert found.n == found.good + found.bad == len(rows)


@given(ROWS, st.integers(0, 3))
@settings(max_examples=50, deadline=None)
def test_intervals_are_inside_the_figures_range_and_never_nan(rows: list[tuple[bool, int]], seed: int) -> None:
    found = figures(labelled(rows), resamples=30, seed=seed)
    for name, figure in found:
        if isinstance(figure, int):
            continue
        assert (figure.low is None) == (figure.high is None)
        if figure.value is None:
            assert figure.low is None
        elif figure.low is not None:
            least = -1.0 if name == "kappa" else 0.0
            assert least - 1e-9 <= figure.low <= figure.high <= 1 + 1e-9


MANY = [(place % 5 != 0, 1 if place % 7 == 0 else 5) for place in range(120)]


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others() -> None:
    assert figures(labelled(MANY), seed=4) == figures(labelled(MANY), seed=4)
    assert figures(labelled(MANY), seed=4).kappa != figures(labelled(MANY), seed=5).kappa


def test_the_interval_of_a_share_is_the_binomial_s() -> None:
    accuracy = figures(labelled(MANY), resamples=4000).accuracy
    assert accuracy.value is not None
    assert accuracy.low is not None
    assert accuracy.high is not None
    half = 1.96 * float(np.sqrt(accuracy.value * (1 - accuracy.value) / len(MANY)))
    assert accuracy.value - accuracy.low == pytest.approx(half, rel=0.15)
    assert accuracy.high - accuracy.value == pytest.approx(half, rel=0.15)


def test_answers_of_one_conversation_count_as_one() -> None:
    apart = figures(labelled(MANY), resamples=2000).accuracy
    together = [
        Labelled(one.good, one.score, one.passed, str(place // 10)) for place, one in enumerate(labelled(sorted(MANY)))
    ]
    clustered = figures(together, resamples=2000).accuracy
    assert clustered.value == apart.value
    assert (clustered.high or 0) - (clustered.low or 0) > 1.5 * ((apart.high or 0) - (apart.low or 0))


def test_one_cluster_has_no_interval() -> None:
    alone = [Labelled(good=True, score=1.0, passed=True, cluster="c"), Labelled(False, 0.0, False, "c")]
    found = figures(alone)
    assert (found.accuracy.value, found.accuracy.low) == (1.0, None)


def test_large_sets_are_resampled_in_parts() -> None:
    answers = labelled(MANY * 60)
    found = figures(answers, resamples=400)  # more cells than are held at once
    assert found.accuracy.low is not None
    assert found.accuracy.value == figures(labelled(MANY)).accuracy.value


def test_nothing_compared_is_unknown() -> None:
    found = figures([])
    assert (found.n, found.accuracy.value, found.kappa.value) == (0, None, None)


@pytest.mark.parametrize(
    ("votes", "pairs", "agreement"),
    [
        ([], 0, None),
        ([[True], []], 0, None),
        ([[True, True, False]], 3, 1 / 3),
        ([[True, True], [False, False, False]], 4, 1.0),
    ],
)
def test_people_are_compared_pair_by_pair(votes: list[list[bool]], pairs: int, agreement: float | None) -> None:
    found = people_agreement(votes)
    assert (found.pairs, found.agreement) == (pairs, agreement)

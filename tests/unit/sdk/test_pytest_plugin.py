"""The fixture `ragguard_gate`, in pytest runs of its own."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
import scipy.stats

assert scipy.stats  # numpy and SciPy must be there before the runs in this process, which forget what they import

pytest_plugins = ["pytester"]

_INSTALLED = any(each.value == "ragguard.pytest_plugin" for each in entry_points(group="pytest11"))
PLUGIN = () if _INSTALLED else ("-p", "ragguard.pytest_plugin")

TEST = """
    ROWS = [
        {"id": f"s{k}", "question": "Lệ phí thi lại?", "contexts": ["Lệ phí thi lại là 150.000 đồng."],
         "answer": "Lệ phí thi lại là %s đồng."} for k in range(30)
    ]

    def test_app(ragguard_gate):
        evaluation = ragguard_gate(ROWS, judge="offline", metrics=["faithfulness"], %s)
        assert len(evaluation) == 30
"""


def run(pytester: pytest.Pytester, fee: str, settings: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(TEST % (fee, settings))
    return pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider", *options)


RIGHT, WRONG = "150.000", "95.000"


def test_what_holds_passes(pytester: pytest.Pytester) -> None:
    run(pytester, RIGHT, "minima={'faithfulness': 0.9}").assert_outcomes(passed=1)


def test_a_missed_minimum_fails_and_shows_the_samples(pytester: pytest.Pytester) -> None:
    result = run(pytester, WRONG, "minima={'faithfulness': 0.9}, show=2")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "ragguard: the gate does not hold",
            "  - faithfulness is 0.000, its minimum 0.900",
            "  s0  faithfulness 0.000: *",
            "      question: Lệ phí thi lại?",
            "      answer:   Lệ phí thi lại là 95.000 đồng.",
            "  s1  faithfulness 0.000: *",
            "  and 28 more samples under the minimum of faithfulness",
            "note: The offline judge *",
        ]
    )
    assert "Traceback" not in result.stdout.str()


def test_a_baseline_must_be_stored_before_it_can_hold(pytester: pytest.Pytester) -> None:
    settings = "baseline='baselines/fees'"
    result = run(pytester, RIGHT, settings)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["  - there is no baseline in *baselines/fees yet: run pytest with --ragguard-accept*"])
    run(pytester, RIGHT, settings, "--ragguard-accept").assert_outcomes(passed=1)
    assert (pytester.path / "baselines" / "fees" / "run.json").is_file()
    run(pytester, RIGHT, settings).assert_outcomes(passed=1)


def test_a_fall_against_the_baseline_fails_and_says_why(pytester: pytest.Pytester) -> None:
    settings = "baseline='baseline', show=1"
    run(pytester, RIGHT, settings, "--ragguard-accept").assert_outcomes(passed=1)
    before = Path(pytester.path / "baseline" / "run.json").read_bytes()
    result = run(pytester, WRONG, settings)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["  - faithfulness fell by 100.00 points*", "  s?  faithfulness 1.000 -> 0.000  cause: generation"]
    )
    assert Path(pytester.path / "baseline" / "run.json").read_bytes() == before
    run(pytester, WRONG, "baseline='baseline', tolerance=1.0").assert_outcomes(passed=1)


def test_what_misses_its_minimum_is_not_accepted_as_a_baseline(pytester: pytest.Pytester) -> None:
    settings = "baseline='baseline', minima={'faithfulness': 0.9}"
    run(pytester, WRONG, settings, "--ragguard-accept").assert_outcomes(failed=1)
    assert not (pytester.path / "baseline").exists()


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("show=3", "nothing must hold"),
        ("minima={'answer_relevance': 0.9}", "answer_relevance is not among the metrics"),
        ("minima={'latency@p95': 0.9}", "latency@p95 is not among the metrics"),
    ],
)
def test_a_gate_that_could_never_fail_is_an_error(pytester: pytest.Pytester, settings: str, told: str) -> None:
    result = run(pytester, RIGHT, settings)
    result.assert_outcomes(failed=1)
    assert told in result.stdout.str()


def test_what_could_not_be_scored_does_not_hold(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_app(ragguard_gate):
            asked = [{"id": "a", "question": "q?", "contexts": ["x."]}]
            ragguard_gate(asked, [None], judge="offline", metrics="faithfulness", minima={"faithfulness": 0.0})
        """
    )
    result = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["  - faithfulness was scored for none of 1 samples*", "  a  faithfulness not scored: *"]
    )


STORED = """
    ROWS = [
        {"id": f"s{k}", "question": "Lệ phí?", "contexts": ["Lệ phí là 150.000 đồng."], "answer": ANSWER}
        for k, ANSWER in enumerate(%s)
    ]

    def test_app(ragguard_gate):
        ragguard_gate(ROWS, judge="offline", metrics=%s, baseline="baseline", tolerance=1.0)
"""
ANSWERS = ["Lệ phí là 150.000 đồng."] * 24


@pytest.mark.parametrize(
    ("answers", "metrics", "told"),
    [
        ([*ANSWERS[:12], *[None] * 12], ["faithfulness"], "could not be scored*coverage"),
        (ANSWERS, [{"type": "faithfulness"}, {"type": "context_relevance"}], "context_relevance*the metric is new*"),
        (ANSWERS[:12], ["faithfulness"], "only 12 of the baseline's 24 samples*"),
    ],
)
def test_what_cannot_be_compared_does_not_hold(
    pytester: pytest.Pytester, answers: list[str | None], metrics: list[object], told: str
) -> None:
    pytester.makepyfile(STORED % (ANSWERS, ["faithfulness"]))
    options = (*PLUGIN, "-p", "no:cacheprovider")
    pytester.runpytest_inprocess(*options, "--ragguard-accept").assert_outcomes(passed=1)
    pytester.makepyfile(STORED % (answers, metrics))
    result = pytester.runpytest_inprocess(*options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"  - *{told}*"])

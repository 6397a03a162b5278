"""`compare` on evaluations and saved runs, and what an evaluation keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragguard import compare, evaluate
from ragguard.adapters.runfiles import read_run
from ragguard.entrypoints.cli import run_cli
from ragguard.errors import ObjectNotFoundError, RunFileError, UserInputError
from tests.fakes.small_runs import SmallRuns
from tests.unit.sdk.cases import rows


def offline(wrong: int, n: int = 30):  # type: ignore[no-untyped-def]
    return evaluate(rows(n, wrong), judge="offline", metrics="faithfulness")


def test_a_drop_that_is_no_noise_fails_and_names_samples_and_cause() -> None:
    comparison = compare(offline(0), offline(10))
    assert (comparison.outcome, comparison.passed, comparison.exit_code) == ("failed", False, 1)
    assert not comparison
    assert {entry.id for entry in comparison.regressed} == {f"s{k:02d}" for k in range(10)}
    assert comparison.causes == {"generation": 10}
    assert comparison.metrics["faithfulness"].delta == pytest.approx(-1 / 3)
    assert "faithfulness fell by 33.33 points" in comparison.reasons[0]
    assert comparison.to_dict()["outcome"] == "failed"
    assert comparison.to_markdown() == comparison._repr_markdown_()
    assert "s00" in comparison.to_markdown()


def test_the_same_answers_pass_and_differ_by_exactly_nothing() -> None:
    comparison = compare(offline(3), offline(3))
    assert comparison
    assert comparison.outcome == "passed"
    assert comparison.metrics["faithfulness"].delta == 0


def test_tolerance_and_minima_are_the_gate_s() -> None:
    assert compare(offline(0), offline(10), tolerance=0.4)
    comparison = compare(offline(10), offline(10), minima={"faithfulness": 0.9})
    assert comparison.outcome == "failed"
    assert "0" in comparison.reasons[0]


@pytest.mark.parametrize("setting", [{"tolerance": 2.0}, {"minima": {"faithfulness": 90}}, {"minima": {"faith": 0.9}}])
def test_wrong_tolerances_and_minima_are_told(setting: dict[str, object]) -> None:
    with pytest.raises(UserInputError, match="compare\\(\\)"):
        compare(offline(0, 2), offline(0, 2), **setting)  # type: ignore[arg-type]


def test_a_saved_evaluation_is_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = offline(0), offline(10)
    good.save(tmp_path / "good")
    head = bad.save(tmp_path / "bad")
    assert (head.outcome, head.judge_models, head.coverage) == ("warned", ("offline",), 1.0)
    assert list(read_run(tmp_path / "bad").results()) == list(bad.records)
    for base in (good, tmp_path / "good", str(tmp_path / "good" / "run.json")):
        assert compare(base, tmp_path / "bad").outcome == "failed"
    assert run_cli(["compare", str(tmp_path / "good" / "run.json"), str(tmp_path / "bad" / "run.json")]) == 1
    assert run_cli(["explain", str(tmp_path / "bad" / "run.json"), "s00"]) == 0
    assert "95.000" in capsys.readouterr().out


def test_an_evaluation_is_compared_with_a_run_of_the_command(tmp_path: Path) -> None:
    runs = SmallRuns(tmp_path)
    runs.run()
    same = evaluate(tmp_path / "golden.jsonl", tmp_path / "answers.jsonl", judge="offline", metrics=["faithfulness"])
    comparison = compare(runs.output("run-1"), same)
    assert comparison.metrics["faithfulness"].delta == 0
    assert comparison.metrics["faithfulness"].n_pairs == 30


def test_runs_that_share_nothing_or_are_not_there_are_told(tmp_path: Path) -> None:
    other = evaluate(
        {"id": "x", "question": "q?", "answer": "a.", "contexts": ["a."]}, judge="offline", metrics="faithfulness"
    )
    with pytest.raises(RunFileError, match="no sample in common"):
        compare(offline(0, 2), other)
    with pytest.raises(ObjectNotFoundError):
        compare(tmp_path / "nothing", other)
    with pytest.raises(UserInputError, match="a run is a dict"):
        compare({}, other)  # type: ignore[arg-type]

"""`ragguard calibrate`: labels of every kind, agreement, what is left out, the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragguard.app.labels import read_opinions
from ragguard.entrypoints.cli import run_cli
from ragguard.errors import ConfigError, DatasetError
from tests.fakes.small_runs import write_rows

RIGHT, WRONG, VAGUE = "Phí là 150 đồng.", "Phí là 95 đồng.", "Phí khá rẻ."
CASES = [(RIGHT, True), (RIGHT, True), (WRONG, False), (WRONG, False), (VAGUE, False), (WRONG, True)]
"""Answers with what people say: the offline judge catches two bad ones, misses one, and raises one false alarm."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(**label: Any) -> list[dict[str, object]]:
    return [
        {
            "id": f"s{place}", "question": f"Phí {place}?", "contexts": ["Phí là 150 đồng."], "answer": answer,
            "tags": ["a"] if place < 3 else ["b"], **({"human_good": good} | label),
        }
        for place, (answer, good) in enumerate(CASES)
    ]  # fmt: skip


def calibrated(capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert run_cli(["calibrate", "labelled.jsonl", "--judge", "offline", "--json", *options]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_agreement_is_told_overall_and_by_tag(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(folder / "labelled.jsonl", rows())
    found = calibrated(capsys)
    overall = found["overall"]
    assert (overall["n"], overall["caught"], overall["missed"], overall["false_alarms"]) == (6, 2, 1, 1)
    assert overall["accuracy"]["value"] == pytest.approx(4 / 6)
    assert overall["kappa"]["value"] == pytest.approx(1 / 3)
    assert overall["precision"]["value"] == pytest.approx(2 / 3)
    assert (overall["recall"]["value"], overall["f1"]["value"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert overall["auc"]["value"] == pytest.approx(2 / 3)
    assert {tag: one["n"] for tag, one in found["tags"].items()} == {"a": 3, "b": 3}
    assert found["tags"]["a"]["accuracy"]["value"] == 1.0
    assert (found["label"], found["metric"], found["judge_models"]) == ("human_good", "faithfulness", ["offline"])
    assert found["notices"]
    assert [(one["id"], one["people"], one["judge"]) for one in found["disagreements"]] == [
        ("s4", False, True), ("s5", True, False),
    ]  # fmt: skip
    assert found["coverage"] == 1.0


def test_the_text_shows_figures_table_and_disagreements(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(folder / "labelled.jsonl", rows())
    assert run_cli(["calibrate", "labelled.jsonl", "--judge", "offline", "--show", "1", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("note: The offline judge")
    assert "6 answers compared: people call 3 good and 3 bad" in text
    assert "Cohen's kappa             0.33 [" in text
    assert "  people: good                         2           1" in text
    assert "2 disagreements, the 1 furthest from the threshold:" in text
    assert "  s4  people: bad, judge: good (1.00)" in text
    assert "s5  people" not in text


def test_answers_and_labels_may_stand_in_files_of_their_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = rows()
    write_rows(
        folder / "labelled.jsonl",
        [{k: v for k, v in row.items() if k not in {"answer", "human_good"}} for row in whole],
    )
    for name, kept in (("one", whole), ("two", whole[:2])):
        write_rows(folder / f"{name}.jsonl", [{k: row[k] for k in ("id", "answer", "human_good")} for row in kept])
    found = calibrated(capsys, "--answers", "one.jsonl", "--answers", "two.jsonl")
    assert found["overall"]["n"] == 8
    assert {source: one["n"] for source, one in found["sources"].items()} == {"one.jsonl": 6, "two.jsonl": 2}
    assert found["n_without_answer"] == 4


@pytest.mark.parametrize(
    ("votes", "options", "good", "agreement"),
    [
        ([True, True, False], (), True, 1 / 3),
        ([True, False], (), None, 0.0),
        ([4, 3, 1], ("--good-from", "3"), True, 1 / 3),
        ([4, 1, 2], ("--good-from", "2.5"), False, 1 / 3),
        (3, ("--good-from", "3"), True, None),
    ],
)
def test_votes_and_grades_are_labels(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    votes: object,
    options: tuple[str, ...],
    good: bool | None,
    agreement: float | None,
) -> None:
    write_rows(folder / "labelled.jsonl", [*rows(votes=None), {**rows(votes=votes)[0], "id": "x"}])
    code = 0 if good is not None else 4
    found = calibrated(capsys, "--label", "votes", *options, code=code)
    assert (found["overall"]["good"], found["overall"]["bad"]) == (int(good is True), int(good is False))
    assert found["n_unlabelled"] == 6 + (good is None)
    assert found["people"]["agreement"] == (pytest.approx(agreement) if agreement is not None else None)


def test_the_threshold_moves_what_the_judge_calls_good(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = {**rows()[0], "answer": f"{RIGHT} {WRONG}", "id": "half"}
    write_rows(folder / "labelled.jsonl", [*rows(), half])
    assert calibrated(capsys)["overall"]["false_alarms"] == 1
    strict = calibrated(capsys, "--threshold", "0.75")
    assert (strict["overall"]["false_alarms"], strict["threshold"]) == (2, 0.75)


def test_the_configured_judge_and_metric_are_taken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = (
        "pipeline: {dataset: other.jsonl}\njudge: {model: offline}\n"
        "metrics: [{type: context_relevance, threshold: 9, scale: 10}]\n"
    )
    (folder / "ragguard.yaml").write_text(config, encoding="utf-8")
    write_rows(folder / "labelled.jsonl", rows())
    capsys.readouterr()
    assert run_cli(["calibrate", "labelled.jsonl", "--metric", "context_relevance", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["metric"], found["threshold"]) == ("context_relevance", 0.9)


def test_too_little_scored_is_exit_4_and_says_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mood.py").write_text(
        "from typing import ClassVar\nfrom ragguard import Metric\n\n\nclass Mood(Metric):\n    type: str = 'mood'\n"
        "    async def score(self, sample, answer, tools):\n"
        "        if sample.id == 's0':\n            raise RuntimeError('not today')\n        return self.scored(1.0)\n",
        encoding="utf-8",
    )
    write_rows(folder / "labelled.jsonl", rows())
    found = calibrated(capsys, "--metric", "mood:Mood", code=4)
    assert (found["n_failed"], found["overall"]["n"]) == (1, 5)
    assert found["coverage"] == pytest.approx(5 / 6)
    assert found["reasons"] == ["Mood raised RuntimeError: not today"]
    assert found["notices"] == []


def test_what_the_metric_does_not_apply_to_is_left_out_and_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without = {"id": "x", "question": "q?", "answer": "a.", "human_good": True}
    write_rows(folder / "labelled.jsonl", [*rows(), without])
    found = calibrated(capsys)
    assert (found["n_not_applicable"], found["overall"]["n"], found["coverage"]) == (1, 6, 1.0)


@pytest.mark.parametrize(
    ("given", "options", "told"),
    [
        (rows(human_good="yes"), ("--label", "human_good"), 'labelled.jsonl:1: human_good: is "yes"; a label is'),
        (rows(human_good=3), ("--label", "human_good"), "say with --good-from"),
        (rows(), ("--label", "truth"), "no answer has a label 'truth'"),
        (rows(also=True), (), "several could be: human_good, also"),
        ([{**row, "human_good": "x"} for row in rows()], (), "no field holds true and false"),
        (rows(), ("--metric", "latency"), "is several metrics"),
        (rows(), ("--metric", "latency@p95"), "is measured, not judged"),
        (rows(), ("--metric", "faith"), "there is no metric 'faith'"),
        (rows(), ("--threshold", "7"), "--threshold"),
        ([{**row, "question": None} for row in rows()], (), "question"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    given: list[dict[str, object]],
    options: tuple[str, ...],
    told: str,
) -> None:
    write_rows(folder / "labelled.jsonl", given)
    assert run_cli(["calibrate", "labelled.jsonl", "--judge", "offline", *options]) == 2
    assert told in capsys.readouterr().err


def test_without_a_config_a_judge_must_be_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(folder / "labelled.jsonl", rows())
    assert run_cli(["calibrate", "labelled.jsonl"]) == 2
    assert "no config" in capsys.readouterr().err


def test_answers_that_cannot_be_joined_are_named(folder: Path) -> None:
    write_rows(folder / "labelled.jsonl", rows())
    write_rows(
        folder / "more.jsonl", [{"id": "s0", "answer": "x"}, {"id": "s0", "answer": "y"}, {"id": "zz", "answer": "z"}]
    )
    with pytest.raises(DatasetError) as caught:
        read_opinions("labelled.jsonl", ["more.jsonl"], label="human_good")
    assert caught.value.details == ('more.jsonl:2: id: "s0" stands twice', 'more.jsonl:3: id: "zz" is no sample')


def test_several_answers_to_one_question_need_no_ids_of_their_own(folder: Path) -> None:
    write_rows(folder / "labelled.jsonl", [{**row, "id": "same"} for row in rows()])
    assert len(read_opinions("labelled.jsonl").opinions) == 6
    write_rows(folder / "answers.jsonl", [{"id": "same", "answer": "x"}])
    with pytest.raises(DatasetError, match="ids stand twice"):
        read_opinions("labelled.jsonl", ["answers.jsonl"])


def test_an_unclear_label_is_the_user_s_to_clear(folder: Path) -> None:
    write_rows(folder / "labelled.jsonl", rows(human_good=None))
    with pytest.raises(ConfigError, match="not clear"):
        read_opinions("labelled.jsonl")

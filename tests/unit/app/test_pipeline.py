"""The whole job on small data: outcomes, exit codes, what is kept, what is compared with what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragguard.app.render_saved import render_saved
from ragguard.core.report import Report
from ragguard.entrypoints.console import Paint, verdict_lines
from ragguard.errors import ConfigError, DatasetError, ExitCode, StoreError, TargetError, TemplateError
from tests.fakes.small_runs import CONFIG, SmallRuns, answer_rows, golden_rows, write_rows


@pytest.fixture
def runs(tmp_path: Path) -> SmallRuns:
    return SmallRuns(tmp_path)


def test_the_first_run_is_warned_and_becomes_the_baseline(runs: SmallRuns) -> None:
    first = runs.run()
    assert (first.head.outcome, first.exit_code) == ("warned", ExitCode.OK)
    assert "no baseline yet" in first.head.reasons[0]
    assert runs.run().baseline_run_id == "run-1"


def test_the_same_answers_again_cost_nothing_and_differ_by_exactly_nothing(runs: SmallRuns) -> None:
    runs.run()
    again = runs.run()
    assert (again.head.outcome, again.exit_code) == ("passed", ExitCode.OK)
    assert again.head.usage.calls == 0
    assert again.head.usage.carried_calls == 60
    assert [metric.delta for metric in again.head.metrics.values()] == [0, 0]


def test_invented_facts_fail_and_name_the_samples_and_the_cause(runs: SmallRuns) -> None:
    runs.run()
    report = runs.run(wrong=8)
    assert (report.head.outcome, report.exit_code) == ("failed", ExitCode.REGRESSION)
    assert {entry.id for entry in report.head.comparison.regressed} == {f"s{k:03d}" for k in range(8)}
    assert report.head.comparison.causes == {"generation": 8}
    assert all(entry.confirmed for entry in report.head.comparison.regressed)
    assert report.head.metrics["faithfulness"].look == 2


def test_only_changed_answers_are_paid_for(runs: SmallRuns) -> None:
    runs.run()
    usage = runs.run(wrong=8).head.usage
    assert usage.carried_calls == 52
    assert usage.calls - usage.look_calls == 8


def test_a_failed_run_is_no_baseline(runs: SmallRuns) -> None:
    runs.run()
    runs.run(wrong=8)
    third = runs.run(wrong=8)
    assert third.baseline_run_id == "run-1"
    assert third.exit_code == ExitCode.REGRESSION


def test_a_pull_request_reads_the_store_and_never_writes_it(runs: SmallRuns) -> None:
    runs.run()
    assert runs.run(event="pull_request").baseline_run_id == "run-1"
    assert runs.run(event="pull_request").baseline_run_id == "run-1"


def test_a_breach_of_a_floor_fails_without_a_baseline(runs: SmallRuns) -> None:
    report = runs.run(wrong=15, overrides={"slo.faithfulness_min": 0.9})
    assert (report.head.outcome, report.exit_code) == ("failed", ExitCode.REGRESSION)
    assert "90" in report.head.reasons[0]
    assert runs.run().baseline_run_id is None


def test_a_worse_retriever_is_blamed_on_retrieval(runs: SmallRuns) -> None:
    runs.run()
    rows = answer_rows()
    for row in rows[:12]:
        row["contexts"] = [{"id": "x", "text": "The library opens at nine. Thư viện mở cửa. 图书馆开门。"}]
    write_rows(runs.folder / "answers.jsonl", rows)
    report = runs.run_as_it_is()
    assert report.exit_code == ExitCode.REGRESSION
    assert set(report.head.comparison.causes) == {"retrieval"}


def test_added_removed_and_changed_samples_are_listed_and_not_paired(tmp_path: Path) -> None:
    runs = SmallRuns(tmp_path, n=60)
    runs.run()
    rows = golden_rows(60)
    rows[0]["reference"] = "another reference"
    extra = {**rows[-1], "id": "new", "question": "What else?"}
    write_rows(runs.folder / "golden.jsonl", [*rows[:-1], extra])
    answers = answer_rows(60)
    write_rows(runs.folder / "answers.jsonl", [*answers[:-1], {**answers[-1], "id": "new"}])
    report = runs.run_as_it_is()
    comparison = report.head.comparison
    assert comparison.added.first == ("new",)
    assert comparison.removed.first == ("s059",)
    assert comparison.changed.first == ("s000",)
    assert report.head.metrics["faithfulness"].n_pairs == 58


def test_another_data_set_is_not_comparable_and_blocks_a_pull_request_only(runs: SmallRuns) -> None:
    runs.run()
    rows = [{**row, "question": f"{row['question']} (v2)"} for row in golden_rows()]
    write_rows(runs.folder / "golden.jsonl", rows)
    assert runs.run_as_it_is(event="pull_request").exit_code == ExitCode.INCONCLUSIVE
    report = runs.run_as_it_is(event="push")
    assert (report.head.outcome, report.exit_code) == ("not_comparable", ExitCode.OK)


def test_a_changed_prompt_judges_the_baseline_again_and_stays_comparable(runs: SmallRuns) -> None:
    runs.run()
    config = CONFIG.replace(
        "[faithfulness, context_relevance]", "[{type: answer_relevance, strictness: 2}, faithfulness]"
    )
    report = runs.run(config=config)
    assert report.head.metrics["answer_relevance"].outcome == "passed"
    assert report.head.metrics["answer_relevance"].n_pairs == 30
    assert "answer_relevance" in report.head.comparison.rescored


def test_without_stored_texts_a_new_metric_is_not_comparable(runs: SmallRuns) -> None:
    runs.run(config=CONFIG + "reporting: {store_text: false}\n")
    config = CONFIG.replace("context_relevance]", "answer_relevance]")
    report = runs.run(config=config)
    assert report.head.metrics["answer_relevance"].outcome == "not_comparable"
    assert "keeps no texts" in report.head.metrics["answer_relevance"].reason


def test_run_json_is_the_same_for_the_same_thing_but_for_time_and_usage(runs: SmallRuns, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    reports = [runs.run(), SmallRuns(tmp_path / "other").run()]
    left, right = (report.head.model_dump(mode="json") for report in reports)
    for head in (left, right):
        for field in ("execution", "usage", "created_at"):
            del head[field]
        head["dataset"].pop("uri")
    assert left == right


def test_the_output_folder_holds_the_whole_run(runs: SmallRuns) -> None:
    runs.run()
    report = runs.run(wrong=8)
    folder = runs.output("run-2")
    assert {path.name for path in folder.iterdir()} == {"run.json", "samples.jsonl", "report.md", "report.json"}
    document = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert document["baseline_run_id"] == "run-1"
    assert document["regressed_samples"][0].keys() >= {"id", "metric", "before", "after", "cause", "confirmed"}
    lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    sides = [json.loads(line)["side"] for line in lines]
    assert sides.count("candidate") >= 30
    assert report.head.samples is not None
    assert report.head.samples.count == len(lines)


def test_the_offline_judge_says_what_it_is_in_the_first_lines(runs: SmallRuns) -> None:
    runs.run()
    first_lines = (runs.output("run-1") / "report.md").read_text(encoding="utf-8")[:1500]
    assert "not a faithfulness judge" in first_lines


def test_no_selected_sample_is_an_error_not_a_pass(runs: SmallRuns) -> None:
    with pytest.raises(DatasetError, match="none of the 30 samples is selected"):
        runs.run(overrides={"pipeline.filter": {"tags": ["fr"]}})


def test_a_missing_answer_is_named(runs: SmallRuns) -> None:
    write_rows(runs.folder / "answers.jsonl", answer_rows()[:-1])
    with pytest.raises(DatasetError) as caught:
        runs.run_as_it_is()
    assert "s029" in str(caught.value)


def test_a_pinned_run_is_compared_with_as_well(runs: SmallRuns) -> None:
    """Five drops that pass one by one do not pass together."""
    runs.run()
    config = CONFIG.replace("0.02", "0.10")
    for wrong in (2, 4):
        assert runs.run(wrong=wrong, config=config).exit_code == ExitCode.OK
    drifting = runs.run(wrong=6, config=config)
    assert drifting.exit_code == ExitCode.OK
    pinned = runs.run(wrong=6, config=config + "baseline: {pin: run-1}\n")
    assert pinned.exit_code == ExitCode.REGRESSION
    assert any("pinned" in reason for reason in pinned.head.reasons)
    told = pinned.head.pinned
    assert told is not None
    assert (told.run_id, told.metrics["faithfulness"].outcome, pinned.head.exit_code) == ("run-1", "failed", 1)
    assert pinned.head.metrics["faithfulness"].outcome == "passed"
    assert drifting.head.pinned is None
    # Every report has a failed line, and says which comparison it is.
    saved = str(runs.output("run-5") / "run.json")
    row = "| `faithfulness` beside the pinned run `run-1` | 80.0 % | 100.0 % | −20.00 points"
    assert row in render_saved(saved, "markdown").decode()
    assert "# ❌ Failed: faithfulness got worse" in render_saved(saved, "markdown").decode()
    assert "| Exit code | 1 |" in render_saved(saved, "markdown").decode()
    assert "beside the pinned run run-1" in render_saved(saved, "html").decode()
    assert '<failure message="faithfulness fell by 20.00 points' in render_saved(saved, "junit").decode()
    assert json.loads(render_saved(saved, "json"))["exit_code"] == 1
    assert any(
        line.startswith("  faithfulness beside pinned run-1") and line.endswith("failed")
        for line in verdict_lines(pinned, Paint(enabled=False))
    )


def test_a_pin_that_does_not_exist_is_the_users_mistake(runs: SmallRuns) -> None:
    runs.run()
    with pytest.raises(ConfigError, match="no-such-run"):
        runs.run(config=CONFIG + "baseline: {pin: no-such-run}\n")


def test_a_store_that_cannot_be_read_is_no_empty_store(runs: SmallRuns, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the store's folder should be", encoding="utf-8")
    with pytest.raises(StoreError):
        runs.run(overrides={"reporting.sink": str(blocked)})


def test_every_metric_not_applicable_is_an_error(runs: SmallRuns) -> None:
    rows = [{key: value for key, value in row.items() if key != "contexts"} for row in golden_rows()]
    write_rows(runs.folder / "golden.jsonl", rows)
    report = runs.run(config=CONFIG)
    assert (report.head.outcome, report.exit_code) == ("error", ExitCode.USER_INPUT)


def test_a_dataset_override_is_never_accepted_by_itself(runs: SmallRuns) -> None:
    runs.run(dataset_overridden=True)
    assert runs.run().baseline_run_id is None


def test_a_smaller_budget_compares_with_the_full_baseline(runs: SmallRuns) -> None:
    runs.run()
    report = runs.run(overrides={"pipeline.sample_budget": 24}, event="pull_request")
    assert report.head.outcome == "passed"
    assert report.head.metrics["faithfulness"].n_pairs == 24


def test_the_threshold_rule_is_the_bare_rule(runs: SmallRuns) -> None:
    runs.run()
    report = runs.run(wrong=1, config=CONFIG + "gate: {rule: threshold}\n")
    assert report.exit_code == ExitCode.REGRESSION
    assert report.head.metrics["faithfulness"].look == 1


def test_a_broken_template_of_the_user_is_named(runs: SmallRuns) -> None:
    (runs.folder / "mine" / "judge").mkdir(parents=True)
    (runs.folder / "mine" / "report.md.j2").write_text("{{ nonsense", encoding="utf-8")
    with pytest.raises(TemplateError, match=r"report\.md\.j2"):
        runs.run(overrides={"templates": "mine"})


APP = """
calls = {}
def answer(question):
    calls[question] = calls.get(question, 0) + 1
    return question + (" It is 9876543." if WORSE and calls[question] in WHEN else "")
"""


def live(runs: SmallRuns, *, worse: bool, when: str, reanswer: bool) -> Report:
    """Runs a live app that invents a fact at some of its calls for a question."""
    name = f"app_{worse}_{reanswer}_{runs.count}_{len(when)}"
    (runs.folder / f"{name}.py").write_text(f"WORSE, WHEN = {worse}, {when}\n{APP}", encoding="utf-8")
    target = {"type": "python", "callable": f"{name}:answer", "folder": str(runs.folder)}
    changes = {"pipeline.answers": None, "pipeline.target": target}
    config = CONFIG + f"gate: {{reanswer: {str(reanswer).lower()}, on_inconclusive: warn}}\n"
    return runs.run_as_it_is(config=config, overrides=changes)


def test_a_bad_answer_that_does_not_come_again_is_forgiven_when_looks_ask_anew(runs: SmallRuns) -> None:
    live(runs, worse=False, when="()", reanswer=True)
    unlucky = live(runs, worse=True, when="(1,)", reanswer=True)
    assert unlucky.head.metrics["faithfulness"].look > 1
    assert unlucky.head.outcome == "passed"
    judged_as_it_was = live(runs, worse=True, when="(1,)", reanswer=False)
    assert judged_as_it_was.exit_code == ExitCode.REGRESSION


def test_a_drop_that_comes_again_fails_with_new_answers_too(runs: SmallRuns) -> None:
    live(runs, worse=False, when="()", reanswer=True)
    assert live(runs, worse=True, when="range(99)", reanswer=True).exit_code == ExitCode.REGRESSION


def test_nothing_but_blank_answers_is_an_outage_and_some_are_said(runs: SmallRuns) -> None:
    rows: list[dict[str, object]] = [{**row, "answer": " \n"} for row in answer_rows()]
    write_rows(runs.folder / "answers.jsonl", rows)
    with pytest.raises(TargetError, match="every one of the 30 answers is blank"):
        runs.run_as_it_is()
    write_rows(runs.folder / "answers.jsonl", [*rows[:2], *answer_rows()[2:]])
    assert "2 of 30 answers are blank" in " ".join(runs.run_as_it_is().head.notices)

"""Whole steps of the action, in this process, against a small GitHub: outcome, outputs, summary, comment and check."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ragguard.entrypoints.action import run_action
from ragguard.entrypoints.action_outputs import output_lines, write_outputs
from ragguard.errors import ConfigError, ExitCode, OutsideWorldError, UserInputError
from tests.fakes.action_runner import Runner, read_outputs
from tests.fakes.small_runs import CONFIG, golden_rows, write_rows
from tests.parts.github_code import GitHubWithCode
from tests.parts.github_rules import SHA

STRICT = CONFIG.replace("{regression_tolerance: 0.02}", "{regression_tolerance: 0.02, faithfulness_min: 0.99}")
LOOSE = CONFIG.replace("{regression_tolerance: 0.02}", "{regression_tolerance: 1, faithfulness_min: 0.0}")


@pytest.fixture(autouse=True)
def base(github: GitHubWithCode) -> None:
    """The base branch's ragguard.yaml, and a pull request to comment on."""
    github.code.files["main"] = {"ragguard.yaml": CONFIG.encode()}
    while github.add_pull_request() < 12:
        pass


def test_a_push_is_stored_and_the_next_one_is_compared_with_it(runner: Runner) -> None:
    first = runner.step("push_default_branch")
    assert (first.exit_code, first.outputs["outcome"], first.outputs["baseline-run-id"]) == (0, "warned", "")
    second = runner.step("push_default_branch")
    assert (second.exit_code, second.outputs["outcome"]) == (0, "passed")
    assert second.outputs["baseline-run-id"] == first.outputs["run-id"]
    assert second.outputs["faithfulness"] == "1.0"
    assert json.loads(second.outputs["metrics"])["faithfulness"] == 1.0
    assert second.outputs["report-markdown"] == ".ragguard/out/report.md"
    assert second.outputs["report-html"] == ""
    assert "Passed" in second.summary


def test_the_same_attempt_again_is_the_same_run_and_is_stored_once(runner: Runner) -> None:
    environment = runner.environment("push_default_branch")
    assert run_action(environment) == run_action(environment) == 0
    assert len(list((runner.workspace / ".ragguard/runs").rglob("run.json"))) == 1


def test_a_worse_pull_request_fails_and_is_told_on_its_head_not_on_the_trial_merge(
    runner: Runner, github: GitHubWithCode
) -> None:
    runner.step("push_default_branch")
    runner.answer(wrong=8)
    step = runner.step("pull_request_same_repository")
    assert (step.exit_code, step.outputs["outcome"], step.outputs["exit-code"]) == (1, "failed", "1")
    (check,) = github.repositories["acme/tutor"].checks
    assert (check["head_sha"], check["conclusion"]) == (SHA, "failure")
    (comment,) = github.repositories["acme/tutor"].comments
    assert comment["issue"] == 12


def test_a_pull_request_cannot_loosen_its_own_gate(runner: Runner, github: GitHubWithCode) -> None:
    github.code.files["main"] = {"ragguard.yaml": STRICT.encode()}
    runner.configure(LOOSE)
    runner.answer(wrong=8)
    step = runner.step("pull_request_same_repository")
    assert step.exit_code == ExitCode.REGRESSION
    assert step.report is not None
    assert "slo.faithfulness_min: 0.99 → 0.0" in "\n".join(step.report["notices"][:2])
    assert "in force after the merge" in step.report["notices"][0]
    assert runner.step("pull_request_same_repository", policy_source="head").exit_code == 0


def test_a_fork_runs_without_secrets_and_leaves_comment_and_check_to_others(
    runner: Runner, github: GitHubWithCode
) -> None:
    runner.step("push_default_branch")
    step = runner.step("pull_request_fork")
    assert step.exit_code == 0
    assert step.report is not None
    assert {sent["notifier"] for sent in step.report["deliveries"]} <= {"job-summary", "annotations"}
    assert not github.repositories["acme/tutor"].comments


def test_a_fork_that_cannot_be_judged_without_secrets_is_no_pass_and_says_what_helps(
    runner: Runner, github: GitHubWithCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = CONFIG.replace("{model: offline}", "{model: openai/x, api_base: 'http://127.0.0.1:9/v1', timeout: 1}", 1)
    github.code.files["main"] = {"ragguard.yaml": text.encode()}
    runner.configure(text)
    step = runner.step("pull_request_fork")
    assert (step.exit_code, step.outputs["outcome"]) == (ExitCode.OUTSIDE_WORLD, "error")
    assert step.report is not None
    assert "label `ragguard`" in step.report["notices"][0]


def test_a_store_that_needs_secrets_says_to_a_fork_what_helps(
    runner: Runner, github: GitHubWithCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    text = CONFIG + "reporting: {sink: 's3://nobody/runs'}\n"
    github.code.files["main"] = {"ragguard.yaml": text.encode()}
    runner.configure(text)
    with pytest.raises(OutsideWorldError, match="label `ragguard`"):
        runner.step("pull_request_fork")


def test_a_labelled_fork_takes_everything_from_the_base_and_never_runs_code(
    runner: Runner, github: GitHubWithCode
) -> None:
    runner.configure("this is: [not even yaml")
    step = runner.step("pull_request_target_labelled")
    assert step.exit_code == 0
    for target in ("{type: command, command: [sh, -c, 'touch pwned']}", "{type: python, callable: 'evil:answer'}"):
        changed = CONFIG.replace("{dataset: golden.jsonl}", f"{{dataset: golden.jsonl, target: {target}}}")
        github.code.files["main"] = {"ragguard.yaml": changed.encode()}
        with pytest.raises(ConfigError, match="stranger"):
            runner.step("pull_request_target_labelled", answers="")
    own = CONFIG.replace("[faithfulness, context_relevance]", "['evil:Metric']")
    github.code.files["main"] = {"ragguard.yaml": own.encode()}
    (runner.workspace / "evil.py").write_text("open('pwned', 'w')", encoding="utf-8")
    with pytest.raises(ConfigError, match="1 mistake") as told:
        runner.step("pull_request_target_labelled")
    assert "stranger" in str(told.value)
    assert not (runner.workspace / "pwned").exists()


def test_a_strangers_file_is_no_way_to_another_file(runner: Runner, github: GitHubWithCode) -> None:
    secret = runner.files / "secret"
    secret.write_text('{"id": "s000", "answer": "a secret"}', encoding="utf-8")
    (runner.workspace / "untrusted").mkdir()
    (runner.workspace / "untrusted" / "answers.jsonl").symlink_to(secret)
    with pytest.raises(ConfigError, match="is a link"):
        runner.step("pull_request_target_labelled", answers="untrusted/answers.jsonl")
    with pytest.raises(ConfigError, match="is a link"):
        runner.step("workflow_run_of_a_fork", report="untrusted/answers.jsonl")


def test_fail_on_overrides_the_config_and_a_regression_always_fails(runner: Runner) -> None:
    assert runner.step("push_default_branch", fail_on="no-baseline").exit_code == ExitCode.INCONCLUSIVE
    assert runner.step("push_default_branch", fail_on="regression").exit_code == 0
    runner.answer(wrong=8)
    assert runner.step("push_default_branch", fail_on="regression").exit_code == ExitCode.REGRESSION
    write_rows(runner.workspace / "golden.jsonl", [{**row, "question": "new?"} for row in golden_rows()])
    runner.answer()
    assert runner.step("pull_request_same_repository").exit_code == ExitCode.INCONCLUSIVE
    assert runner.step("pull_request_same_repository", fail_on="inconclusive").exit_code == 0


def test_comment_check_and_issue_can_be_switched(runner: Runner, github: GitHubWithCode) -> None:
    things = github.repositories["acme/tutor"]
    runner.step("pull_request_same_repository", comment="false", check="false")
    assert (things.comments, things.checks) == ([], [])
    runner.step("push_default_branch")
    runner.answer(wrong=8)
    runner.step("push_default_branch", issue="true")
    assert [issue["title"] for issue in things.issues.values() if "pull_request" not in issue]


def test_an_input_beats_the_config_and_an_option_of_args(runner: Runner) -> None:
    step = runner.step("push_default_branch", sample_budget="5", args="--sample-budget 7 --suite other --output here")
    assert step.report is not None
    assert step.report["dataset"]["n_selected"] == 5
    assert step.report["suite"] == "other"
    assert step.outputs["report-json"] == "here/report.json"


def test_a_data_set_given_by_hand_is_no_baseline_unless_promoted(runner: Runner) -> None:
    first = runner.step("workflow_dispatch", dataset="golden.jsonl")
    assert runner.step("workflow_dispatch").outputs["baseline-run-id"] == ""
    promoted = runner.step("workflow_dispatch", dataset="golden.jsonl", promote="true")
    assert first.outputs["run-id"] != promoted.outputs["run-id"]
    assert runner.step("workflow_dispatch").outputs["baseline-run-id"] == promoted.outputs["run-id"]


def test_a_pull_request_is_never_promoted(runner: Runner) -> None:
    with pytest.raises(ConfigError, match="never a baseline"):
        runner.step("pull_request_same_repository", promote="true")


def test_a_suite_in_a_folder_of_its_own(runner: Runner) -> None:
    folder = runner.workspace / "apps" / "tutor"
    folder.mkdir(parents=True)
    for name in ("golden.jsonl", "answers.jsonl", "ragguard.yaml"):
        (runner.workspace / name).rename(folder / name)
    step = runner.step("push_default_branch", working_directory="apps/tutor")
    assert step.outputs["report-json"] == "apps/tutor/.ragguard/out/report.json"


@pytest.mark.parametrize(
    ("inputs", "named"),
    [
        ({"sample_budget": "many"}, "input `sample-budget`: `many` is no whole number"),
        ({"sample_budget": "0"}, "input `sample-budget`"),
        ({"comment": "maybe"}, "input `comment`: `maybe` is neither true nor false"),
        ({"fail_on": "regresion"}, "names `regresion`, which is none of .*did you mean `regression`"),
        ({"policy_source": "main"}, "input `policy-source`: `main` is none of base, head"),
        ({"issue": "just-a-name"}, "input `issue`"),
        ({"report_url": "javascript:alert(1)"}, "input `report-url`"),
        ({"datset": "x"}, "input `datset` is not known; did you mean `dataset`"),
        ({"args": "--datset x"}, "input `args`: No such option"),
        ({"args": "'unclosed"}, "input `args`"),
        ({"args": "--help"}, "input `args`"),
        ({"working_directory": "nowhere"}, "input `working-directory`: nowhere"),
    ],
)
def test_a_wrong_input_names_itself(runner: Runner, inputs: dict[str, str], named: str) -> None:
    environment = runner.environment("push_default_branch", **inputs)
    with pytest.raises(UserInputError) as told:
        run_action(environment)
    assert re.search(named, str(told.value))
    outputs = runner.left(environment, 2).outputs
    assert (outputs["outcome"], outputs["exit-code"]) == ("error", "2")


def test_no_secret_is_in_a_wrong_inputs_message(runner: Runner) -> None:
    environment = {**runner.environment("push_default_branch"), "INPUT_GITHUB-TOKEN": "ghs_secret", "INPUT_CHECK": "x"}
    with pytest.raises(UserInputError) as told:
        run_action(environment)
    assert "ghs_secret" not in str(told.value)


def test_an_error_is_an_annotation_that_no_text_breaks_out_of(
    runner: Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError):
        runner.step("push_default_branch", config="no\n::set-output name=outcome::passed\n.yaml")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.lstrip().startswith("::")]
    assert len(lines) == 1
    assert lines[0].startswith("::error title=ragguard::")


def test_outputs_hold_whatever_a_value_holds(runner: Runner) -> None:
    environment = runner.environment("push_default_branch")
    write_outputs(environment, {"outcome": "failed\nragguard-00\noutcome<<x\npassed\nx"})
    found = read_outputs(Path(environment["GITHUB_OUTPUT"]))
    assert list(found) == ["outcome"]
    assert output_lines({"a": "1"}, "d") == "a<<d\n1\nd\n"


def test_without_a_runner_outputs_go_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_outputs({}, {"outcome": "passed"})
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr() == ("", "")

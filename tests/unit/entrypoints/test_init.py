"""`ragguard init`: works at once, asks nothing, changes nothing twice, and its workflows are the templates'."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from ragguard.app.scaffold import Plan, config_text, scaffold, workflow_text
from ragguard.entrypoints.cli import run_cli

WORKFLOWS = ("ragguard-comment.yml", "ragguard-manual.yml", "ragguard-nightly.yml", "ragguard-pr.yml")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository whose default branch is called trunk."""
    for command in (["init", "-q", "-b", "trunk"], ["remote", "add", "origin", "git@github.com:acme/tutor.git"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts[:-1])
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in found if ".git/" not in path.as_posix()
    }  # fmt: skip


def test_init_then_validate_then_run_are_green(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["init"]) == 0
    assert run_cli(["validate"]) == 0
    assert run_cli(["run", "--quiet"]) == 0
    assert "data set: good" in capsys.readouterr().out
    text = (repository / "ragguard.yaml").read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=./.github/ragguard.schema.json\n")
    assert "create_issue: acme/tutor" in text
    assert sorted(path.name for path in (repository / ".github/workflows").iterdir()) == sorted(WORKFLOWS)
    assert 'branches: ["trunk"]' in (repository / ".github/workflows/ragguard-pr.yml").read_text(encoding="utf-8")


def test_the_schema_is_where_the_config_says(repository: Path) -> None:
    run_cli(["init"])
    assert (repository / ".github" / "ragguard.schema.json").read_text(encoding="utf-8").startswith("{")


def test_a_second_time_changes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_cli(["init"])
    before = files(repository)
    assert run_cli(["init"]) == 0
    assert files(repository) == before
    assert "written" not in capsys.readouterr().out.rpartition("next:")[0].partition("next:")[2]


def test_what_is_there_stays_unless_it_is_forced(repository: Path) -> None:
    run_cli(["init"])
    mine = repository / "ragguard.yaml"
    workflow = repository / ".github/workflows/ragguard-pr.yml"
    mine.write_text("pipeline: {dataset: mine.jsonl}\n", encoding="utf-8")
    workflow.write_text("name: mine\n", encoding="utf-8")
    (repository / "golden.jsonl").unlink()
    run_cli(["init"])
    assert mine.read_text(encoding="utf-8") == "pipeline: {dataset: mine.jsonl}\n"
    assert workflow.read_text(encoding="utf-8") == "name: mine\n"
    assert not (repository / "golden.jsonl").exists()
    run_cli(["init", "--force"])
    assert "golden.jsonl" in mine.read_text(encoding="utf-8")
    assert workflow.read_text(encoding="utf-8") != "name: mine\n"


def test_a_link_out_of_the_repository_is_not_followed(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "precious"
    (repository / "golden.jsonl").symlink_to(outside)
    run_cli(["init"])
    assert not outside.exists()


def test_without_git_it_works_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    assert run_cli(["init"]) == 0
    assert run_cli(["validate"]) == 0


def test_a_folder_of_a_larger_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "apps" / "tutor").mkdir(parents=True)
    monkeypatch.chdir(repository / "apps" / "tutor")
    assert run_cli(["init"]) == 0
    assert run_cli(["validate"]) == 0
    text = (repository / ".github/workflows/ragguard-pr.yml").read_text(encoding="utf-8")
    steps = {step.get("name"): step for step in yaml.safe_load(text)["jobs"]["gate"]["steps"]}
    assert steps["Gate"]["with"]["working-directory"] == "apps/tutor"
    assert steps["Keep the reports"]["with"]["path"] == "apps/tutor/.ragguard/out"
    assert steps["Keep the verdicts"]["with"]["path"] == "apps/tutor/.ragguard/cache.sqlite"
    assert "hashFiles('apps/tutor/.ragguard/cache.sqlite')" in steps["Keep the verdicts"]["if"]
    schema = (repository / "apps/tutor/ragguard.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert schema == "# yaml-language-server: $schema=../../.github/ragguard.schema.json"
    fork = workflow_text("ragguard-fork.yml", Plan(folder="apps/tutor"))
    gate = yaml.safe_load(fork)["jobs"]["gate"]["steps"][-1]["with"]
    assert gate == {"working-directory": "apps/tutor", "answers": "../../untrusted/answers.jsonl"}


def test_a_real_judge_brings_its_key_and_the_embedder() -> None:
    plan = Plan(judge="openai/some-model")
    text = workflow_text("ragguard-pr.yml", plan)
    gate = yaml.safe_load(text)["jobs"]["gate"]
    assert "embedder" in gate["services"]
    env = next(step for step in gate["steps"] if step.get("name") == "Gate")["env"]
    assert env["OPENAI_API_KEY"] == "${{ secrets.OPENAI_API_KEY }}"
    assert "ANTHROPIC" not in text
    assert yaml.safe_load(config_text(plan))["embedder"]["model"] == "bge-m3"


def test_an_offline_judge_needs_neither() -> None:
    for name in WORKFLOWS:
        text = workflow_text(name, Plan())
        assert "embedder" not in text.lower()
        assert "ANTHROPIC" not in text
        job = next(iter(yaml.safe_load(text)["jobs"].values()))
        assert all(step.get("env", {}) is not None for step in job["steps"])


@pytest.mark.parametrize("judge", ["offline", "anthropic/claude-opus-4.7"])
@pytest.mark.parametrize("folder", ["", "apps/tutor"])
def test_every_file_is_valid_yaml(judge: str, folder: str) -> None:
    plan = Plan(judge=judge, folder=folder, branch="release/2.x", forks=True, action="acme/ragguard@v1")
    for name, text in scaffold(plan):
        if name.endswith((".yml", ".yaml")):
            data = yaml.safe_load(text)
            assert data
        if "workflows" in name:
            assert "acme/ragguard@v1" in text
            assert "ragguard/ragguard@v1" not in text


def test_names_from_outside_cannot_break_out_of_the_config() -> None:
    plan = Plan(suite='x"\njudge: {model: evil}\n#', dataset="s3://b/k: {y", judge="a/b #c")
    data = yaml.safe_load(config_text(plan))
    assert data["suite"] == 'x"\njudge: {model: evil}\n#'
    assert data["pipeline"]["dataset"] == "s3://b/k: {y"
    assert data["judge"]["model"] == "a/b #c"


def test_a_wrong_action_is_refused(repository: Path) -> None:
    assert run_cli(["init", "--action", "acme/ragguard@v1\n- run: evil"]) == 2
    assert not (repository / ".github").exists()

"""action.yml, the entrypoint, the documentation and the workflows speak of the same inputs, outputs and versions."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

import ragguard
from ragguard.app.scaffold import ACTION, FOR_FORKS, WORKFLOWS
from ragguard.core.metrics import KNOWN
from ragguard.entrypoints.action_inputs import BLOCKERS, NAMES, Inputs, read_inputs
from ragguard.entrypoints.action_outputs import FIXED, output_name

ROOT = Path(__file__).parents[3]
ACTION_YML: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
DOCS = (ROOT / "docs" / "action.md").read_text(encoding="utf-8")
WORKFLOW_FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml")) + sorted(
    (ROOT / "templates/workflows").glob("*")
)
USES = re.compile(r"uses: (?P<action>[\w./-]+)@(?P<ref>\S+)(?: # (?P<note>.*))?")


def table(heading: str) -> dict[str, list[str]]:
    """The first table under a heading of docs/action.md: the cells of each row by its first cell."""
    section = DOCS.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}


def test_every_input_is_read_and_every_input_read_is_declared() -> None:
    assert list(ACTION_YML["inputs"]) == list(NAMES)


def test_the_declared_defaults_are_the_entrypoints() -> None:
    declared = {
        f"INPUT_{name.upper()}": str(entry["default"])
        for name, entry in ACTION_YML["inputs"].items()
        if name != "github-token"
    }
    assert read_inputs(declared) == Inputs()
    for field in fields(Inputs):
        assert ACTION_YML["inputs"][field.name.replace("_", "-")].get("required", False) is False


def test_the_documentation_lists_every_input_with_its_default_and_words() -> None:
    rows = table("Inputs")
    assert list(rows) == list(ACTION_YML["inputs"])
    for name, entry in ACTION_YML["inputs"].items():
        shown, words = rows[name]
        assert shown.strip("`") == (str(entry["default"]) or "none")
        assert words == entry["description"]


def test_the_documentation_lists_every_output() -> None:
    rows = table("Outputs")
    assert list(rows) == list(ACTION_YML["outputs"])
    for name, entry in ACTION_YML["outputs"].items():
        assert rows[name] == [entry["description"]]


def test_the_declared_outputs_are_those_that_are_written() -> None:
    names = list(ACTION_YML["outputs"])
    assert names[: len(FIXED)] == sorted(FIXED, key=names.index)
    assert set(FIXED) <= set(names)
    assert set(names) - set(FIXED) <= set(KNOWN)


def test_outputs_of_metrics_have_names_that_a_workflow_can_write() -> None:
    for metric in ("ndcg@10", "audit.citation_accuracy", "rubric:Giọng văn", "latency@p95", "own metric"):
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", output_name(metric))
    assert output_name("ndcg@10") == "ndcg_at_10"
    assert not {output_name(name) for name in KNOWN} & set(FIXED)


def test_every_blocker_is_told() -> None:
    for word in BLOCKERS:
        assert word in ACTION_YML["inputs"]["fail-on"]["description"]


def test_the_container_is_started_with_our_own_command() -> None:
    assert ACTION_YML["runs"] == {"using": "docker", "image": "Dockerfile", "args": ["action"]}


def test_the_versions_are_the_same() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert project == ragguard.__version__
    major = project.partition(".")[0]
    assert ACTION.endswith("@v1") or int(major) > 1
    assert f"[{project}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8") or "Unreleased" in (
        ROOT / "CHANGELOG.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", WORKFLOW_FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_actions_are_pinned_by_commit_with_the_version_beside_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = list(USES.finditer(text))
    assert found or "uses: ./" in text
    for use in found:
        if use["action"] == ACTION.partition("@")[0]:
            assert f"{use['action']}@{use['ref']}" == ACTION
            continue
        assert re.fullmatch(r"[0-9a-f]{40}", use["ref"]), use.group()
        assert re.match(r"v\d+\.\d+\.\d+", use["note"] or ""), use.group()


def test_one_action_has_one_pin_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for path in WORKFLOW_FILES:
        for use in USES.finditer(path.read_text(encoding="utf-8")):
            action = "/".join(use["action"].split("/")[:2])
            if action != ACTION.partition("@")[0]:
                pins.setdefault(action, set()).add(f"{use['ref']} {use['note']}")
    assert {action: len(found) for action, found in pins.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOW_FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_permissions_are_given_to_jobs_and_no_more_than_named(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert isinstance(job["permissions"], dict)
        assert job["timeout-minutes"]


@pytest.mark.parametrize("path", WORKFLOW_FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_workflows_use_inputs_that_there_are(path: Path) -> None:
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
        for step in job.get("steps", ()):
            if step.get("uses", "").startswith((ACTION.partition("@")[0], "./")):
                assert set(step.get("with", {})) <= set(ACTION_YML["inputs"])


def test_the_templates_are_those_that_init_writes() -> None:
    names = {path.name for path in (ROOT / "templates" / "workflows").iterdir()}
    assert names == {*WORKFLOWS, FOR_FORKS}


@pytest.mark.parametrize("name", [*WORKFLOWS, FOR_FORKS])
def test_the_documentation_shows_each_workflow_as_it_is(name: str) -> None:
    shown = re.search(rf"<!-- templates/workflows/{re.escape(name)} -->\n\n```yaml\n(.*?)```", DOCS, re.DOTALL)
    assert shown is not None
    assert shown[1] == (ROOT / "templates" / "workflows" / name).read_text(encoding="utf-8")


def test_every_block_of_yaml_in_the_documentation_can_be_read() -> None:
    for block in re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL):
        assert yaml.safe_load(block) is not None

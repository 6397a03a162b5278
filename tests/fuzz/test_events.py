"""GitHub's events: names and numbers of any kind are read for what they are, and no change sets its own policy free."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from ragguard.adapters.stores.names import time_name
from ragguard.core.policy import GatePolicy
from ragguard.entrypoints.action import read_payload
from ragguard.entrypoints.action_inputs import NAMES, further_options, read_inputs
from ragguard.entrypoints.github_context import CHANGES, GitHubContext, ci_run_id, github_context
from ragguard.entrypoints.policy_source import PolicySource
from tests.fakes.action_runner import PAYLOADS
from tests.fuzz.harness import attempt, fuzzed, scratch
from tests.fuzz.mutations import as_json, broken, broken_bytes, texts
from tests.unit.adapters.renderers.reading import controls

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CASES: list[dict[str, Any]] = [json.loads(path.read_bytes()) for path in sorted(PAYLOADS.glob("*.json"))]
BASE = b"pipeline: {dataset: golden.jsonl, answers: a.jsonl}\njudge: {model: offline}\nmetrics: [faithfulness]\n"
LOOSE = BASE + b"slo: {regression_tolerance: 0.99}\ngate: {min_coverage: 0.0, on_inconclusive: warn}\n"


@st.composite
def cases(draw: Any) -> tuple[dict[str, str], Any]:
    """A runner's variables and an event's payload, both broken; the event's name is GitHub's own."""
    case = draw(st.sampled_from(CASES))
    given = draw(broken(st.just(case["environment"]), most=2))
    environment = {str(name): str(value) for name, value in given.items()}
    environment["GITHUB_EVENT_NAME"] = case["environment"].get("GITHUB_EVENT_NAME", "")
    return environment, draw(broken(st.just(case["payload"])))


class _Base:
    """The base branch, which has a strict config."""

    def file(self, path: str, ref: str) -> bytes | None:
        return BASE if path == "ragguard.yaml" else None

    def folder(self, path: str, ref: str) -> Mapping[str, bytes]:
        return {}


def check_context(context: GitHubContext, environment: dict[str, str]) -> None:
    run = context.run
    for name in (run.branch, context.base_ref, context.head_branch, *run.base_branches):
        assert name is None or (name.isprintable() and len(name) < 400)
    for commit in (run.commit, run.base_commit):
        assert commit is None or re.fullmatch("[0-9a-f]{40}([0-9a-f]{24})?", commit)
    for time in (run.commit_time, run.before):
        assert time is None or time_name(time)
    assert run.pull_request_number is None or str(run.pull_request_number)
    for link in (run.links.run, run.links.server):
        assert link is None or (link.startswith(("https://", "http://")) and not controls(link) and " " not in link)
    name = environment["GITHUB_EVENT_NAME"]
    assert context.data_only or name != "pull_request_target"
    if name in CHANGES:
        assert run.pull_request
        assert not run.may_write_store


@fuzzed(80, case=cases())
def test_any_event_is_read_and_no_change_decides_about_itself(case: tuple[dict[str, str], Any]) -> None:
    environment, payload = case
    run_id = ci_run_id(environment) or "r"
    context = github_context(environment, payload, run_id=run_id, now=NOW)
    check_context(context, environment)
    with scratch() as folder:
        (folder / "ragguard.yaml").write_bytes(LOOSE)
        policy = attempt(lambda: PolicySource(None, folder, folder, {}).decide(context, _Base(), from_base=True))
        if policy is None:
            return
    loose = policy.config.gate.min_coverage < GatePolicy().min_coverage
    assert loose is not (context.run.pull_request or context.data_only)


@fuzzed(
    60,
    data=st.one_of(st.binary(max_size=60), broken_bytes(st.sampled_from([as_json(case["payload"]) for case in CASES]))),
)
def test_a_payload_of_any_bytes_is_read_or_unknown(data: bytes) -> None:
    with scratch() as folder:
        (folder / "event.json").write_bytes(data)
        payload = read_payload({"GITHUB_EVENT_PATH": str(folder / "event.json")})
    environment = {"GITHUB_EVENT_NAME": "pull_request"}
    context = github_context(environment, payload, run_id="r", now=NOW)
    check_context(context, environment)
    assert context.without_secrets or not context.fork


inputs = st.dictionaries(
    st.sampled_from([f"INPUT_{name.upper()}" for name in NAMES]) | texts.map(lambda text: f"INPUT_{text.upper()}"),
    st.sampled_from(
        ["true", "no", "1", "0", "-1", "9" * 5000, "base", "head", "json+html", "regression,no-baseline", "owner/repo"]
    )
    | texts,
    max_size=4,
)


@fuzzed(
    60,
    environment=inputs,
    words=texts | st.sampled_from(["--shard 1/2", "--help", "--sample-budget x", "'", "--dry-run --quiet"]),
)
def test_inputs_are_read_or_refused_by_name(environment: dict[str, str], words: str) -> None:
    attempt(lambda: read_inputs(environment).overrides)
    with contextlib.redirect_stdout(io.StringIO()):
        attempt(lambda: further_options(words))

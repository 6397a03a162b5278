"""What is made of the events of GitHub: each payload stands in tests/payloads with the context that it must give."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ragguard.entrypoints.github_context import GitHubContext, ci_run_id, github_context

PAYLOADS = sorted((Path(__file__).parents[2] / "payloads").glob("*.json"))
NOW = datetime(2026, 11, 3, tzinfo=UTC)


def context_of(environment: dict[str, str], payload: object) -> GitHubContext:
    return github_context(environment, payload, run_id="run-1", now=NOW)


def told(context: GitHubContext) -> dict[str, Any]:
    """The context as the expectations write it."""
    run = context.run
    return {
        **{name: getattr(run, name) for name in ("event", "branch", "commit", "base_commit", "repository", "actor")},
        **{name: getattr(run, name) for name in ("attempt", "pull_request", "pull_request_number")},
        "base_branches": list(run.base_branches),
        "commit_time": run.commit_time.isoformat() if run.commit_time else None,
        "run_link": run.links.run,
        "base_ref": context.base_ref,
        "head_repository": context.head_repository,
        "head_branch": context.head_branch,
        "fork": context.fork,
        "without_secrets": context.without_secrets,
        "data_only": context.data_only,
        "notices": len(context.notices),
    }


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: path.stem)
def test_the_context_of_an_event(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    found = told(context_of(case["environment"], case["payload"]))
    expected = {"notices": 0, **case["context"]}
    assert {name: found[name] for name in expected} == expected


def test_there_are_events_enough() -> None:
    assert len(PAYLOADS) >= 20


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: path.stem)
def test_a_payload_with_any_part_missing_or_of_another_type_never_raises(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    for broken in _broken(case["payload"]):
        context = context_of(case["environment"], broken)
        if context.run.commit is not None:
            assert len(context.run.commit) == 40


def _broken(value: Any) -> list[Any]:
    """The payload with each of its parts in turn replaced by something else."""
    if not isinstance(value, dict):
        return [None, 7, [], "text", {}]
    return [{**value, key: other} for key, inner in value.items() for other in _broken(inner)] + [None, {}]


def test_a_pull_request_of_unknown_origin_counts_as_a_strangers() -> None:
    context = context_of({"GITHUB_EVENT_NAME": "pull_request"}, {"pull_request": {}})
    assert (context.fork, context.without_secrets) == (True, True)


def test_the_same_attempt_of_the_same_step_has_the_same_run_id() -> None:
    runner = {
        "GITHUB_REPOSITORY": "acme/tutor", "GITHUB_RUN_ID": "9001", "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_JOB": "gate", "GITHUB_ACTION": "__run", "INPUT_SUITE": "a", "INPUT_GITHUB-TOKEN": "x",
    }  # fmt: skip
    first = ci_run_id(runner)
    assert first is not None
    assert first.startswith("gh-9001-1-")
    assert ci_run_id({**runner, "INPUT_GITHUB-TOKEN": "another"}) == first
    others = [
        {"GITHUB_RUN_ATTEMPT": "2"}, {"INPUT_SUITE": "b"}, {"GITHUB_JOB": "other"}, {"GITHUB_ACTION": "__run_2"},
        {"GITHUB_RUN_ID": "9002"}, {"GITHUB_REPOSITORY": "acme/other"},
    ]  # fmt: skip
    assert len({first, *(ci_run_id({**runner, **other}) for other in others)}) == 1 + len(others)


@pytest.mark.parametrize("number", ["", "abc", "1\n2", "-5", "9" * 40])
def test_a_run_id_is_made_of_numbers_only(number: str) -> None:
    assert ci_run_id({"GITHUB_RUN_ID": number}) is None

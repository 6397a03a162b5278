"""The context of a run in GitHub Actions, read from the event's payload and the runner's variables; pure.

Names in a payload may come from anybody (branches of forks above all): what is not a name, a SHA or a number of the
expected shape is unknown, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from ragguard.app.context import RunContext
from ragguard.core.digests import digest
from ragguard.core.report import Links
from ragguard.core.times import read_moment

CHANGES = ("pull_request", "pull_request_target", "merge_group")
"""Events of changes that are not merged yet."""
_BOTS_WITHOUT_SECRETS = frozenset({"dependabot[bot]"})
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9_.\[\]-]{1,100}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_PULL_REF = re.compile(r"refs/pull/([0-9]{1,18})/")
_LONGEST_REF = 255
_NO_COMMIT = "0" * 40


@dataclass(frozen=True)
class GitHubContext:
    """What a run in GitHub Actions must know of its event.

    Attributes:
        run: The circumstances of the run itself; the times of its commits are not in every payload.
        base_ref: The branch whose policy decides about the change under test; None where no change is tested.
        head_repository: Where the change comes from.
        head_branch: Its branch there, as GitHub names it.
        fork: The change comes from another repository, or it is unknown where it comes from.
        without_secrets: GitHub gives this run no secrets and a token that only reads.
        data_only: The run has secrets although the change may be a stranger's: nothing of the change may be run.
        notices: What a reader must know, such as a payload that could not be read.
    """

    run: RunContext
    base_ref: str | None = None
    head_repository: str | None = None
    head_branch: str | None = None
    fork: bool = False
    without_secrets: bool = False
    data_only: bool = False
    notices: tuple[str, ...] = ()


def ci_run_id(environment: Mapping[str, str]) -> str | None:
    """The id of a run: the same for the same attempt of the same step with the same inputs; None outside of CI."""
    number, attempt = environment.get("GITHUB_RUN_ID", ""), environment.get("GITHUB_RUN_ATTEMPT", "1")
    if not (_NUMBER.fullmatch(number) and _NUMBER.fullmatch(attempt)):
        return None
    step = [environment.get(name) for name in ("GITHUB_REPOSITORY", "GITHUB_JOB", "GITHUB_ACTION")]
    inputs = sorted(
        (name, value) for name, value in environment.items() if name.startswith("INPUT_") and "TOKEN" not in name
    )
    return f"gh-{number}-{attempt}-{digest([*step, inputs])[:8]}"


def github_context(environment: Mapping[str, str], payload: object, *, run_id: str, now: datetime) -> GitHubContext:
    """Reads the context.

    Args:
        environment: The runner's variables.
        payload: The event's payload as parsed JSON; anything else is a payload that could not be read.
        run_id: The run's id.
        now: The time now, with time zone.
    """
    event = _Event(environment, payload if isinstance(payload, dict) else {})
    name = environment.get("GITHUB_EVENT_NAME", "")
    common = _common(event, name, run_id, now)
    readers = {
        "pull_request": _pull_request,
        "pull_request_target": _pull_request,
        "merge_group": _merge_group,
        "push": _push,
        "workflow_run": _workflow_run,
    }
    context = readers.get(name, _on_a_branch)(event, common)
    if isinstance(payload, dict) and payload:
        return context
    notice = f"The payload of the event {name or 'without a name'} cannot be read; what it would tell is unknown."
    return _with_notice(context, notice)


def _with_notice(context: GitHubContext, notice: str) -> GitHubContext:
    return replace(context, notices=(*context.notices, notice))


@dataclass(frozen=True)
class _Event:
    """The payload and the variables, each value checked for its shape when it is read."""

    environment: Mapping[str, str]
    payload: Mapping[str, object]

    def value(self, path: str) -> object:
        """What stands at a dotted path, or None."""
        here: object = self.payload
        for part in path.split("."):
            here = here.get(part) if isinstance(here, Mapping) else None
        return here

    def shaped(self, path: str, shape: re.Pattern[str]) -> str | None:
        """A text of that shape, or None."""
        found = self.value(path)
        return found if isinstance(found, str) and shape.fullmatch(found) else None

    def ref(self, path: str) -> str | None:
        """A branch's name, with or without `refs/heads/`."""
        return _branch(self.value(path))

    def commit(self, path: str) -> str | None:
        """A commit's SHA; the SHA of no commit at all is None."""
        found = self.shaped(path, _SHA)
        return None if found == _NO_COMMIT else found

    def number(self, path: str) -> int | None:
        """A positive number."""
        found = self.value(path)
        return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None

    def time(self, path: str) -> datetime | None:
        """A time with its zone."""
        return read_moment(self.value(path))

    def variable(self, name: str, shape: re.Pattern[str]) -> str | None:
        """A variable's value where it has that shape."""
        found = self.environment.get(name, "")
        return found if shape.fullmatch(found) else None


def _branch(value: object) -> str | None:
    """The name of a branch; None for a tag, a pull request's ref, and what no ref can be called."""
    if not isinstance(value, str):
        return None
    name = value.removeprefix("refs/heads/")
    if not name or len(name) > _LONGEST_REF or name.startswith("refs/") or not name.isprintable() or " " in name:
        return None
    return name


@dataclass(frozen=True)
class _Common:
    """What every event has in common."""

    run: RunContext
    default_branch: str | None


def _common(event: _Event, name: str, run_id: str, now: datetime) -> _Common:
    environment = event.environment
    repository = event.variable("GITHUB_REPOSITORY", _REPOSITORY) or event.shaped("repository.full_name", _REPOSITORY)
    attempt = event.variable("GITHUB_RUN_ATTEMPT", _NUMBER)
    run = RunContext(
        run_id=run_id,
        now=now,
        event=name or "unknown",
        actor=event.variable("GITHUB_TRIGGERING_ACTOR", _LOGIN) or event.variable("GITHUB_ACTOR", _LOGIN) or "unknown",
        repository=repository,
        commit=event.variable("GITHUB_SHA", _SHA),
        attempt=max(1, int(attempt)) if attempt else 1,
        links=_links(environment, repository, event.variable("GITHUB_RUN_ID", _NUMBER), attempt),
    )
    return _Common(run, event.ref("repository.default_branch"))


def _links(environment: Mapping[str, str], repository: str | None, number: str | None, attempt: str | None) -> Links:
    server = environment.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    if not server.startswith(("https://", "http://")):
        server = "https://github.com"
    run = None
    if repository and number:
        run = f"{server}/{repository}/actions/runs/{number}" + (f"/attempts/{attempt}" if attempt else "")
    return Links(run=run, repository=repository, server=server)


def _made(run: RunContext, **fields: object) -> RunContext:
    return replace(run, **fields)  # type: ignore[arg-type]


def _branches(*names: str | None) -> tuple[str | None, ...]:
    """The branches to look for a baseline on, the first first."""
    return tuple(dict.fromkeys(name for name in names if name)) or (None,)


def _pull_request(event: _Event, common: _Common) -> GitHubContext:
    """A pull request: GITHUB_SHA is its trial merge, the commit under test is its head."""
    known = isinstance(event.value("pull_request"), Mapping)
    head, base = (event.shaped(f"pull_request.{side}.repo.full_name", _REPOSITORY) for side in ("head", "base"))
    fork = head is None or head.lower() != (base or common.run.repository or "").lower()
    branch = event.ref("pull_request.head.ref") or _branch(event.environment.get("GITHUB_HEAD_REF"))
    owner = event.shaped("pull_request.head.user.login", _LOGIN) or (head or "").partition("/")[0]
    base_ref = event.ref("pull_request.base.ref") or _branch(event.environment.get("GITHUB_BASE_REF"))
    number = _PULL_REF.match(event.environment.get("GITHUB_REF", ""))
    data_only = common.run.event == "pull_request_target"
    bot = event.environment.get("GITHUB_ACTOR") in _BOTS_WITHOUT_SECRETS
    run = _made(
        common.run,
        # A fork's `main` is not ours.
        branch=f"{owner or 'unknown'}:{branch}" if branch and fork else branch,
        base_branches=_branches(base_ref),
        commit=event.commit("pull_request.head.sha") if known else None,
        base_commit=event.commit("pull_request.base.sha"),
        pull_request_number=event.number("pull_request.number") or (int(number[1]) if number else None),
    )
    return GitHubContext(
        run=run,
        base_ref=base_ref,
        head_repository=head,
        head_branch=branch,
        fork=fork,
        without_secrets=not data_only and (fork or bot),
        data_only=data_only,
    )


def _merge_group(event: _Event, common: _Common) -> GitHubContext:
    """A merge queue's group: what would be on the base branch if it were merged."""
    base_ref = event.ref("merge_group.base_ref")
    run = _made(
        common.run,
        branch=event.ref("merge_group.head_ref"),
        base_branches=_branches(base_ref),
        commit=event.commit("merge_group.head_sha") or common.run.commit,
        base_commit=event.commit("merge_group.base_sha"),
        commit_time=event.time("merge_group.head_commit.timestamp"),
    )
    return GitHubContext(run=run, base_ref=base_ref, head_repository=run.repository, head_branch=run.branch)


def _push(event: _Event, common: _Common) -> GitHubContext:
    ref = event.value("ref") or event.environment.get("GITHUB_REF")
    branch = _branch(ref)
    run = _made(
        common.run,
        branch=branch,
        base_branches=_branches(branch, common.default_branch),
        commit=event.commit("after") or common.run.commit,
        base_commit=event.commit("before"),
        commit_time=event.time("head_commit.timestamp"),
    )
    return GitHubContext(run=run, head_repository=run.repository, head_branch=branch)


def _workflow_run(event: _Event, common: _Common) -> GitHubContext:
    """The second phase of another workflow's run, which may have been a stranger's."""
    head = event.shaped("workflow_run.head_repository.full_name", _REPOSITORY)
    branch = event.ref("workflow_run.head_branch")
    fork = head is None or head.lower() != (common.run.repository or "").lower()
    of_change = event.value("workflow_run.event") in CHANGES or fork
    owner = (head or "unknown").partition("/")[0]
    run = _made(
        common.run,
        branch=f"{owner}:{branch}" if branch and fork else branch,
        base_branches=_branches(common.default_branch),
        commit=event.commit("workflow_run.head_sha"),
        commit_time=event.time("workflow_run.head_commit.timestamp"),
    )
    return GitHubContext(
        run=run,
        base_ref=common.default_branch if of_change else None,
        head_repository=head,
        head_branch=branch,
        fork=fork,
        data_only=of_change,
    )


def _on_a_branch(event: _Event, common: _Common) -> GitHubContext:
    """Schedules, runs by hand and all other events: the branch that the workflow runs on."""
    branch = _branch(event.environment.get("GITHUB_REF") or event.value("ref"))
    run = _made(common.run, branch=branch, base_branches=_branches(branch, common.default_branch))
    return GitHubContext(run=run, head_repository=run.repository, head_branch=branch)

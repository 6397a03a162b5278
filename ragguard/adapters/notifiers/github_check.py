"""A check run on the commit under test, `ragguard / <suite>`; a commit status where checks may not be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ragguard.adapters.notifiers.base import CHANGES, EventName, Letter, Notifier, Secrets, Surroundings, plain_line
from ragguard.adapters.notifiers.github_client import RefusedError, connect, github_errors
from ragguard.adapters.notifiers.patience import DeliveryError, Patience, persist
from ragguard.core.report import Links

if TYPE_CHECKING:
    from github.CheckRun import CheckRun
    from github.Commit import Commit
    from github.Repository import Repository

Conclusion = Literal["success", "failure", "neutral", "cancelled"]
NEEDS = "checks: write"
_LONGEST_NAME = 100
_LONGEST_DESCRIPTION = 140
_LONGEST_TITLE = 255
_STATES: dict[Conclusion, str] = {
    "success": "success",
    "neutral": "success",
    "failure": "failure",
    "cancelled": "error",
}


def conclusion_of(letter: Letter) -> Conclusion:
    """What a check says: what blocks is a failure, what says nothing is neutral."""
    if letter.interrupted:
        return "cancelled"
    if letter.exit_code != 0:
        return "failure"
    return "success" if letter.fine else "neutral"


class GitHubCheck(Notifier):
    """The check run of a suite: in progress from the beginning of a run, concluded at its end."""

    type: Literal["github-check"] = "github-check"
    events: tuple[EventName, ...] = Field(default=(*CHANGES, "merge_group"), description="Events whose runs are told.")
    urgent: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Who or what is told, for people."""
        return "github-check"

    @property
    def tells(self) -> str:
        """What is sent, for people."""
        return "a check run on the commit: in progress, then concluded with the report"

    def lacks(self, at: Surroundings, secrets: Secrets) -> str | None:
        """What is missing to deliver."""
        if at.repository is None or at.commit is None:
            return "no repository and commit are known to put a check on"
        if secrets.github_token is None:
            return "GITHUB_TOKEN is not set: pass it to the step, with the permission `checks: write`"
        return None

    def open(self, suite: str, run_id: str, links: Links, at: Surroundings, secrets: Secrets) -> None:
        """Shows that a run is in progress.

        Raises:
            DeliveryError: It cannot be shown.
        """
        missing = self.lacks(at, secrets)
        if missing is not None:
            raise DeliveryError(missing)
        from github.GithubObject import NotSet

        repository, name = _repository(at, secrets), check_name(suite)
        try:
            with github_errors(NEEDS, at.repository or ""):
                repository.create_check_run(
                    name,
                    at.commit or "",
                    status="in_progress",
                    external_id=run_id,
                    started_at=at.now,
                    details_url=links.run or NotSet,
                )
        except RefusedError:
            with github_errors("statuses: write", at.repository or ""):
                _status(repository.get_commit(at.commit or ""), "pending", "in progress", name, links)

    def send(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> str:
        """Concludes the check."""
        repository = _repository(at, secrets)
        try:
            return persist(lambda: self._conclude(repository, letter, at), patience)
        except RefusedError as refused:
            conclusion = conclusion_of(letter)

            def instead() -> None:
                with github_errors("statuses: write", at.repository or ""):
                    _status(
                        repository.get_commit(at.commit or ""), _STATES[conclusion],
                        f"{conclusion}: {letter.headline}", check_name(letter.suite), letter.links,
                    )  # fmt: skip

            try:
                persist(instead, patience)
            except DeliveryError as error:
                raise DeliveryError(f"{refused}; nor a commit status: {error}") from error
            return f"{conclusion}, as a commit status: {refused}"

    def _conclude(self, repository: Repository, letter: Letter, at: Surroundings) -> str:
        from github.GithubObject import NotSet

        conclusion, name = conclusion_of(letter), check_name(letter.suite)
        output: dict[str, str | list[dict[str, str | int]]] = {
            "title": plain_line(letter.headline, _LONGEST_TITLE),
            "summary": letter.markdown("check"),
        }
        with github_errors(NEEDS, at.repository or ""):
            open_run = _find(repository, at.commit or "", name, letter.run_id)
            if open_run is not None:
                open_run.edit(status="completed", conclusion=conclusion, output=output)
            else:
                open_run = repository.create_check_run(
                    name,
                    at.commit or "",
                    status="completed",
                    conclusion=conclusion,
                    external_id=letter.run_id,
                    output=output,
                    details_url=letter.links.run or NotSet,
                )
            if open_run.conclusion != conclusion:
                raise DeliveryError("what answers is not GitHub: its reply names no check that is concluded")
        return conclusion


def check_name(suite: str) -> str:
    """The name of a suite's check."""
    return f"ragguard / {plain_line(suite, _LONGEST_NAME)}"


def _repository(at: Surroundings, secrets: Secrets) -> Repository:
    assert secrets.github_token is not None
    return connect(secrets.github_token, at.github_api).get_repo(at.repository or "")


def _find(repository: Repository, commit: str, name: str, run_id: str) -> CheckRun | None:
    """This run's own check: nothing has to be remembered from the beginning of the run to its end."""
    runs = repository.get_commit(commit).get_check_runs(check_name=name, filter="all")
    return next((run for run in runs if run.external_id == run_id), None)


def _status(commit: Commit, state: str, description: str, name: str, links: Links) -> None:
    from github.GithubObject import NotSet

    text = plain_line(description, _LONGEST_DESCRIPTION)
    commit.create_status(state, description=text, context=name, target_url=links.run or NotSet)

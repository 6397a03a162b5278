"""One issue for each suite and branch: opened at a regression, kept up to date, closed when the suite passes again.

The issue's own text is always the newest report. One comment below it has a line for every further run, so that a
regression of many nights is one issue and one comment, not one of either a night.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, SecretStr

from ragguard.adapters.notifiers.base import UNATTENDED, EventName, Letter, Notifier, Secrets, Surroundings, plain_line
from ragguard.adapters.notifiers.github_client import (
    address_of,
    connect,
    github_errors,
    is_marked,
    is_ours,
    key_of,
    marker,
    own_login,
)
from ragguard.adapters.notifiers.patience import Patience, persist

if TYPE_CHECKING:
    from github import Github
    from github.Issue import Issue
    from github.IssueComment import IssueComment
    from github.Repository import Repository

NEEDS = "issues: write"
_LONGEST_TITLE = 200
_LOG_ROOM = 60_000
"""Of the 65,536 characters that a comment holds."""
_METRICS = re.compile(r"metrics=(\S+)")


class GitHubIssue(Notifier):
    """The issue of a suite, in this or any other repository."""

    type: Literal["github-issue"] = "github-issue"
    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$", description="`owner/name` of the repository.")
    labels: tuple[str, ...] = Field(default=(), description="Labels of a new issue.")
    assignees: tuple[str, ...] = Field(default=(), description="Who is assigned to a new issue.")
    events: tuple[EventName, ...] = Field(default=UNATTENDED, description="Events whose runs are told.")
    settles: ClassVar[Literal["never", "recovery", "fine"]] = "fine"

    @property
    def name(self) -> str:
        """Who or what is told, for people."""
        return f"github-issue {self.repository}"

    @property
    def tells(self) -> str:
        """What is sent, for people."""
        return "the report as the suite's one issue: opened or updated, and closed when the suite passes again"

    def lacks(self, at: Surroundings, secrets: Secrets) -> str | None:
        """What is missing to deliver."""
        if self._token(at, secrets) is not None:
            return None
        if self._is_elsewhere(at):
            return f"an issue in {self.repository} needs RAGGUARD_ISSUE_TOKEN, a token with `{NEEDS}` there"
        return f"GITHUB_TOKEN is not set: pass it to the step, with the permission `{NEEDS}`"

    def _is_elsewhere(self, at: Surroundings) -> bool:
        return at.repository is None or at.repository.casefold() != self.repository.casefold()

    def _token(self, at: Surroundings, secrets: Secrets) -> SecretStr | None:
        """The workflow's own token reaches no other repository."""
        return secrets.issue_token if self._is_elsewhere(at) else secrets.github_token or secrets.issue_token

    def send(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> str:
        """Opens, updates, reopens or closes the issue."""
        token = self._token(at, secrets)
        assert token is not None
        client = connect(token, at.github_api)
        return persist(lambda: self._tell(client, letter, at), patience)

    def _tell(self, client: Github, letter: Letter, at: Surroundings) -> str:
        with github_errors(NEEDS, self.repository):
            repository, login = client.get_repo(self.repository), own_login(client)
            issue = _find(repository, letter, login)
            if letter.fine:
                return _close(issue, letter, login, at) if issue is not None else "no issue is open: nothing to close"
            return _update(issue, letter, login, at) if issue is not None else self._create(repository, letter)

    def _create(self, repository: Repository, letter: Letter) -> str:
        from github import GithubException

        title, body = _title(letter), _body(letter)
        labels, assignees = list(self.labels), list(self.assignees)
        try:
            issue = repository.create_issue(title, body, labels=labels, assignees=assignees)
        except GithubException as error:
            # A label or a person that the repository does not know must not keep the issue from being opened.
            if error.status != 422 or not (labels or assignees):
                raise
            issue = repository.create_issue(title, body)
            return f"opened {address_of(issue)}, without labels and assignees: GitHub refuses them here"
        return f"opened {address_of(issue)}"


def _find(repository: Repository, letter: Letter, login: str | None) -> Issue | None:
    """The suite's issue, open or closed, on whichever page it is; an open one wins."""
    key = _key(letter)
    closed = None
    state = "open" if letter.fine else "all"
    for issue in repository.get_issues(state=state, sort="updated", direction="desc"):
        # To ask for `pull_request` would fetch each issue that has none once more.
        is_issue = "/pull/" not in issue.html_url
        if is_issue and is_marked(issue.body, "issue", key) and is_ours(issue.user, login):
            if issue.state == "open":
                return issue
            closed = closed or issue
    return closed


def _key(letter: Letter) -> str:
    return key_of("issue", letter.suite, letter.branch)


def _told(letter: Letter) -> str:
    return key_of("run", letter.run_id)


def _metrics(letter: Letter) -> str:
    return key_of("metrics", letter.outcome, sorted(letter.fell))


def _title(letter: Letter) -> str:
    where = f"{letter.suite} on {letter.branch}" if letter.branch else letter.suite
    return plain_line(f"ragguard: {where}: {letter.headline}", _LONGEST_TITLE)


def _body(letter: Letter) -> str:
    first = marker("issue", _key(letter), metrics=_metrics(letter), run=_told(letter))
    return f"{first}\n{letter.markdown('issue')}"


def _update(issue: Issue, letter: Letter, login: str | None, at: Surroundings) -> str:
    from github.GithubObject import NotSet

    body = issue.body or ""
    if f" run={_told(letter)} " in body.partition("\n")[0]:
        return f"has this run already: {address_of(issue)}"
    before = _METRICS.search(body.partition("\n")[0])
    same = before is not None and before[1] == _metrics(letter)
    reopened = issue.state != "open"
    what = "reopened" if reopened else ("the same again" if same else "another regression")
    _log(issue, letter, login, at, what)
    issue.edit(title=_title(letter), body=_body(letter), state="open", state_reason="reopened" if reopened else NotSet)
    return f"{'reopened' if reopened else 'updated'} {address_of(issue)}"


def _close(issue: Issue, letter: Letter, login: str | None, at: Surroundings) -> str:
    _log(issue, letter, login, at, "closed")
    issue.edit(state="closed", state_reason="completed")
    return f"closed {address_of(issue)}"


def _log(issue: Issue, letter: Letter, login: str | None, at: Surroundings, what: str) -> None:
    """Adds this run's line to the one comment; a second try adds no second line."""
    first = marker("log", _key(letter))
    comment = next((one for one in issue.get_comments() if _is_log(one, letter, login)), None)
    lines = [] if comment is None else [line for line in (comment.body or "").splitlines() if line.startswith("- ")]
    line_marker = f"<!-- {_told(letter)} -->"
    if any(line_marker in line for line in lines):
        return
    words = letter.markdown("line").strip()
    lines.append(f"- {at.now:%Y-%m-%d %H:%M} UTC · {what} · {words} {line_marker}")
    text = "\n".join((first, "**Runs since this issue was opened**", "", *_newest(lines)))
    if comment is None:
        issue.create_comment(text)
    else:
        comment.edit(text)


def _is_log(comment: IssueComment, letter: Letter, login: str | None) -> bool:
    return is_marked(comment.body, "log", _key(letter)) and is_ours(comment.user, login)


def _newest(lines: list[str]) -> list[str]:
    """As many of the newest lines as a comment holds, and a word about the rest."""
    kept: list[str] = []
    room = _LOG_ROOM
    for line in reversed(lines):
        room -= len(line.encode("utf-16-le")) // 2 + 1
        if room < 0:
            return ["*Earlier runs are left out here.*", "", *reversed(kept)]
        kept.append(line)
    return kept[::-1]

"""One comment on a pull request for each suite: found again by its marker and author, and updated in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ragguard.adapters.notifiers.base import CHANGES, EventName, Letter, Notifier, Secrets, Surroundings
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

NEEDS = "pull-requests: write"


class GitHubComment(Notifier):
    """The suite's comment on the pull request."""

    type: Literal["github-comment"] = "github-comment"
    events: tuple[EventName, ...] = Field(default=CHANGES, description="Events whose runs are told.")
    hide_on_recovery: bool = Field(default=False, description="Hides the comment as resolved when the suite passes.")

    @property
    def name(self) -> str:
        """Who or what is told, for people."""
        return "github-comment"

    @property
    def tells(self) -> str:
        """What is sent, for people."""
        return "the report as the suite's one comment on the pull request"

    def lacks(self, at: Surroundings, secrets: Secrets) -> str | None:
        """What is missing to deliver."""
        if at.repository is None or at.pull_request is None:
            return "no pull request is known to comment on"
        if secrets.github_token is None:
            return f"GITHUB_TOKEN is not set: pass it to the step, with the permission `{NEEDS}`"
        return None

    def send(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> str:
        """Writes the comment, or writes it anew."""
        assert secrets.github_token is not None
        client = connect(secrets.github_token, at.github_api)
        return persist(lambda: self._write(client, letter, at), patience)

    def _write(self, client: Github, letter: Letter, at: Surroundings) -> str:
        key = key_of("comment", letter.suite)
        body = f"{marker('comment', key)}\n{letter.markdown('comment')}"
        with github_errors(NEEDS, at.repository or ""):
            pull = client.get_repo(at.repository or "").get_issue(at.pull_request or 0)
            comment = _find(pull, key, own_login(client))
            if comment is None:
                return f"wrote {address_of(pull.create_comment(body))}"
            comment.edit(body)
            told = f"updated {address_of(comment)}"
            if not self.hide_on_recovery:
                return told
            done = comment.minimize("RESOLVED") if letter.fine else not comment.unminimize()
            return f"{told}{', hidden' if done and letter.fine else ''}"


def _find(pull: Issue, key: str, login: str | None) -> IssueComment | None:
    """The first such comment of our own, on whichever page it is."""
    for comment in pull.get_comments():
        if is_marked(comment.body, "comment", key) and is_ours(comment.user, login):
            return comment
    return None

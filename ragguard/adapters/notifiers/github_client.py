"""GitHub's API: the client, what its refusals mean, and how one's own issues and comments are known again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from ragguard.adapters.notifiers.patience import DeliveryError, TryLaterError
from ragguard.core.digests import digest
from ragguard.core.text import one_line

if TYPE_CHECKING:
    from github import Github
    from github.GithubException import GithubException
    from github.Issue import Issue
    from github.IssueComment import IssueComment
    from github.NamedUser import NamedUser
    from github.Organization import Organization

_TIMEOUT_S = 15
_UNTOLD_WAIT_S = 60.0
"""What GitHub asks to wait after a secondary limit that names no time."""
_LONGEST_MESSAGE = 300
_STRANGE = (AssertionError, AttributeError, KeyError, TypeError, ValueError)
"""What PyGithub raises where a reply is none of GitHub's."""


class RefusedError(DeliveryError):
    """The token is not allowed to do it."""


def connect(token: SecretStr, api: str) -> Github:
    """A client that asks nothing until it is used, and leaves waiting to us.

    Raises:
        DeliveryError: PyGithub is not installed.
    """
    try:
        from github import Auth, Github
    except ImportError as error:
        raise DeliveryError("the package PyGithub is not installed: pip install 'ragguard[github]'") from error
    return Github(
        auth=Auth.Token(token.get_secret_value()),
        base_url=api.rstrip("/"),
        timeout=_TIMEOUT_S,
        user_agent="ragguard",
        per_page=100,
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
        lazy=True,
    )


@contextmanager
def github_errors(needs: str, where: str) -> Iterator[None]:
    """Turns GitHub's refusals into one line each.

    Args:
        needs: The permission that the calls inside need, such as `issues: write`.
        where: The repository.

    Raises:
        TryLaterError: A limit, an outage or a lost connection.
        RefusedError: The token may not do it.
        DeliveryError: Anything else that GitHub refuses.
    """
    from github import GithubException
    from github.GithubException import BadAttributeException
    from requests import RequestException

    try:
        yield
    except GithubException as error:
        raise _refusal(error, needs, where) from error
    except RequestException as error:
        raise TryLaterError(f"GitHub cannot be reached ({type(error).__name__})") from error
    except (BadAttributeException, *_STRANGE) as error:
        raise DeliveryError(f"what answers is not GitHub ({type(error).__name__})") from error


def address_of(thing: Issue | IssueComment) -> str:
    """The page of what GitHub says it made.

    Raises:
        DeliveryError: The reply names none, as somebody else's does.
    """
    address: str | None = thing.html_url
    if not address:
        raise DeliveryError("what answers is not GitHub: its reply names no page")
    return address


def _refusal(error: GithubException, needs: str, where: str) -> DeliveryError:
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    said = _message(error)
    after = _asked_to_wait(error.status, headers, said)
    if after is not None:
        return TryLaterError(f"GitHub's rate limit is reached ({error.status})", after)
    if error.status >= 500:
        return TryLaterError(f"GitHub answered {error.status}")
    if error.status == 403:
        return RefusedError(f"not allowed in {where} (403): the token needs the permission `{needs}` ({said})")
    if error.status == 404:
        return RefusedError(f"{where} is not there, or the token may not see it (404): it needs `{needs}`")
    meaning = {401: "GitHub refuses the token", 410: f"{where} has issues switched off"}
    return DeliveryError(f"{meaning.get(error.status, 'GitHub refuses what was sent')} ({error.status}): {said}")


def _message(error: GithubException) -> str:
    data: Any = error.data
    if not isinstance(data, dict):
        return one_line(str(data or error.message or ""))[:_LONGEST_MESSAGE]
    parts = [str(data.get("message") or "")]
    for one in data.get("errors") or ():
        if isinstance(one, dict):
            parts.append(str(one.get("message") or f"{one.get('field')}: {one.get('code')}"))
        else:
            parts.append(str(one))
    return one_line("; ".join(part for part in parts if part))[:_LONGEST_MESSAGE]


def _asked_to_wait(status: int, headers: dict[str, Any], said: str) -> float | None:
    """Seconds to wait for a limit; None where the refusal is no limit."""
    if status not in {403, 429}:
        return None
    named = _number(headers.get("retry-after"))
    if named is not None:
        return named
    if str(headers.get("x-ratelimit-remaining")) == "0":
        reset = _number(headers.get("x-ratelimit-reset"))
        return _UNTOLD_WAIT_S if reset is None else max(1.0, reset - _server_time(headers))
    return _UNTOLD_WAIT_S if status == 429 or "rate limit" in said.lower() else None


def _server_time(headers: dict[str, Any]) -> float:
    """The time by GitHub's own clock where it tells it: ours may be wrong."""
    try:
        return parsedate_to_datetime(str(headers["date"])).timestamp()
    except (KeyError, ValueError, TypeError):
        return time.time()


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def key_of(*parts: object) -> str:
    """A short name that no foreign text can forge a marker with."""
    return digest(list(parts))[:16]


def marker(kind: str, key: str, **more: str) -> str:
    """A hidden first line by which an issue or a comment of ours is known again."""
    fields = "".join(f" {name}={value}" for name, value in more.items())
    return f"<!-- ragguard {kind} key={key}{fields} -->"


def is_marked(body: str | None, kind: str, key: str) -> bool:
    """Whether a text begins with such a marker; one that quotes it further down does not count."""
    return (body or "").startswith(f"<!-- ragguard {kind} key={key}")


def own_login(client: Github) -> str | None:
    """Who the token speaks as; None where it may not ask, as the token of a workflow or an app."""
    from github import GithubException

    try:
        login: str = client.get_user().login
    except GithubException as error:
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        if error.status in {403, 404} and _asked_to_wait(error.status, headers, _message(error)) is None:
            return None
        raise
    return login


def is_ours(user: NamedUser | Organization | None, login: str | None) -> bool:
    """Whether the author is who the token speaks as; a token that cannot tell speaks as a bot."""
    if user is None:
        return False
    return user.login == login if login is not None else user.type == "Bot"

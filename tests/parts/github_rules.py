"""What GitHub's API does and refuses, as far as issues, comments, checks and statuses go."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.parts.local_http import Reply

BODY, TITLE, SUMMARY, DESCRIPTION, STATUSES = 65_536, 256, 65_535, 140, 1_000
CONCLUSIONS = {"action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"}
SHA = "c0ffee" + "0" * 34
_ANY_COMMIT = re.compile("(?!f{40})[0-9a-f]{40}")
NOT_ALLOWED = "Resource not accessible by integration"
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."

Thing = dict[str, Any]


class Refused(Exception):
    """A reply that is no success."""

    def __init__(self, status: int, message: str, errors: Sequence[Any] = (), headers: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.reply: Reply = (status, headers, {"message": message, **({"errors": list(errors)} if errors else {})})


@dataclass
class Token:
    """Who a token speaks as, and what it may do where."""

    login: str
    is_app: bool
    permissions: dict[str, set[str]]


@dataclass
class Repository:
    """One repository's things, by number or in order."""

    issues: dict[int, Thing] = field(default_factory=dict)
    comments: list[Thing] = field(default_factory=list)
    checks: list[Thing] = field(default_factory=list)
    statuses: list[Thing] = field(default_factory=list)
    assignable: set[str] = field(default_factory=lambda: {"octavia"})
    has_issues: bool = True


class Server(Protocol):
    """What the rules need of the server."""

    repositories: dict[str, Repository]
    url: str

    def add_issue(self, repository: str, **fields: Any) -> Thing: ...
    def add_comment(self, number: int, body: str, login: str, repository: str) -> Thing: ...
    def tick(self) -> int: ...


@dataclass
class Place:
    """A repository as one token sees it."""

    server: Server
    name: str
    token: Token

    @property
    def repository(self) -> Repository:
        return self.server.repositories[self.name]

    @property
    def user(self) -> Thing:
        return {"login": self.token.login, "type": "Bot" if self.token.is_app else "User"}

    def need(self, *any_of: str) -> None:
        if not self.token.permissions[self.name] & set(any_of):
            raise Refused(403, NOT_ALLOWED)

    def issue(self, number: str) -> Thing:
        if int(number) not in self.repository.issues:
            raise Refused(404, "Not Found")
        return self.repository.issues[int(number)]

    def page(self, rows: Sequence[Thing], query: dict[str, list[str]], path: str) -> tuple[list[Thing], list[str]]:
        """One page and its Link header; GitHub gives no more than 100 rows."""
        size = min(100, int(query.get("per_page", ["30"])[0]))
        page = int(query.get("page", ["1"])[0])
        kept = "&".join(f"{name}={value[0]}" for name, value in query.items() if name != "page")
        more = page * size < len(rows)
        link = f'Link: <{self.server.url}/repos/{self.name}{path}?{kept}&page={page + 1}>; rel="next"'
        return list(rows[(page - 1) * size : page * size]), [link] if more else []


def _text(content: Thing, name: str, most: int, *, required: bool = False) -> None:
    value = content.get(name)
    if (required and not value) or (value is not None and not isinstance(value, str)):
        raise Refused(422, "Validation Failed", [{"field": name, "code": "missing_field"}])
    if value is not None and len(value.encode("utf-16-le")) // 2 > most:
        raise Refused(422, "Validation Failed", [{"message": f"{name} is too long (maximum is {most} characters)"}])


def _list_issues(place: Place, _match: re.Match[str], query: dict[str, list[str]], _content: Thing) -> Reply:
    if not place.repository.has_issues:
        raise Refused(410, "Issues has been disabled in this repository.")
    state = query.get("state", ["open"])[0]
    rows = [issue for issue in place.repository.issues.values() if state in {"all", issue["state"]}]
    rows.sort(key=lambda issue: issue["updated"], reverse=True)
    rows, link = place.page(rows, query, "/issues")
    return 200, link, [_shown_issue(place, issue) for issue in rows]


def _shown_issue(place: Place, issue: Thing) -> Thing:
    shown = {key: value for key, value in issue.items() if key != "updated"}
    return {**shown, "url": f"{place.server.url}/repos/{place.name}/issues/{issue['number']}"}


def _create_issue(place: Place, _match: re.Match[str], _query: object, content: Thing) -> Reply:
    place.need("issues")
    _text(content, "title", TITLE, required=True)
    _text(content, "body", BODY)
    unknown = [name for name in content.get("assignees") or [] if name not in place.repository.assignable]
    if unknown:
        raise Refused(422, "Validation Failed", [{"field": "assignees", "code": "invalid", "value": unknown}])
    labels = [{"name": name} for name in content.get("labels") or []]
    assignees = [{"login": name} for name in content.get("assignees") or []]
    fields = {"title": content["title"], "body": content.get("body") or ""}
    issue = place.server.add_issue(place.name, **fields, labels=labels, assignees=assignees, user=place.user)
    return 201, (), _shown_issue(place, issue)


def _edit_issue(place: Place, match: re.Match[str], _query: object, content: Thing) -> Reply:
    issue = place.issue(match[1])
    place.need("issues")
    _text(content, "title", TITLE)
    _text(content, "body", BODY)
    if content.get("state") not in {None, "open", "closed"}:
        raise Refused(422, "Validation Failed", [{"field": "state", "code": "invalid"}])
    if content.get("state_reason") not in {None, "completed", "not_planned", "reopened"}:
        raise Refused(422, "Validation Failed", [{"field": "state_reason", "code": "invalid"}])
    issue.update({key: content[key] for key in ("title", "body", "state", "state_reason") if key in content})
    issue["updated"] = place.server.tick()
    return 200, (), _shown_issue(place, issue)


def _list_comments(place: Place, match: re.Match[str], query: dict[str, list[str]], _content: Thing) -> Reply:
    place.issue(match[1])
    rows = [comment for comment in place.repository.comments if comment["issue"] == int(match[1])]
    rows, link = place.page(rows, query, f"/issues/{match[1]}/comments")
    return 200, link, [_shown_comment(place, comment) for comment in rows]


def _shown_comment(place: Place, comment: Thing) -> Thing:
    shown = {key: value for key, value in comment.items() if key not in {"issue", "minimized"}}
    return {**shown, "url": f"{place.server.url}/repos/{place.name}/issues/comments/{comment['id']}"}


def _create_comment(place: Place, match: re.Match[str], _query: object, content: Thing) -> Reply:
    issue = place.issue(match[1])
    place.need("pull-requests" if "pull_request" in issue else "issues", "issues")
    _text(content, "body", BODY, required=True)
    comment = place.server.add_comment(int(match[1]), content["body"], place.token.login, place.name)
    return 201, (), _shown_comment(place, comment)


def _edit_comment(place: Place, match: re.Match[str], _query: object, content: Thing) -> Reply:
    place.need("pull-requests", "issues")
    _text(content, "body", BODY, required=True)
    for comment in place.repository.comments:
        if comment["id"] == int(match[1]):
            comment["body"] = content["body"]
            return 200, (), _shown_comment(place, comment)
    raise Refused(404, "Not Found")


def _list_checks(place: Place, match: re.Match[str], query: dict[str, list[str]], _content: Thing) -> Reply:
    place.need("checks")
    name = query.get("check_name", [None])[0]
    rows = [c for c in place.repository.checks if name in {None, c["name"]} and c["head_sha"] == match[1]]
    rows, link = place.page(rows, query, f"/commits/{match[1]}/check-runs")
    return 200, link, {"total_count": len(rows), "check_runs": [_shown_check(place, check) for check in rows]}


def _shown_check(place: Place, check: Thing) -> Thing:
    return {**check, "url": f"{place.server.url}/repos/{place.name}/check-runs/{check['id']}"}


def _checked(content: Thing) -> None:
    output = content.get("output")
    if output is not None:
        _text(output, "title", 255, required=True)
        _text(output, "summary", SUMMARY, required=True)
    if content.get("status") not in {None, "queued", "in_progress", "completed"}:
        raise Refused(422, "Invalid request", ["status is not a member"])
    if content.get("status") == "completed" and content.get("conclusion") not in CONCLUSIONS:
        raise Refused(422, "Invalid request", ["conclusion is needed"])


def _create_check(place: Place, _match: re.Match[str], _query: object, content: Thing) -> Reply:
    if not place.token.is_app:
        raise Refused(403, "You must authenticate via a GitHub App.")
    place.need("checks")
    _text(content, "name", 1_000, required=True)
    if not _ANY_COMMIT.fullmatch(str(content.get("head_sha"))):
        raise Refused(422, f"No commit found for SHA: {content.get('head_sha')}")
    _checked(content)
    check = {"conclusion": None, "output": None, **content, "id": len(place.repository.checks) + 1}
    place.repository.checks.append(check)
    return 201, (), _shown_check(place, check)


def _edit_check(place: Place, match: re.Match[str], _query: object, content: Thing) -> Reply:
    place.need("checks")
    _checked(content)
    check = place.repository.checks[int(match[1]) - 1]
    check.update(content)
    return 200, (), _shown_check(place, check)


def _create_status(place: Place, match: re.Match[str], _query: object, content: Thing) -> Reply:
    place.need("statuses")
    if not _ANY_COMMIT.fullmatch(match[1]):
        raise Refused(422, f"No commit found for SHA: {match[1]}")
    if content.get("state") not in {"error", "failure", "pending", "success"}:
        raise Refused(422, "Validation Failed", [{"field": "state", "code": "invalid"}])
    _text(content, "description", DESCRIPTION)
    same = [status for status in place.repository.statuses if status["context"] == content["context"]]
    if len(same) >= STATUSES:
        raise Refused(422, "Validation Failed", [{"message": "This SHA and context has reached the maximum"}])
    place.repository.statuses.append(dict(content))
    return 201, (), {**content, "id": len(place.repository.statuses), "url": "https://code.example/status"}


_Answer = Callable[[Place, re.Match[str], dict[str, list[str]], Thing], Reply]
ROUTES: tuple[tuple[str, str, _Answer], ...] = (
    ("GET", "/issues", _list_issues),
    ("POST", "/issues", _create_issue),
    ("PATCH", r"/issues/(\d+)", _edit_issue),
    ("GET", r"/issues/(\d+)/comments", _list_comments),
    ("POST", r"/issues/(\d+)/comments", _create_comment),
    ("PATCH", r"/issues/comments/(\d+)", _edit_comment),
    ("GET", r"/commits/(\w+)/check-runs", _list_checks),
    ("POST", "/check-runs", _create_check),
    ("PATCH", r"/check-runs/(\d+)", _edit_check),
    ("POST", r"/statuses/(\w+)", _create_status),
)

"""A small GitHub on 127.0.0.1: it keeps issues, comments, checks and statuses, and refuses what GitHub refuses."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.parts.github_rules import NOT_ALLOWED, ROUTES, Place, Refused, Repository, Thing, Token
from tests.parts.local_http import Reply, Reset, in_a_thread
from tests.parts.processes import HOST


@dataclass
class Fault:
    """What happens to the next `times` matching requests, after `after` of them; None drops the connection."""

    pattern: str
    reply: Reply | None
    times: int = 1
    after: int = 0
    done_first: bool = False


class GitHub:
    """The server's state, and its rules."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {"acme/tutor": Repository(), "acme/alerts": Repository()}
        self.tokens: dict[str, Token] = {}
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.prefix = ""
        self.url = ""
        self._clock = 0

    def allow(self, token: str, *permissions: str, repository: str = "acme/tutor", login: str | None = None) -> None:
        """Makes a token known: an app's, or with a login a person's."""
        known = self.tokens.setdefault(token, Token(login or "github-actions[bot]", login is None, {}))
        known.permissions.setdefault(repository, set()).update(permissions)

    def fail(
        self,
        pattern: str,
        status: int | None,
        message: str = "",
        headers: Sequence[str] = (),
        *,
        times: int = 1,
        after: int = 0,
        done_first: bool = False,
    ) -> None:
        """Makes requests fail whose `METHOD path` matches; no status drops the connection."""
        reply = None if status is None else (status, headers, {"message": message})
        self.faults.append(Fault(pattern, reply, times, after, done_first))

    def add_issue(self, repository: str = "acme/tutor", **fields: Any) -> Thing:
        """Puts an issue or pull request there, as somebody else would."""
        where = self.repositories[repository]
        number = max(where.issues, default=0) + 1
        kind = "pull" if "pull_request" in fields else "issues"
        issue = {
            "number": number, "title": "x", "body": "", "state": "open", "labels": [], "assignees": [],
            "user": {"login": "somebody", "type": "User"}, "updated": self.tick(),
            "html_url": f"https://code.example/{repository}/{kind}/{number}", **fields,
        }  # fmt: skip
        where.issues[number] = issue
        return issue

    def add_pull_request(self, repository: str = "acme/tutor") -> int:
        """Puts a pull request there."""
        return int(self.add_issue(repository, pull_request={"url": "x"})["number"])

    def add_comment(self, number: int, body: str, login: str = "somebody", repository: str = "acme/tutor") -> Thing:
        """Puts a comment there."""
        where = self.repositories[repository]
        comment = {
            "id": 1_000 + len(where.comments), "issue": number, "body": body, "minimized": False,
            "user": {"login": login, "type": "Bot" if login.endswith("[bot]") else "User"},
        }  # fmt: skip
        comment["node_id"] = f"IC_{comment['id']}"
        comment["html_url"] = f"https://code.example/{repository}/issues/{number}#issuecomment-{comment['id']}"
        where.comments.append(comment)
        return comment

    async def handle(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answers one request."""
        url = urlsplit(target)
        path = url.path.removeprefix(self.prefix)
        self.requests.append(f"{method} {path}")
        fault = self._fault(f"{method} {path}")
        if fault is not None and not fault.done_first:
            return _failed(fault)
        try:
            if not url.path.startswith(self.prefix):
                raise Refused(404, "Not Found")
            token = self._token(headers)
            content = json.loads(body) if body else {}
            reply = self._route(method, path, parse_qs(url.query), content, token)
        except Refused as refused:
            reply = refused.reply
        return reply if fault is None else _failed(fault)

    def _fault(self, line: str) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.pattern, line):
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    def _token(self, headers: dict[str, str]) -> Token:
        given = headers.get("authorization", "").split(" ")[-1]
        if given not in self.tokens:
            raise Refused(401, "Bad credentials")
        return self.tokens[given]

    def _route(self, method: str, path: str, query: dict[str, list[str]], content: Thing, token: Token) -> Reply:
        if (method, path) == ("GET", "/user"):
            if token.is_app:
                raise Refused(403, NOT_ALLOWED)
            return 200, (), {"login": token.login, "type": "User"}
        if (method, path.removeprefix("/api")) == ("POST", "/graphql"):
            return self._graphql(content)
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)", path)
        if found is None or found[1] not in token.permissions:
            raise Refused(404, "Not Found")
        place = Place(self, found[1], token)
        for verb, pattern, answer in ROUTES:
            match = re.fullmatch(pattern, found[2])
            if verb == method and match is not None:
                return answer(place, match, query, content)
        raise Refused(404, "Not Found")

    def _graphql(self, content: Thing) -> Reply:
        """Both mutations of a comment's visibility."""
        hide = "unminimizeComment" not in content["query"]
        wanted = content["variables"]["input"]["subjectId"]
        for repository in self.repositories.values():
            for comment in repository.comments:
                if comment["node_id"] == wanted:
                    comment["minimized"] = hide
                    name = "minimizeComment" if hide else "unminimizeComment"
                    field_ = "minimizedComment" if hide else "unminimizedComment"
                    return 200, (), {"data": {name: {field_: {"isMinimized": hide}}}}
        return 200, (), {"errors": [{"message": "Could not resolve to a node"}]}

    def tick(self) -> int:
        self._clock += 1
        return self._clock


def _failed(fault: Fault) -> Reply:
    if fault.reply is None:
        raise Reset
    return fault.reply


@contextmanager
def github_server(prefix: str = "") -> Iterator[GitHub]:
    """Runs such a server; with a prefix such as `/api/v3` as GitHub Enterprise does."""
    server = GitHub()
    with in_a_thread(server.handle) as port:
        server.prefix = prefix
        server.url = f"http://{HOST}:{port}{prefix}"
        yield server

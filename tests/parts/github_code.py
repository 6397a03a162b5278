"""The small GitHub with code in it: files at refs, commits with times, and open pull requests, as the API shows them."""

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.parts.github_rules import Refused, Thing, Token
from tests.parts.github_server import GitHub
from tests.parts.local_http import Reply, in_a_thread
from tests.parts.processes import HOST


@dataclass
class Code:
    """A repository's code.

    Attributes:
        files: By ref (branch or SHA), path and content.
        times: By SHA, when the commit was made.
        merge_bases: By (base, head), the last common commit.
        pulls: Open pull requests: number, head owner, branch and SHA.
    """

    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    times: dict[str, str] = field(default_factory=dict)
    merge_bases: dict[tuple[str, str], str] = field(default_factory=dict)
    pulls: list[tuple[int, str, str, str]] = field(default_factory=list)


class GitHubWithCode(GitHub):
    """Shows code to tokens that may read contents; to others it is not there."""

    def __init__(self) -> None:
        super().__init__()
        self.code = Code()
        self.asked: list[str] = []

    async def handle(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answers one request."""
        self.raw = "raw" in headers.get("accept", "")
        return await super().handle(method, target, headers, body)

    def _route(self, method: str, path: str, query: dict[str, list[str]], content: Thing, token: Token) -> Reply:
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)/(contents|commits|compare|pulls)(?:/(.*))?", path)
        if method != "GET" or found is None or path.endswith(("/check-runs", "/statuses", "/status")):
            return super()._route(method, path, query, content, token)
        self.asked.append(path)
        if "contents" not in token.permissions.get(found[1], ()):
            raise Refused(404, "Not Found")
        if found[2] == "pulls":
            return 200, (), list(self._pulls(query["head"][0]))
        answer = {"contents": self._contents, "commits": self._commit, "compare": self._compare}[found[2]]
        return answer(unquote(found[3]), query)

    def _contents(self, path: str, query: dict[str, list[str]]) -> Reply:
        files = self.code.files.get(query["ref"][0], {})
        if path in files:
            return 200, (), files[path] if self.raw else {"content": base64.b64encode(files[path]).decode()}
        below = {name.removeprefix(f"{path}/").partition("/") for name in files if name.startswith(f"{path}/")}
        entries = {name: "dir" if rest else "file" for name, rest, _ in below}
        if not entries:
            raise Refused(404, "Not Found")
        return (
            200,
            (),
            [{"name": name, "path": f"{path}/{name}", "type": kind} for name, kind in sorted(entries.items())],
        )

    def _commit(self, ref: str, query: dict[str, list[str]]) -> Reply:
        if ref not in self.code.times and ref not in self.code.files:
            raise Refused(422, f"No commit found for SHA: {ref}")
        return 200, (), self._committed(ref)

    def _compare(self, range_: str, query: dict[str, list[str]]) -> Reply:
        base, _, head = range_.partition("...")
        common = self.code.merge_bases.get((base, head))
        if common is None:
            raise Refused(404, "Not Found")
        return 200, (), {"merge_base_commit": self._committed(common), "commits": []}

    def _committed(self, ref: str) -> dict[str, Any]:
        return {"sha": ref, "commit": {"committer": {"date": self.code.times.get(ref, "2026-03-01T09:00:00Z")}}}

    def _pulls(self, head: str) -> Iterator[dict[str, Any]]:
        for number, owner, branch, sha in self.code.pulls:
            if head == f"{owner}:{branch}":
                yield {"number": number, "state": "open", "head": {"ref": branch, "sha": sha}}


__all__ = ["Code", "GitHubWithCode", "github_with_code"]


@contextmanager
def github_with_code() -> Iterator[GitHubWithCode]:
    """Runs such a server; the token `token` may do everything that ragguard asks for."""
    server = GitHubWithCode()
    server.allow("token", "contents", "checks", "issues", "pull-requests", "statuses")
    with in_a_thread(server.handle) as port:
        server.url = f"http://{HOST}:{port}"
        yield server

"""Reads a repository through GitHub's API: files and folders at a ref, times of commits, pull requests of a head.

No git and no history is needed. What is not there is None; what may not be read is an error, since a policy that
cannot be read must never count as one that does not exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import SecretStr

from ragguard.core.text import one_line
from ragguard.core.times import read_moment
from ragguard.errors import OutsideWorldError

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 15
_TRIES = 4
_LONGEST_WAIT_S = 60.0
_MAX_BYTES = 1_000_000
_MAX_FILES = 100
_MOST_PULL_REQUESTS = 10**12
_RAW = "application/vnd.github.raw+json"
_JSON = "application/vnd.github+json"


@dataclass(frozen=True)
class GitHubReader:
    """A repository as the API shows it.

    Attributes:
        repository: `owner/name`.
        token: What opens it; None reads what is public.
        api: The API's address.
        sleep: Waits so many seconds before another try.
    """

    repository: str
    token: SecretStr | None = None
    api: str = "https://api.github.com"
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def close(self) -> None:
        """Frees the connection."""
        if "_client" in self.__dict__:
            self._client.close()

    def file(self, path: str, ref: str) -> bytes | None:
        """A file's content at a branch or commit; None where there is no such file.

        Raises:
            OutsideWorldError: GitHub cannot be reached, or does not let the token read the repository.
        """
        reply = self._get(self._contents(path), {"ref": ref}, accept=_RAW)
        if reply is None:
            self._check_readable(ref)
            return None
        if len(reply.content) > _MAX_BYTES:
            raise OutsideWorldError(f"{path} of {self.repository} at {ref} is larger than {_MAX_BYTES:,} bytes")
        return reply.content

    def has(self, path: str, ref: str) -> bool:
        """Whether there is a file or folder of that path at a branch or commit; not where the token may not see it.

        Raises:
            OutsideWorldError: GitHub cannot be reached.
        """
        return self._get(self._contents(path), {"ref": ref}) is not None

    def folder(self, path: str, ref: str) -> dict[str, bytes]:
        """All files below a folder at a branch or commit, by their path in it; empty where there is none.

        Raises:
            OutsideWorldError: As `file`; or there are too many.
        """
        found: dict[str, bytes] = {}
        waiting = [""]
        while waiting:
            below = waiting.pop()
            reply = self._get(self._contents(f"{path}/{below}".strip("/")), {"ref": ref})
            if reply is None:
                self._check_readable(ref)
                continue
            for kind, entry in _entries(_json(reply)):
                name = f"{below}/{entry}".strip("/")
                if kind == "dir":
                    waiting.append(name)
                elif kind == "file":
                    found[name] = self.file(f"{path}/{name}", ref) or b""
                if len(found) + len(waiting) > _MAX_FILES:
                    raise OutsideWorldError(f"{path} of {self.repository} at {ref} holds more than {_MAX_FILES} files")
        return found

    def commit_time(self, commit: str) -> datetime | None:
        """When a commit was made; None where it is unknown."""
        reply = self._get(f"commits/{commit}")
        return None if reply is None else _committed(_json(reply))

    def merge_base_time(self, base: str, head: str) -> datetime | None:
        """When the last common commit of two was made; None where it is unknown."""
        reply = self._get(f"compare/{base}...{head}", {"per_page": "1"})
        return None if reply is None else _committed(_part(_json(reply), "merge_base_commit"))

    def open_pull_requests(self, commit: str, owner: str, branch: str) -> Sequence[int]:
        """The numbers of the open pull requests into this repository whose head is exactly this commit of a branch."""
        reply = self._get("pulls", {"state": "open", "head": f"{owner}:{branch}", "per_page": "100"})
        pulls = _json(reply) if reply is not None else []
        return [
            pull["number"]
            for pull in (pulls if isinstance(pulls, list) else ())
            if isinstance(pull, dict) and _is_number(pull.get("number")) and _part(pull, "head").get("sha") == commit
        ]

    def _contents(self, path: str) -> str:
        return f"contents/{quote(path)}"

    def _check_readable(self, ref: str) -> None:
        """GitHub answers 404 for what a token may not see as well.

        Raises:
            OutsideWorldError: The token cannot see the ref.
        """
        if self._get(f"commits/{quote(ref, safe='')}") is None:
            raise self._refused(404, f"the ref {ref}")

    def _refused(self, status: int, what: str) -> OutsideWorldError:
        return OutsideWorldError(
            f"GitHub does not show {what} of {self.repository} to this token ({status})",
            mend="give the job the permission `contents: read`, and the step the input `github-token`",
        )

    @cached_property
    def _client(self) -> httpx.Client:
        import httpx

        headers = {"X-GitHub-Api-Version": "2022-11-28", "User-Agent": "ragguard"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token.get_secret_value()}"
        return httpx.Client(headers=headers, timeout=_TIMEOUT_S, follow_redirects=True)

    def _get(self, path: str, query: Mapping[str, str] | None = None, accept: str = _JSON) -> httpx.Response | None:
        """A reply, or None for a 404; limits and outages are waited for a little."""
        import httpx

        url, said = f"{self.api.rstrip('/')}/repos/{self.repository}/{path}", ""
        for number in range(_TRIES):
            wait = float(2**number)
            try:
                reply = self._client.get(url, params=query, headers={"Accept": accept})
            except httpx.HTTPError as error:
                said = type(error).__name__
            else:
                if reply.status_code < 400:
                    return reply
                if reply.status_code in {404, 422}:
                    return None
                said = f"{reply.status_code}: {one_line(reply.text)[:200]}"
                asked = _asked_to_wait(reply)
                if reply.status_code < 500 and asked is None:
                    raise self._refused(reply.status_code, path.partition("/")[0])
                wait = wait if asked is None else asked
            if number == _TRIES - 1 or wait > _LONGEST_WAIT_S:
                break
            self.sleep(wait)
        raise OutsideWorldError(f"GitHub cannot be read ({said})", mend="run again; the state of GitHub is public")


def _asked_to_wait(reply: httpx.Response) -> float | None:
    """Seconds that a limit asks to wait; None where the refusal is no limit."""
    if reply.status_code not in {403, 429}:
        return None
    after = reply.headers.get("retry-after", "")
    if after.isdecimal():
        return float(after)
    if reply.headers.get("x-ratelimit-remaining") == "0" or reply.status_code == 429:
        reset = reply.headers.get("x-ratelimit-reset", "")
        return max(1.0, float(reset) - time.time()) if reset.isdecimal() else _LONGEST_WAIT_S
    return _LONGEST_WAIT_S if "rate limit" in reply.text.lower() else None


def _json(reply: httpx.Response) -> Any:
    """What a reply holds.

    Raises:
        OutsideWorldError: It is no JSON, so that somebody else than GitHub answers, such as a proxy.
    """
    try:
        return reply.json()
    except (ValueError, RecursionError):
        raise OutsideWorldError(
            f"what answers ({reply.status_code}) is not GitHub: its reply is no JSON",
            mend="see whether a proxy stands before GITHUB_API_URL",
        ) from None


def _entries(listed: Any) -> Iterator[tuple[str, str]]:
    """Type and name of each entry of a folder.

    Raises:
        OutsideWorldError: An entry is none of GitHub's: a folder that is read in part would be another folder.
    """
    for entry in listed if isinstance(listed, list) else ():
        kind, name = (entry.get("type"), entry.get("name")) if isinstance(entry, dict) else (None, None)
        if not isinstance(kind, str) or not isinstance(name, str) or "/" in name or name in {"", ".", ".."}:
            raise OutsideWorldError("what answers is not GitHub: its list of a folder holds something else")
        yield kind, name


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST_PULL_REQUESTS


def _part(data: Any, name: str) -> dict[str, Any]:
    found = data.get(name) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _committed(data: Any) -> datetime | None:
    return read_moment(_part(_part(data, "commit"), "committer").get("date"))

"""Reading a repository through the API: what is not there, what may not be seen, limits and outages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from ragguard.adapters.github_reader import GitHubReader
from ragguard.errors import OutsideWorldError
from tests.parts.github_code import GitHubWithCode, github_with_code
from tests.parts.github_server import Fault


@pytest.fixture
def github() -> Iterator[GitHubWithCode]:
    with github_with_code() as server:
        server.code.files["main"] = {"a/b c.yaml": "giá trị".encode(), "t/x.j2": b"1", "t/judge/y.j2": b"2"}
        yield server


class Waits(list[float]):
    """Takes note of what was waited."""


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def reader(github: GitHubWithCode, waits: Waits) -> Iterator[GitHubReader]:
    made = GitHubReader("acme/tutor", SecretStr("token"), github.url, waits.append)
    yield made
    made.close()


def test_a_file_is_read_as_it_is(reader: GitHubReader) -> None:
    assert reader.file("a/b c.yaml", "main") == "giá trị".encode()


def test_a_file_that_is_not_there_is_none(reader: GitHubReader) -> None:
    assert reader.file("a/none.yaml", "main") is None


def test_what_the_token_may_not_see_is_no_missing_file(github: GitHubWithCode) -> None:
    github.allow("blind", "issues")
    reader = GitHubReader("acme/tutor", SecretStr("blind"), github.url)
    with pytest.raises(OutsideWorldError, match="contents: read"):
        reader.file("ragguard.yaml", "main")
    reader.close()


def test_a_ref_that_is_not_there_is_no_missing_file(reader: GitHubReader) -> None:
    with pytest.raises(OutsideWorldError, match="the ref gone"):
        reader.file("a/b c.yaml", "gone")


def test_a_folder_is_read_with_all_below_it(reader: GitHubReader) -> None:
    assert reader.folder("t", "main") == {"x.j2": b"1", "judge/y.j2": b"2"}
    assert reader.folder("nothing", "main") == {}


def test_a_folder_of_too_many_files_is_refused(github: GitHubWithCode, reader: GitHubReader) -> None:
    github.code.files["main"] = {f"t/{n}": b"" for n in range(101)}
    with pytest.raises(OutsideWorldError, match="more than 100"):
        reader.folder("t", "main")


def test_a_file_that_is_too_large_is_refused(github: GitHubWithCode, reader: GitHubReader) -> None:
    github.code.files["main"]["large"] = b"x" * 1_000_001
    with pytest.raises(OutsideWorldError, match="larger"):
        reader.file("large", "main")


def test_times_of_commits(github: GitHubWithCode, reader: GitHubReader) -> None:
    github.code.times["b" * 40] = "2026-10-01T12:00:00Z"
    github.code.merge_bases["c" * 40, "d" * 40] = "b" * 40
    when = datetime(2026, 10, 1, 12, tzinfo=UTC)
    assert reader.commit_time("b" * 40) == reader.merge_base_time("c" * 40, "d" * 40) == when
    assert reader.commit_time("e" * 40) is None
    assert reader.merge_base_time("e" * 40, "f" * 40) is None


def test_only_the_pull_request_whose_head_is_this_commit(github: GitHubWithCode, reader: GitHubReader) -> None:
    github.code.pulls = [(1, "mai", "main", "a" * 40), (2, "mai", "main", "b" * 40), (3, "eve", "main", "a" * 40)]
    assert list(reader.open_pull_requests("a" * 40, "mai", "main")) == [1]


@pytest.mark.parametrize("status", [500, 502, None])
def test_an_outage_is_waited_for(
    github: GitHubWithCode, reader: GitHubReader, waits: Waits, status: int | None
) -> None:
    github.fail("contents", status, "oops", times=2)
    assert reader.file("t/x.j2", "main") == b"1"
    assert waits == [1, 2]


def test_a_limit_is_obeyed(github: GitHubWithCode, reader: GitHubReader, waits: Waits) -> None:
    github.fail("contents", 429, "slow down", ["retry-after: 7"])
    github.fail("contents", 403, "You have exceeded a secondary rate limit", ["retry-after: 9"])
    assert reader.file("t/x.j2", "main") == b"1"
    assert waits == [7, 9]


def test_a_limit_that_asks_too_much_is_an_error(github: GitHubWithCode, reader: GitHubReader, waits: Waits) -> None:
    github.fail("contents", 403, "limit", ["x-ratelimit-remaining: 0", "x-ratelimit-reset: 99999999999"])
    with pytest.raises(OutsideWorldError, match="cannot be read"):
        reader.file("t/x.j2", "main")
    assert waits == []


def test_an_outage_that_lasts_is_an_error_without_the_token(github: GitHubWithCode, reader: GitHubReader) -> None:
    github.fail("contents", 503, "down", times=9)
    with pytest.raises(OutsideWorldError) as told:
        reader.file("t/x.j2", "main")
    assert "token" not in str(told.value)


def test_a_refusal_is_told_with_the_permission(github: GitHubWithCode, reader: GitHubReader) -> None:
    github.fail("contents", 403, "Resource not accessible by integration")
    with pytest.raises(OutsideWorldError, match="contents: read"):
        reader.file("t/x.j2", "main")


@pytest.mark.parametrize("body", [b"<html>captive portal</html>", b"", b"\xff\xfe"])
def test_a_reply_that_is_no_json_is_an_outage(github: GitHubWithCode, reader: GitHubReader, body: bytes) -> None:
    github.faults.append(Fault("", (200, (), body), times=9))
    for ask in (
        lambda: reader.commit_time("a" * 40),
        lambda: reader.folder("t", "main"),
        lambda: reader.open_pull_requests("a" * 40, "mai", "main"),
    ):
        with pytest.raises(OutsideWorldError, match="is not GitHub"):
            ask()


@pytest.mark.parametrize(
    "entry", [5, {}, {"type": "file"}, {"type": "file", "name": "../x"}, {"type": "dir", "name": ".."}, {"name": "x"}]
)
def test_a_folder_that_is_none_of_githubs_is_not_read_in_part(
    github: GitHubWithCode, reader: GitHubReader, entry: object
) -> None:
    github.faults.append(Fault("contents", (200, (), [entry])))
    with pytest.raises(OutsideWorldError, match="is not GitHub"):
        reader.folder("t", "main")


def test_pull_requests_and_times_that_are_none_of_githubs_are_unknown(
    github: GitHubWithCode, reader: GitHubReader
) -> None:
    head = {"sha": "a" * 40}
    strange = [5, {"number": True, "head": head}, {"number": "1", "head": head}, {"number": 2, "head": 7}]
    github.faults.append(Fault("pulls", (200, (), [*strange, {"number": 3, "head": head}])))
    assert list(reader.open_pull_requests("a" * 40, "mai", "main")) == [3]
    for date in ("0001-01-01T00:00:00+14:00", "never", 5, None):
        github.faults.append(Fault("commits", (200, (), {"commit": {"committer": {"date": date}}})))
        assert reader.commit_time("b" * 40) is None

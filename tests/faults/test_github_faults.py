"""GitHub refuses, limits, breaks off or is somebody else: the verdict stays, and what was not delivered is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.letters import GITHUB_TOKEN
from tests.faults.fault import Fault
from tests.faults.telling import Kept, Town, Untold, hold_told, town
from tests.parts.faulty_proxy import Fault as Break
from tests.parts.faulty_proxy import (
    bad_gzip,
    circle,
    delayed,
    empty,
    garbled,
    half,
    page,
    refused,
    reset,
    status,
    truncated,
    wrong_length,
)
from tests.parts.github_rules import NOT_ALLOWED, SECONDARY

VERDICT = "verdict, reports; no comment"
COMMENT = "verdict, reports, one comment"
TWO = "verdict, reports, a new comment beside the old one"
STATUS = "verdict, reports, a commit status in the place of the check"
NEITHER = "verdict, reports; neither check nor status"
ISSUE = "verdict, reports, one issue"
NO_ISSUE = "verdict, reports; no issue"


def _fault(name: str, kept: str, says: str, shown: str = "") -> Fault:
    return Fault("GitHub", name, "failed", 1, kept, says, shown)


def _comments(fault: Break, first: int = 0) -> Callable[[Town], object]:
    """Breaks what has to do with comments: always, or the first so many calls."""

    def hurt(place: Town) -> None:
        if first:
            place.to_github.first(first, fault, path="/comments")
        else:
            place.to_github.always(fault, path="/comments")

    return hurt


def _everything(fault: Break) -> Callable[[Town], object]:
    return lambda place: place.to_github.always(fault)


def _said(code: int, message: str, **headers: str) -> Break:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status(code, headers=named, body=f'{{"message": "{message}"}}'.encode())


def _without(*permissions: str) -> Callable[[Town], object]:
    def hurt(place: Town) -> None:
        for permission in permissions:
            place.github.tokens[GITHUB_TOKEN].permissions["acme/tutor"].discard(permission)

    return hurt


def _another_run(edit: str | None) -> Callable[[Town], object]:
    """An earlier run has left its comment; somebody edits it."""

    def hurt(place: Town) -> None:
        assert place.run().exit_code == 1
        (comment,) = place.comments
        if edit is not None:
            comment["body"] = edit.format(body=comment["body"])

    return hurt


def _huge_neighbours(place: Town) -> None:
    for _ in range(120):
        place.github.add_comment(1, "数" * 65_536)


def _reply_lost(place: Town) -> None:
    place.github.fail("POST .*comments", None, done_first=True)


def _no_issues(place: Town) -> None:
    place.github.repositories["acme/tutor"].has_issues = False


_MAIN = "create_issue: acme/tutor"
_LIMIT = "You have exceeded a limit"

TOLD = (
    Untold(
        _fault("401: the token is refused", VERDICT, r"GitHub refuses the token \(401\)", "“GitHub refuses the token (401)”"),
        lambda place: place.github.tokens.clear(),
    ),
    Untold(
        _fault("403: no permission for comments", VERDICT, "the token needs the permission `pull-requests: write`"),
        _comments(_said(403, NOT_ALLOWED)),
    ),
    Untold(
        _fault("403: no permission for checks", STATUS, "failure, as a commit status: .*`checks: write`", "“failure, as a commit status: …”"),
        _without("checks"),
    ),
    Untold(
        _fault("403: neither for checks nor for statuses", NEITHER, "`checks: write`.*nor a commit status: .*`statuses: write`",
               "“… `checks: write` …; nor a commit status: …”"),
        _without("checks", "statuses"),
    ),
    Untold(
        _fault("403: primary limit, an hour to wait", VERDICT, "asked to wait 3,600 s, longer than a delivery may"),
        _comments(_said(403, _LIMIT, x_ratelimit_remaining="0", x_ratelimit_reset="1790003600", date="Mon, 21 Sep 2026 14:13:20 GMT")),
    ),
    Untold(_fault("403: secondary limit, Retry-After 30", COMMENT, "wrote http"), _comments(_said(403, SECONDARY, retry_after="30"), 1)),
    Untold(_fault("403: secondary limit without a time", COMMENT, "wrote http"), _comments(_said(403, SECONDARY), 1)),
    Untold(
        _fault("429 at every try", VERDICT, r"GitHub's rate limit is reached \(429\)", "“GitHub's rate limit is reached (429)”"),
        _comments(_said(429, _LIMIT, retry_after="1")),
    ),
    Untold(
        _fault("429 with a senseless Retry-After", VERDICT, r"GitHub's rate limit is reached \(429\)", "“GitHub's rate limit is reached (429)”"),
        _comments(_said(429, _LIMIT, retry_after="soon")),
    ),
    Untold(_fault("404: the pull request is gone", VERDICT, "is not there, or the token may not see it"), _comments(_said(404, "Not Found"))),
    Untold(_fault("422: the comment is refused", VERDICT, "GitHub refuses what was sent"), _comments(_said(422, "Validation Failed"))),
    Untold(_fault("410: issues are switched off", NO_ISSUE, "acme/tutor has issues switched off"), _no_issues, _MAIN),
    Untold(_fault("500 once", COMMENT, "wrote http"), _comments(_said(500, "Server Error"), 1)),
    Untold(_fault("502 at every try", VERDICT, r"GitHub answered 502 \(4 tries\)", "“GitHub answered 502 (4 tries)”"), _comments(_said(502, "Bad Gateway"))),
    Untold(_fault("a page instead of a reply", VERDICT, "what answers is not GitHub"), _comments(page())),
    Untold(_fault("a page with 502", VERDICT, "GitHub answered 502"), _comments(page(502))),
    Untold(_fault("an empty reply", VERDICT, "what answers is not GitHub"), _comments(empty())),
    Untold(_fault("half a JSON text", VERDICT, "what answers is not GitHub"), _comments(truncated(0.9))),
    Untold(_fault("a reply that is no UTF-8", VERDICT, "what answers is not GitHub"), _comments(garbled())),
    Untold(_fault("a reply that says gzip and is not", VERDICT, "GitHub cannot be reached"), _comments(bad_gzip())),
    Untold(_fault("breaks off in the middle of a reply", VERDICT, "GitHub cannot be reached"), _comments(half(0.9))),
    Untold(_fault("promises more than it sends", COMMENT, "wrote http"), _comments(wrong_length(5), 1)),
    Untold(_fault("resets connections", VERDICT, "GitHub cannot be reached"), _everything(reset())),
    Untold(_fault("refuses connections", NEITHER, "GitHub cannot be reached"), _everything(refused())),
    Untold(_fault("redirects in a circle", VERDICT, "GitHub"), _comments(circle())),
    Untold(_fault("slow", COMMENT, "wrote http"), _comments(delayed(0.2))),
    Untold(_fault("the comment is written, but the reply is lost", COMMENT, "updated http"), _reply_lost),
    Untold(_fault("somebody edited the comment's text", COMMENT, "updated http"), _another_run("{body}\n\nI beg to differ. 学")),
    Untold(_fault("somebody emptied the comment", TWO, "wrote http"), _another_run("")),
    Untold(_fault("somebody wrote before the marker", TWO, "wrote http"), _another_run("Edit: see below\n{body}")),
    Untold(_fault("120 comments of 65,536 characters stand before", COMMENT, "wrote http"), _huge_neighbours),
    Untold(_fault("no token", VERDICT, "GITHUB_TOKEN is not set"), lambda place: place.environment.pop("GITHUB_TOKEN")),
    Untold(
        _fault("422: an assignee that it does not know", ISSUE, "without labels and assignees: GitHub refuses them here"),
        lambda place: None, "{create_issue: acme/tutor, assignees: [nobody]}",
    ),
    Untold(_fault("the issue belongs to another repository", NO_ISSUE, "needs RAGGUARD_ISSUE_TOKEN"), lambda place: None, "create_issue: acme/alerts"),
)  # fmt: skip


def _reports(place: Town) -> list[dict[str, object]]:
    return [comment for comment in place.comments if str(comment["body"]).startswith("<!-- ragguard comment")]


def _one_comment(place: Town) -> bool:
    (comment,) = _reports(place)
    return place.arrived("github-comment") and "fell by" in str(comment["body"])


def _a_status(place: Town) -> bool:
    return place.arrived("github-check") and not place.checks and place.statuses[-1]["state"] == "failure"


KEPT: Kept = {
    VERDICT: lambda place: place.failed("github-comment") and not _reports(place),
    COMMENT: _one_comment,
    TWO: lambda place: place.arrived("github-comment") and len(place.comments) == 2 and len(_reports(place)) == 1,
    STATUS: _a_status,
    NEITHER: lambda place: place.failed("github-check") and not place.checks and not place.statuses,
    ISSUE: lambda place: place.arrived("github-issue") and len(place.issues) == 1,
    NO_ISSUE: lambda place: place.failed("github-issue") and not place.issues,
}


@pytest.mark.parametrize("untold", TOLD, ids=lambda untold: untold.fault.name)
def test_github(untold: Untold, tmp_path: Path) -> None:
    with town(tmp_path) as place:
        hold_told(untold, place, KEPT)


@pytest.mark.parametrize("broken", [status(500), page(), reset(), half(0.9)], ids=["500", "page", "reset", "half"])
def test_a_good_run_stays_good_and_says_what_was_not_told(broken: Break, tmp_path: Path) -> None:
    with town(tmp_path) as place:
        place.to_github.always(broken)
        came = place.run(wrong=0)
        assert (came.outcome, came.exit_code) == ("passed", 0)
        assert place.failed("github-check")
        assert place.failed("github-comment")


FAULTS: tuple[Fault, ...] = tuple(untold.fault for untold in TOLD)

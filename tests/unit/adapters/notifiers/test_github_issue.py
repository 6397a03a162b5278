"""The life of an issue, and what GitHub refuses on the way."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from ragguard.adapters.notifiers.github_client import key_of, marker
from ragguard.adapters.notifiers.github_issue import GitHubIssue
from ragguard.core.report import Delivery
from tests.fakes.hostile import HOSTILE
from tests.fakes.letters import GITHUB_TOKEN, ISSUE_TOKEN, NOW, Waits, letter, night, place, secrets
from tests.parts.github_rules import BODY, SECONDARY, Thing
from tests.parts.github_server import GitHub, github_server
from tests.unit.adapters.renderers.reading import commands, controls, foreign_markup, parse, pings

ISSUE = GitHubIssue(repository="acme/tutor")
MARKER = re.compile(r"<!-- [\w -=]+ -->\n?")


@pytest.fixture
def github() -> Iterator[GitHub]:
    with github_server() as server:
        server.allow(GITHUB_TOKEN, "issues")
        yield server


def tell(
    github: GitHub, told, issue: GitHubIssue = ISSUE, waits: Waits | None = None, day: int = 0, **where
) -> Delivery:  # type: ignore[no-untyped-def]
    at = place(github_api=github.url, **{"now": NOW + timedelta(days=day), **where})
    return issue.deliver(told, at, secrets(), (waits or Waits()).patience)


def issues(github: GitHub, repository: str = "acme/tutor") -> list[Thing]:
    return [issue for issue in github.repositories[repository].issues.values() if "ragguard" in issue["body"]]


def test_one_issue_and_one_comment_live_through_an_incident(github: GitHub) -> None:
    github.add_issue()
    told = [
        tell(github, night(1, "warned"), day=1),
        tell(github, night(2, "failed", "faithfulness"), day=2),
        tell(github, night(3, "failed", "faithfulness"), day=3),
        tell(github, night(4, "failed", "answer_relevance"), day=4),
        tell(github, night(5, "passed", recovered=True), day=5),
        tell(github, night(6, "passed"), day=6),
    ]
    assert all(sent.ok for sent in told)
    assert [sent.detail.split()[0] for sent in told] == ["no", "opened", "updated", "updated", "closed", "no"]
    (issue,) = issues(github)
    assert (issue["state"], issue["state_reason"]) == ("closed", "completed")
    assert "answer_relevance" in issue["title"]
    (comment,) = github.repositories["acme/tutor"].comments
    lines = [line for line in comment["body"].splitlines() if line.startswith("- ")]
    assert [line.split(" · ")[1] for line in lines] == ["the same again", "another regression", "closed"]
    assert "2026-03-05 03:00 UTC" in lines[0]


def test_a_closed_issue_is_reopened(github: GitHub) -> None:
    for number, outcome in enumerate(("failed", "passed", "failed", "passed"), 1):
        sent = tell(github, night(number, outcome, "faithfulness"))  # type: ignore[arg-type]
        assert sent.ok
    assert len(issues(github)) == len(github.repositories["acme/tutor"].comments) == 1
    tell(github, night(5, "failed", "faithfulness"))
    assert issues(github)[0]["state"] == "open"
    assert issues(github)[0]["state_reason"] == "reopened"


def test_an_issue_that_somebody_closed_by_hand_is_reopened(github: GitHub) -> None:
    tell(github, night(1, "failed", "faithfulness"))
    issues(github)[0]["state"] = "closed"
    assert tell(github, night(2, "failed", "faithfulness")).detail.startswith("reopened")


def test_the_same_run_told_twice_changes_nothing(github: GitHub) -> None:
    tell(github, night(1, "failed", "faithfulness"))
    assert tell(github, night(1, "failed", "faithfulness")).detail.startswith("has this run already")
    assert github.repositories["acme/tutor"].comments == []


def test_another_suite_or_branch_has_an_issue_of_its_own(github: GitHub) -> None:
    tell(github, night(1, "failed", "faithfulness"))
    tell(github, replace(night(2, "failed", "faithfulness"), branch="release"))
    tell(github, replace(night(3, "failed", "faithfulness"), suite="other"))
    assert len(issues(github)) == 3


def test_an_issue_behind_many_pages_is_found(github: GitHub) -> None:
    tell(github, night(1, "failed", "faithfulness"))
    for _ in range(230):
        github.add_issue()
    assert tell(github, night(2, "failed", "faithfulness")).detail.startswith("updated")
    assert github.requests.count("GET /issues") == 0
    assert sum(request.startswith("GET /repos/acme/tutor/issues") for request in github.requests) >= 4


def test_foreign_issues_and_pull_requests_with_our_marker_are_left_alone(github: GitHub) -> None:
    forged = marker("issue", key_of("issue", "tutor", "main"), metrics="x", run="y")
    github.add_issue(body=f"{forged}\nforged")
    github.add_issue(body=f"quoted: {forged}", user={"login": "github-actions[bot]", "type": "Bot"})
    pull = {"body": forged, "pull_request": {"url": "x"}, "user": {"login": "github-actions[bot]", "type": "Bot"}}
    github.add_issue(**pull)
    assert tell(github, night(1, "failed", "faithfulness")).detail.startswith("opened")
    assert len(issues(github)) == 4


def test_a_persons_token_knows_its_own_issues_by_login(github: GitHub) -> None:
    github.allow(ISSUE_TOKEN, "issues", repository="acme/alerts", login="octavia")
    elsewhere = GitHubIssue(repository="acme/alerts")
    tell(github, night(1, "failed", "faithfulness"), elsewhere)
    tell(github, night(2, "failed", "faithfulness"), elsewhere)
    assert len(issues(github, "acme/alerts")) == 1
    github.allow("another", "issues", repository="acme/alerts", login="somebody-else")
    github.tokens[ISSUE_TOKEN] = github.tokens["another"]
    tell(github, night(3, "failed", "faithfulness"), elsewhere)
    assert len(issues(github, "acme/alerts")) == 2


def test_labels_and_assignees_are_set_on_a_new_issue(github: GitHub) -> None:
    tell(
        github,
        night(1, "failed", "faithfulness"),
        ISSUE.model_copy(update={"labels": ("rag",), "assignees": ("octavia",)}),
    )
    (issue,) = issues(github)
    assert issue["labels"] == [{"name": "rag"}]
    assert issue["assignees"] == [{"login": "octavia"}]


def test_an_assignee_who_is_not_there_does_not_keep_the_issue_away(github: GitHub) -> None:
    sent = tell(github, night(1, "failed", "faithfulness"), ISSUE.model_copy(update={"assignees": ("nobody",)}))
    assert sent.ok
    assert "without labels and assignees" in sent.detail
    assert len(issues(github)) == 1


def test_another_repository_needs_a_token_of_its_own(github: GitHub) -> None:
    elsewhere = GitHubIssue(repository="acme/alerts")
    at = place(github_api=github.url)
    sent = elsewhere.deliver(night(1, "failed"), at, secrets(issue_token=None), Waits().patience)
    assert sent == Delivery(
        "github-issue acme/alerts", ok=False,
        detail="an issue in acme/alerts needs RAGGUARD_ISSUE_TOKEN, a token with `issues: write` there",
    )  # fmt: skip
    assert github.requests == []


def test_a_token_that_may_not_see_the_repository(github: GitHub) -> None:
    github.allow(ISSUE_TOKEN, "issues", repository="acme/other")
    sent = tell(github, night(1, "failed"), GitHubIssue(repository="acme/alerts"))
    assert not sent.ok
    assert "acme/alerts is not there, or the token may not see it (404)" in sent.detail


def test_a_missing_permission_is_named(github: GitHub) -> None:
    github.tokens[GITHUB_TOKEN].permissions["acme/tutor"] = {"contents"}
    sent = tell(github, night(1, "failed"))
    assert not sent.ok
    assert "not allowed in acme/tutor (403): the token needs the permission `issues: write`" in sent.detail


def test_a_wrong_token(github: GitHub) -> None:
    del github.tokens[GITHUB_TOKEN]
    sent = tell(github, night(1, "failed"))
    assert sent.detail == "GitHub refuses the token (401): Bad credentials"


def test_issues_that_are_switched_off(github: GitHub) -> None:
    github.repositories["acme/tutor"].has_issues = False
    assert "has issues switched off (410)" in tell(github, night(1, "failed")).detail


def test_what_github_calls_invalid_is_told(github: GitHub) -> None:
    sent = tell(github, replace(night(1, "failed"), markdown=lambda _channel: "x" * BODY))
    assert not sent.ok
    assert "refuses what was sent (422): Validation Failed; body is too long" in sent.detail


@pytest.mark.parametrize(
    ("status", "message", "headers", "waited"),
    [
        (403, SECONDARY, ["Retry-After: 17"], [17.0]),
        (403, SECONDARY, [], [60.0]),
        (429, "Too many requests", ["Retry-After: 5"], [5.0]),
        (429, "Too many requests", [], [60.0]),
        (403, "API rate limit exceeded", ["X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1772420445",
                                          "Date: Mon, 02 Mar 2026 03:00:00 GMT"], [45.0]),
        (502, "Bad Gateway", [], [1.0]),
        (503, "", [], [1.0]),
        (None, "", [], [1.0]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("at", ["GET .*/issues$", "POST .*/issues$"])
def test_limits_and_outages_are_waited_for(
    github: GitHub, status: int | None, message: str, headers: list[str], waited: list[float], at: str
) -> None:
    github.fail(at, status, message, headers)
    waits = Waits()
    assert tell(github, night(1, "failed", "faithfulness"), waits=waits).ok
    assert waits.asked == waited
    assert len(issues(github)) == 1


@pytest.mark.parametrize("status", [None, 502])
def test_an_issue_that_was_opened_although_the_reply_was_lost_is_not_opened_again(
    github: GitHub, status: int | None
) -> None:
    github.fail("POST .*/issues$", status, "lost", done_first=True)
    assert tell(github, night(1, "failed", "faithfulness")).ok
    assert len(issues(github)) == 1
    assert github.repositories["acme/tutor"].comments == []


def test_a_line_is_not_added_twice_when_the_update_after_it_fails(github: GitHub) -> None:
    tell(github, night(1, "failed", "faithfulness"))
    github.fail("PATCH .*/issues/1$", 502, "Bad Gateway")
    assert tell(github, night(2, "failed", "faithfulness")).ok
    (comment,) = github.repositories["acme/tutor"].comments
    assert comment["body"].count("the same again") == 1


def test_waiting_has_an_end(github: GitHub) -> None:
    github.fail("GET .*/issues$", 403, SECONDARY, ["Retry-After: 3600"])
    waits = Waits()
    sent = tell(github, night(1, "failed"), waits=waits)
    assert not sent.ok
    assert "asked to wait 3,600 s, longer than a delivery may" in sent.detail
    assert waits.asked == []


def test_an_outage_that_lasts_is_given_up(github: GitHub) -> None:
    github.fail("/issues", 500, "oops", times=99)
    waits = Waits()
    sent = tell(github, night(1, "failed"), waits=waits)
    assert sent.detail == "GitHub answered 500 (4 tries)"
    assert waits.asked == [1.0, 2.0, 4.0]


def test_a_server_that_is_not_there() -> None:
    sent = ISSUE.deliver(night(1, "failed"), place(github_api="http://127.0.0.1:9"), secrets(), Waits().patience)
    assert sent.detail == "GitHub cannot be reached (ConnectionError) (4 tries)"


def test_github_enterprise_has_its_api_under_a_path() -> None:
    with github_server("/api/v3") as enterprise:
        enterprise.allow(GITHUB_TOKEN, "issues")
        for _ in range(130):
            enterprise.add_issue()
        assert tell(enterprise, night(1, "failed", "faithfulness")).ok
        assert tell(enterprise, night(2, "failed", "faithfulness")).detail.startswith("updated")


def test_a_key_that_an_error_repeats_is_blotted_out(github: GitHub) -> None:
    github.fail("/issues", 422, f"cannot use {GITHUB_TOKEN} here")
    assert tell(github, night(1, "failed")).detail.endswith("cannot use *** here")


def test_the_comment_of_a_thousand_nights_stays_under_the_limit(github: GitHub) -> None:
    tell(github, night(0, "failed", "faithfulness"))
    tell(github, night(1, "failed", "faithfulness"))
    (comment,) = github.repositories["acme/tutor"].comments
    head, line = comment["body"].rsplit("\n", 1)
    comment["body"] = "\n".join([head, *[line.replace("UTC", f"UTC {n}") for n in range(1_000)]])
    assert tell(github, night(2, "failed", "faithfulness")).ok
    assert 50_000 < len(comment["body"]) <= BODY
    assert "*Earlier runs are left out here.*" in comment["body"]
    assert comment["body"].splitlines()[-1] != line


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_stays_text_in_issue_and_comment(github: GitHub, hostile: str) -> None:
    def told(run: str):  # type: ignore[no-untyped-def]
        return letter(
            "failed", run_id=run, suite=f"{hostile[:60]}x", branch=hostile[:60], text=lambda text: f"{hostile} {text}"
        )

    assert tell(github, told("1")).ok
    assert tell(github, told("2")).ok
    (issue,) = github.repositories["acme/tutor"].issues.values()
    (comment,) = github.repositories["acme/tutor"].comments
    assert "\n" not in issue["title"]
    for body in (issue["body"], comment["body"]):
        first, _, rest = body.partition("\n")
        assert re.fullmatch(r"<!-- ragguard (issue|log) key=[0-9a-f]{16}[\w= ]* -->", first)
        tokens = parse(re.sub(r"<!-- [0-9a-f]{16} -->", "", rest))
        assert foreign_markup(tokens) == []
        assert pings(tokens) == []
        assert commands(body) == []
        assert controls(body) == []

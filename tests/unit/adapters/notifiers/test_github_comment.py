"""One comment for each suite on a pull request, through pushes, pages and refusals."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ragguard.adapters.notifiers.base import Letter
from ragguard.adapters.notifiers.github_client import key_of, marker
from ragguard.adapters.notifiers.github_comment import GitHubComment
from ragguard.core.report import Delivery
from ragguard.core.runs import Outcome
from tests.fakes.hostile import HOSTILE
from tests.fakes.letters import GITHUB_TOKEN, Waits, letter, place, secrets
from tests.parts.github_rules import BODY, SECONDARY, Thing
from tests.parts.github_server import GitHub, github_server
from tests.unit.adapters.renderers.reading import commands, controls, foreign_markup, parse, pings

COMMENT = GitHubComment()
KEY = key_of("comment", "tutor")


@pytest.fixture
def github() -> Iterator[GitHub]:
    with github_server() as server:
        server.allow(GITHUB_TOKEN, "pull-requests")
        server.add_pull_request()
        yield server


def tell(github: GitHub, told: Letter, comment: GitHubComment = COMMENT, waits: Waits | None = None) -> Delivery:
    at = place("pull_request", github_api=github.url, pull_request=1)
    return comment.deliver(told, at, secrets(), (waits or Waits()).patience)


def ours(github: GitHub) -> list[Thing]:
    comments = github.repositories["acme/tutor"].comments
    return [comment for comment in comments if comment["user"]["login"] == "github-actions[bot]"]


def test_one_comment_lives_through_all_pushes(github: GitHub) -> None:
    outcomes: tuple[Outcome, ...] = ("warned", "failed", "failed", "inconclusive", "passed")
    told = [tell(github, letter(outcome)) for outcome in outcomes]
    assert [sent.detail.split()[0] for sent in told] == ["wrote", *["updated"] * 4]
    (comment,) = ours(github)
    assert "Passed" in comment["body"].splitlines()[1]
    assert comment["body"].splitlines()[0] == marker("comment", KEY)


def test_each_suite_has_its_own(github: GitHub) -> None:
    tell(github, letter())
    tell(github, replace(letter(), suite="other"))
    tell(github, replace(letter(), suite="other"))
    assert len(ours(github)) == 2


def test_a_comment_behind_many_pages_is_found(github: GitHub) -> None:
    for number in range(250):
        github.add_comment(1, f"comment {number}")
    tell(github, letter())
    for number in range(150):
        github.add_comment(1, f"later comment {number}")
    assert tell(github, letter("passed")).detail.startswith("updated")
    assert len(ours(github)) == 1


def test_a_forged_or_quoted_marker_is_left_alone(github: GitHub) -> None:
    forged = github.add_comment(1, marker("comment", KEY))
    quoted = github.add_comment(1, f"> {marker('comment', KEY)}", login="github-actions[bot]")
    assert tell(github, letter()).detail.startswith("wrote")
    assert (forged["body"], quoted["body"]) == (marker("comment", KEY), f"> {marker('comment', KEY)}")


def test_a_recovered_comment_is_hidden_if_so_configured_and_shown_again(github: GitHub) -> None:
    hiding = GitHubComment(hide_on_recovery=True)
    hidden = []
    for outcome in ("failed", "passed", "failed"):
        assert tell(github, letter(outcome), hiding).ok  # type: ignore[arg-type]
        hidden.append(tell(github, letter(outcome), hiding).ok and ours(github)[0]["minimized"])  # type: ignore[arg-type]
    assert hidden == [False, True, False]
    tell(github, letter("passed"))
    assert ours(github)[0]["minimized"] is False


@pytest.mark.parametrize(
    ("status", "message", "headers", "waited"),
    [(403, SECONDARY, ["Retry-After: 17"], [17.0]), (429, "", [], [60.0]), (500, "", [], [1.0]), (None, "", [], [1.0])],
)
@pytest.mark.parametrize("line", ["GET .*/comments", "POST .*/comments"])
def test_limits_and_outages_are_waited_for(
    github: GitHub, status: int | None, message: str, headers: list[str], waited: list[float], line: str
) -> None:
    github.fail(line, status, message, headers)
    waits = Waits()
    assert tell(github, letter(), waits=waits).ok
    assert waits.asked == waited
    assert len(ours(github)) == 1


def test_a_page_that_is_lost_on_the_way_makes_no_second_comment(github: GitHub) -> None:
    for number in range(250):
        github.add_comment(1, f"comment {number}")
    tell(github, letter())
    github.fail("GET .*/comments", None, after=2)
    assert tell(github, letter()).detail.startswith("updated")
    assert len(ours(github)) == 1


def test_a_comment_that_was_written_although_the_reply_was_lost_is_not_written_again(github: GitHub) -> None:
    github.fail("POST .*/comments", None, done_first=True)
    assert tell(github, letter()).ok
    assert len(ours(github)) == 1


def test_a_forks_token_may_not_write(github: GitHub) -> None:
    github.tokens[GITHUB_TOKEN].permissions["acme/tutor"] = set()
    sent = tell(github, letter())
    assert not sent.ok
    assert "needs the permission `pull-requests: write`" in sent.detail


def test_outside_a_pull_request_a_line_says_so(github: GitHub) -> None:
    sent = COMMENT.deliver(letter(), place(github_api=github.url), secrets(), Waits().patience)
    assert sent == Delivery("github-comment", ok=False, detail="no pull request is known to comment on")


def test_five_thousand_samples_and_megabytes_stay_under_the_limit(github: GitHub) -> None:
    told = letter("failed", n_samples=5_000, n_regressed=1_000, text=lambda text: text + " nói" * 20)
    assert tell(github, told).ok
    body = ours(github)[0]["body"]
    assert len(body.encode("utf-16-le")) // 2 <= BODY
    assert "995 more regressed samples left out here" in body


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_stays_text(github: GitHub, hostile: str) -> None:
    tell(github, letter("failed", text=lambda text: f"{hostile} {text} {hostile}", notices=(hostile,)))
    first, _, rest = ours(github)[0]["body"].partition("\n")
    assert first == marker("comment", KEY)
    tokens = parse(rest)
    assert foreign_markup(tokens) == []
    assert pings(tokens) == []
    assert commands(rest) == []
    assert controls(rest) == []

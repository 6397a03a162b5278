"""The check run of a suite from its beginning to its end, and the commit status in its place."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragguard.adapters.notifiers.base import Letter
from ragguard.adapters.notifiers.github_check import GitHubCheck
from ragguard.adapters.notifiers.github_client import RefusedError
from ragguard.adapters.notifiers.patience import DeliveryError
from ragguard.core.report import Delivery
from ragguard.core.runs import Outcome
from tests.fakes.hostile import HOSTILE
from tests.fakes.letters import GITHUB_TOKEN, Waits, letter, place, secrets
from tests.fakes.reports import LINKS
from tests.parts.github_rules import SECONDARY, SHA, SUMMARY, Repository
from tests.parts.github_server import GitHub, github_server
from tests.unit.adapters.renderers.reading import commands, controls, foreign_markup, parse, pings

CHECK = GitHubCheck()


@pytest.fixture
def github() -> Iterator[GitHub]:
    with github_server() as server:
        server.allow(GITHUB_TOKEN, "checks", "statuses")
        yield server


def at(github: GitHub, **fields: object):  # type: ignore[no-untyped-def]
    return place("pull_request", **{"github_api": github.url, "commit": SHA, "pull_request": 1, **fields})


def tell(github: GitHub, told: Letter, waits: Waits | None = None) -> Delivery:
    return CHECK.deliver(told, at(github), secrets(), (waits or Waits()).patience)


def here(github: GitHub) -> Repository:
    return github.repositories["acme/tutor"]


def begin(github: GitHub, told: Letter) -> None:
    CHECK.open(told.suite, told.run_id, told.links, at(github), secrets())


@pytest.mark.parametrize(
    ("outcome", "code", "conclusion"),
    [
        ("passed", 0, "success"),
        ("warned", 0, "success"),
        ("warned", 3, "failure"),
        ("failed", 1, "failure"),
        ("inconclusive", 0, "neutral"),
        ("inconclusive", 3, "failure"),
        ("not_comparable", 0, "neutral"),
        ("error", 4, "failure"),
        ("passed", 4, "failure"),
    ],
)
def test_one_check_from_beginning_to_end(github: GitHub, outcome: Outcome, code: int, conclusion: str) -> None:
    told = replace(letter(outcome), exit_code=code)
    begin(github, told)
    (check,) = here(github).checks
    assert (check["name"], check["status"], check["head_sha"]) == ("ragguard / tutor", "in_progress", SHA)
    assert check["details_url"] == LINKS.run
    assert tell(github, told) == Delivery("github-check", ok=True, detail=conclusion)
    (check,) = here(github).checks
    assert (check["status"], check["conclusion"]) == ("completed", conclusion)
    assert check["output"]["title"] == told.headline
    assert check["output"]["summary"].startswith("### ")


def test_an_interrupted_run_does_not_leave_its_check_spinning(github: GitHub) -> None:
    told = replace(letter("error"), interrupted=True, exit_code=130)
    begin(github, told)
    assert tell(github, told).detail == "cancelled"
    assert here(github).checks[0]["conclusion"] == "cancelled"


def test_a_check_that_was_never_opened_is_made_at_the_end(github: GitHub) -> None:
    assert tell(github, letter("passed")).ok
    assert [check["status"] for check in here(github).checks] == ["completed"]


def test_another_runs_check_is_left_alone(github: GitHub) -> None:
    begin(github, replace(letter(), run_id="earlier attempt"))
    begin(github, replace(letter(), suite="other"))
    begin(github, letter())
    tell(github, letter())
    assert [check["status"] for check in here(github).checks] == ["in_progress", "in_progress", "completed"]


def test_a_commit_status_where_checks_may_not_be_written(github: GitHub) -> None:
    github.tokens[GITHUB_TOKEN].permissions["acme/tutor"] = {"statuses"}
    begin(github, letter())
    sent = tell(github, letter())
    assert sent.ok
    assert (
        "failure, as a commit status: not allowed in acme/tutor (403): the token needs the permission `checks: write`"
        in (sent.detail)
    )
    assert [status["state"] for status in here(github).statuses] == ["pending", "failure"]
    assert here(github).statuses[1]["context"] == "ragguard / tutor"
    assert here(github).statuses[1]["target_url"] == LINKS.run


@pytest.mark.parametrize(
    ("outcome", "interrupted", "state"),
    [("passed", False, "success"), ("not_comparable", False, "success"), ("error", True, "error")],
)
def test_states_stand_for_conclusions(github: GitHub, outcome: Outcome, interrupted: bool, state: str) -> None:
    github.tokens[GITHUB_TOKEN].permissions["acme/tutor"] = {"statuses"}
    assert tell(github, replace(letter(outcome), interrupted=interrupted, exit_code=0)).ok
    assert here(github).statuses[0]["state"] == state


def test_a_persons_token_may_write_statuses_only(github: GitHub) -> None:
    github.tokens.clear()
    github.allow(GITHUB_TOKEN, "checks", "statuses", login="octavia")
    assert "commit status" in tell(github, letter()).detail
    assert len(here(github).statuses) == 1


def test_neither_permission_names_both(github: GitHub) -> None:
    github.tokens[GITHUB_TOKEN].permissions["acme/tutor"] = set()
    with pytest.raises(RefusedError):
        begin(github, letter())
    sent = tell(github, letter())
    assert not sent.ok
    assert "`checks: write`" in sent.detail
    assert "`statuses: write`" in sent.detail


def test_a_full_list_of_statuses(github: GitHub) -> None:
    github.tokens[GITHUB_TOKEN].permissions["acme/tutor"] = {"statuses"}
    here(github).statuses.extend({"context": "ragguard / tutor"} for _ in range(1_000))
    assert "reached the maximum" in tell(github, letter()).detail


def test_a_commit_that_is_not_there(github: GitHub) -> None:
    sent = CHECK.deliver(letter(), at(github, commit="f" * 40), secrets(), Waits().patience)
    assert "(422): No commit found for SHA" in sent.detail


@pytest.mark.parametrize("line", ["POST .*/check-runs", "PATCH .*/check-runs", "GET .*/check-runs"])
def test_limits_are_waited_for(github: GitHub, line: str) -> None:
    waits = Waits()
    if not line.startswith("POST"):
        begin(github, letter())
    github.fail(line, 403, SECONDARY, ["Retry-After: 9"])
    assert tell(github, letter(), waits).ok
    assert waits.asked == [9.0]
    assert len(here(github).checks) == 1


def test_without_token_or_commit_a_line_says_so(github: GitHub) -> None:
    sent = CHECK.deliver(letter(), at(github), secrets(github_token=None), Waits().patience)
    assert sent.detail.startswith("GITHUB_TOKEN is not set")
    sent = CHECK.deliver(letter(), at(github, commit=None), secrets(), Waits().patience)
    assert sent.detail == "no repository and commit are known to put a check on"
    with pytest.raises(DeliveryError, match="GITHUB_TOKEN is not set"):
        CHECK.open("tutor", "run", LINKS, at(github), secrets(github_token=None))
    assert github.requests == []


def test_megabytes_stay_under_the_limit_and_say_what_is_missing(github: GitHub) -> None:
    told = letter("failed", n_samples=60, text=lambda text: text + " nói dài" * 4_000)
    assert tell(github, told).ok
    summary = here(github).checks[0]["output"]["summary"]
    assert len(summary) <= SUMMARY
    assert "more regressed samples left out here" in summary


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_stays_text(github: GitHub, hostile: str) -> None:
    told = letter("failed", suite=f"{hostile[:60]}x", text=lambda text: f"{hostile} {text} {hostile}")
    assert tell(github, told).ok
    (check,) = here(github).checks
    tokens = parse(check["output"]["summary"])
    assert foreign_markup(tokens) == []
    assert pings(tokens) == []
    assert commands(check["output"]["summary"]) == []
    for text in (check["name"], check["output"]["title"], check["output"]["summary"]):
        assert controls(text.replace("\n", "")) == []


def test_no_secret_is_read_by_the_notifiers() -> None:
    folder = Path(__file__).parents[4] / "ragguard" / "adapters" / "notifiers"
    sources = [path.read_text("utf-8") for path in folder.glob("*.py")]
    assert len(sources) > 8
    assert not any("environ[" in source or "os.environ" in source or "getenv" in source for source in sources)

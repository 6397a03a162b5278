"""The second phase for forks: an earlier run's report.json, which is anybody's text, becomes a comment.

Nothing of the file is believed but its numbers and names, which are shown as what they are: the pull request, the
commit, the branch and the links come from GitHub, the words from our own templates. No check is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from ragguard.adapters.notifiers.base import Letter, Secrets, Surroundings
from ragguard.adapters.notifiers.github_comment import GitHubComment
from ragguard.adapters.notifiers.patience import Patience
from ragguard.adapters.renderers.json import ReportDocument
from ragguard.app.letters import letter_of
from ragguard.core.report import RegressedDetail, Report
from ragguard.core.runs import RunHead
from ragguard.core.text import one_line
from ragguard.entrypoints.console import say
from ragguard.entrypoints.github_context import GitHubContext
from ragguard.errors import ConfigError, ExitCode, RunFileError

UNTRUSTED = (
    "This comes from a run of the pull request's own code without secrets: nobody has checked it. It decides nothing."
)
_MAX_BYTES = 5_000_000
_MAX_METRICS = 200
_MAX_LISTED = 1_000


class PullRequests(Protocol):
    """Finds pull requests."""

    def open_pull_requests(self, commit: str, owner: str, branch: str) -> Sequence[int]:
        """The numbers of the open pull requests whose head is this commit of a branch."""
        ...


def comment_report(path: Path, context: GitHubContext, repository: PullRequests, environment: Mapping[str, str]) -> int:
    """Comments a report on the pull request that it came from.

    Args:
        path: The report.json.
        context: The `workflow_run` event's.
        repository: Finds the pull request.
        environment: For the token and the API's address.

    Returns:
        0 where it was commented or there is no pull request any more; 4 where it could not be.

    Raises:
        ConfigError: The event does not say which commit was tested.
        RunFileError: The file is no report.
        OutsideWorldError: GitHub cannot be asked.
    """
    run = context.run
    if run.event != "workflow_run" or not (run.commit and context.head_repository and context.head_branch):
        raise ConfigError(
            "input `report`: the event does not say which commit was tested",
            mend="use it in a workflow that runs on `workflow_run`, as ragguard-comment.yml does",
        )
    document = read_report(path)
    owner = context.head_repository.partition("/")[0]
    numbers = repository.open_pull_requests(run.commit, owner, context.head_branch)
    if not numbers:
        say("no open pull request has this commit as its head any more: nothing to comment")
        return ExitCode.OK
    secrets = Secrets.of_environment(environment)
    letter = letter_of(report_of(document, context), recovered=False, redact=secrets.redact)
    sent = [_send(letter, number, context, environment, secrets) for number in numbers]
    return ExitCode.OK if all(sent) else ExitCode.OUTSIDE_WORLD


def _send(
    letter: Letter, number: int, context: GitHubContext, environment: Mapping[str, str], secrets: Secrets
) -> bool:
    at = Surroundings(
        event="pull_request",
        now=context.run.now,
        repository=context.run.repository,
        commit=context.run.commit,
        pull_request=number,
        github_api=environment.get("GITHUB_API_URL") or "https://api.github.com",
    )
    sent = GitHubComment().deliver(letter, at, secrets, Patience())
    say(f"pull request {number}: {sent.detail}")
    return sent.ok


def read_report(path: Path) -> ReportDocument:
    """Reads a report.json as untrusted input: of bounded size, with known fields of the right types and nothing else.

    Raises:
        RunFileError: It is missing, too large or no report.
    """
    try:
        size = path.stat().st_size
        if not path.is_file() or size > _MAX_BYTES:
            raise RunFileError(f"{path.name}: has {size:,} bytes, a report has at most {_MAX_BYTES:,}")
        document = ReportDocument.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RunFileError(f"{path.name}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = one_line(".".join(map(str, first["loc"])))[:100]
        raise RunFileError(f"{path.name}: is no report of ragguard: {where}: {first['msg'][:200]}") from None
    pinned = document.pinned.metrics if document.pinned is not None else {}
    tables: tuple[Sized, ...] = (
        document.metrics, pinned, document.fingerprints, document.usage_by_task, document.agreement_by_task,
    )  # fmt: skip
    if any(len(table) > _MAX_METRICS for table in tables) or len(document.regressed_samples) > _MAX_LISTED:
        raise RunFileError(f"{path.name}: lists more metrics or samples than a report does")
    return document


def report_of(document: ReportDocument, context: GitHubContext) -> Report:
    """The report to show: the document's numbers, GitHub's facts, and first that nobody has checked it."""
    fields = {name: getattr(document, name) for name in RunHead.model_fields}
    run = context.run
    head = RunHead(
        **{
            **fields,
            "repository": run.repository,
            "branch": run.branch,
            "commit": run.commit,
            "event": "pull_request",
            # Reasons stand above all else: no word of the report comes before this one.
            "reasons": (UNTRUSTED, *document.reasons[:20]),
            "notices": document.notices[:20],
        }
    )
    details = tuple(RegressedDetail(entry, None, None) for entry in document.regressed_samples)
    return Report(head, details, results=lambda: (), links=run.links, exit_code=ExitCode.INCONCLUSIVE)

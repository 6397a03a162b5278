"""What the action's inputs do to a config: what blocks, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from ragguard.adapters.notifiers import AnyNotifier
from ragguard.adapters.notifiers.github_check import GitHubCheck
from ragguard.adapters.notifiers.github_comment import GitHubComment
from ragguard.adapters.notifiers.github_issue import GitHubIssue
from ragguard.adapters.notifiers.slack import Slack
from ragguard.adapters.notifiers.slack_webhook import SlackWebhook
from ragguard.app.config import Config, Reporting
from ragguard.entrypoints.action_inputs import Inputs
from ragguard.entrypoints.github_context import GitHubContext
from ragguard.errors import ConfigError

_Notifier = TypeVar("_Notifier", Slack, GitHubIssue)
_LISTS = ("on_regression", "on_recovery", "on_error", "always")
_NEED_SECRETS = (GitHubCheck, GitHubComment, GitHubIssue, Slack, SlackWebhook)


def with_inputs(config: Config, inputs: Inputs, context: GitHubContext) -> Config:
    """The config as the inputs want it.

    Args:
        config: The config that decides.
        inputs: The inputs that are given.
        context: Says whether the run has secrets, and which repository it is in.

    Raises:
        ConfigError: An input cannot be followed here.
    """
    if inputs.fail_on is not None:
        blocks = {field: "fail" if field.removeprefix("on_").replace("_", "-") in inputs.fail_on else "warn"
                  for field in ("on_inconclusive", "on_not_comparable", "on_no_baseline")}  # fmt: skip
        config = config.model_copy(update={"gate": config.gate.model_copy(update=blocks)})
    reporting = _told(config.reporting, inputs, context)
    return config.model_copy(update={"reporting": reporting})


def _told(reporting: Reporting, inputs: Inputs, context: GitHubContext) -> Reporting:
    if inputs.comment is not None:
        reporting = _switched(reporting, GitHubComment, GitHubComment() if inputs.comment else None, ("always",))
    if inputs.check is not None:
        reporting = _switched(reporting, GitHubCheck, GitHubCheck() if inputs.check else None, ("always",))
    if inputs.issue is not None:
        reporting = _switched(
            reporting, GitHubIssue, _issue(inputs, context), ("on_regression",), keep=not inputs.issue
        )
    if inputs.slack is not None:
        told = ("on_regression", "on_recovery", "on_error")
        slack = _checked("slack", lambda: Slack(channel=inputs.slack or ""))
        reporting = _switched(reporting, Slack, slack, told, keep=False)
    if context.without_secrets:
        reporting = _filtered(reporting, lambda one: not isinstance(one, _NEED_SECRETS))
    return reporting


def _issue(inputs: Inputs, context: GitHubContext) -> GitHubIssue | None:
    if inputs.issue is False:
        return None
    repository = inputs.issue or context.run.repository
    if repository is None:
        raise ConfigError("input `issue`: the repository is unknown", mend="write `issue: owner/repository`")
    return _checked("issue", lambda: GitHubIssue(repository=repository))


def _checked(name: str, make: Callable[[], _Notifier]) -> _Notifier:
    """What an input makes.

    Raises:
        ConfigError: Its value is of another shape.
    """
    try:
        return make()
    except ValidationError as error:
        raise ConfigError(
            f"input `{name}`: {error.errors()[0]['msg']}", mend="correct `with:` in the workflow"
        ) from None


def _switched(
    reporting: Reporting,
    kind: type[AnyNotifier],
    wanted: AnyNotifier | None,
    lists: tuple[str, ...],
    *,
    keep: bool = True,
) -> Reporting:
    """Without the notifiers of a kind; or with one: where the config has some, they are kept or give way to it."""
    if wanted is None:
        return _filtered(reporting, lambda one: not isinstance(one, kind))
    if any(isinstance(one, kind) for name in _LISTS for one in getattr(reporting, name)):
        if keep:
            return reporting
        reporting = _filtered(reporting, lambda one: not isinstance(one, kind))
    return reporting.model_copy(update={name: (*getattr(reporting, name), wanted) for name in lists})


def _filtered(reporting: Reporting, keep: Callable[[AnyNotifier], bool]) -> Reporting:
    return reporting.model_copy(
        update={name: tuple(one for one in getattr(reporting, name) if keep(one)) for name in _LISTS}
    )

"""Delivers what is told of a run: whom, when, and what became of it. No delivery ever changes a verdict."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragguard.adapters.notifiers import AnyNotifier
from ragguard.adapters.notifiers.base import Letter, Secrets, Surroundings
from ragguard.adapters.notifiers.github_check import GitHubCheck
from ragguard.adapters.notifiers.patience import DeliveryError, Patience
from ragguard.app.config import Config, Reporting
from ragguard.app.context import RunContext
from ragguard.app.letters import letter_of, letter_of_error
from ragguard.app.request import RunRequest
from ragguard.core.ports import Store
from ragguard.core.report import Delivery, Report
from ragguard.core.runs import RunHead
from ragguard.errors import ExitCode, StoreError

_PULL_REQUEST = re.compile(r"refs/pull/(\d+)/")
_LOOKED_AT = 20
_INTERRUPTED_PATIENCE_S = 2.0
Say = Callable[[str], None]


def write_command(line: str) -> None:
    """Writes a line to standard output as it is."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def surroundings_of(
    context: RunContext,
    environment: Mapping[str, str],
    folder: Path,
    dataset: str,
    command: Callable[[str], None] = write_command,
) -> Surroundings:
    """What the notifiers must know of the place of a run.

    Args:
        context: The run's.
        environment: For the addresses and files that a CI runner names.
        folder: Where relative paths start.
        dataset: The data set's address.
        command: Writes a line to standard output.
    """
    summary = environment.get("GITHUB_STEP_SUMMARY")
    number = _PULL_REQUEST.match(environment.get("GITHUB_REF", ""))
    return Surroundings(
        event=context.event,
        now=context.now,
        repository=context.repository or environment.get("GITHUB_REPOSITORY") or None,
        commit=context.commit,
        pull_request=context.pull_request_number or (int(number[1]) if number else None),
        dataset=_inside(Path(environment.get("GITHUB_WORKSPACE") or folder), folder, dataset),
        step_summary=Path(summary) if summary else None,
        in_actions=environment.get("GITHUB_ACTIONS") == "true",
        github_api=environment.get("GITHUB_API_URL") or "https://api.github.com",
        slack_api=environment.get("SLACK_API_URL") or "https://slack.com/api/",
        command=command,
    )


def _inside(root: Path, folder: Path, dataset: str) -> str | None:
    """A data set's path from the repository's root; None where it is no file in it."""
    if "://" in dataset and not dataset.startswith("file://"):
        return None
    # Not Path.resolve: it raises where links lead in a circle.
    path, top = Path(os.path.realpath(folder / dataset.removeprefix("file://"))), Path(os.path.realpath(root))
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else None


def recovered(store: Store, head: RunHead) -> bool:
    """Whether the suite's last verdict on this branch was a failure and this run is fine again.

    Runs that say nothing (an error, inconclusive, not comparable) lie between the two without ending the failure.
    """
    if head.outcome not in {"passed", "warned"} or head.branch is None:
        return False
    try:
        heads = store.heads(head.suite, branch=head.branch, limit=_LOOKED_AT)
    except StoreError:
        return False
    verdicts = (run.outcome for run in heads if run.run_id != head.run_id)
    return next((outcome for outcome in verdicts if outcome in {"failed", "passed", "warned"}), None) == "failed"


def chosen(reporting: Reporting, letter: Letter) -> tuple[AnyNotifier, ...]:
    """Who is told of an outcome, each once: the urgent first, then in the config's order."""
    if letter.interrupted:
        return tuple(one for one in _all(reporting) if one.urgent)
    found: list[AnyNotifier] = []
    if letter.outcome == "failed":
        found += reporting.on_regression
    if letter.outcome == "error":
        found += reporting.on_error
    if letter.fine:
        due = {"fine", "recovery"} if letter.recovered else {"fine"}
        found += [one for one in (*reporting.on_regression, *reporting.on_error) if one.settles in due]
    if letter.recovered:
        found += reporting.on_recovery
    found += reporting.always
    return tuple(sorted(dict.fromkeys(found), key=lambda one: not one.urgent))


def _all(reporting: Reporting) -> tuple[AnyNotifier, ...]:
    lists = (reporting.always, reporting.on_regression, reporting.on_recovery, reporting.on_error)
    return tuple(dict.fromkeys(one for notifiers in lists for one in notifiers))


def reporting_at(reporting: Reporting, at: Surroundings) -> Reporting:
    """The lists as they hold here: on somebody's own machine nobody asked for what comes by itself in CI."""
    if at.event != "local" or "always" in reporting.model_fields_set:
        return reporting
    return reporting.model_copy(update={"always": tuple(one for one in reporting.always if one.inward)})


def applies(notifier: AnyNotifier, at: Surroundings, *, notify: bool) -> bool:
    """Whether a notifier is told of this event's runs; a run on somebody's own machine tells only on request."""
    if not notifier.is_here(at):
        return False
    if at.event == "local":
        return notify or notifier.inward
    return "any" in notifier.events or at.event in notifier.events


@dataclass
class Courier:
    """Brings the news of one run to everybody who is to hear it.

    Attributes:
        say: Tells the user a line.
        notify: A local run tells as well.
        silent: Nobody is told.
        templates: A folder of the user's own templates.
    """

    config: Config
    context: RunContext
    at: Surroundings
    secrets: Secrets
    say: Say
    notify: bool = False
    silent: bool = False
    templates: Path | None = None
    patience: Patience = field(default_factory=Patience)
    interrupted: bool = False

    @classmethod
    def of(cls, request: RunRequest) -> Courier:
        """The courier of a run."""
        config = request.config
        return cls(
            config=config,
            context=request.context,
            at=surroundings_of(request.context, request.environment, request.folder, config.pipeline.dataset),
            secrets=Secrets.of_environment(request.environment),
            say=request.progress.say,
            notify=request.notify,
            # A shard is no run: people are told of what its shards are merged into.
            silent=request.shard is not None,
            templates=request.templates,
            patience=request.patience,
        )

    @property
    def _reporting(self) -> Reporting:
        return reporting_at(self.config.reporting, self.at)

    def _applies(self, notifier: AnyNotifier) -> bool:
        return not self.silent and applies(notifier, self.at, notify=self.notify)

    async def announce(self) -> None:
        """Shows that the run is in progress, where there is a check."""
        for check in _all(self._reporting):
            if isinstance(check, GitHubCheck) and self._applies(check):
                await self._apart(lambda check=check: self._open(check))  # type: ignore[misc]
        if self.interrupted:
            raise asyncio.CancelledError

    def _open(self, check: GitHubCheck) -> None:
        try:
            check.open(self.config.suite, self.context.run_id, self.context.links, self.at, self.secrets)
        except DeliveryError:
            return  # its delivery at the end tells of it
        except Exception as error:  # noqa: BLE001 - a notifier never stops a run
            self.say(self.secrets.redact(f"{check.name}: {type(error).__name__}: {error}"))

    async def deliver(self, report: Report, *, recovered: bool) -> Report:
        """Tells of a run, and returns its report with what became of each delivery."""
        letter = letter_of(report, recovered=recovered, redact=self.secrets.redact, templates=self.templates)
        deliveries = await self._tell(letter)
        code = report.exit_code
        if self.config.reporting.strict_delivery and code == ExitCode.OK and not all(sent.ok for sent in deliveries):
            code = ExitCode.OUTSIDE_WORLD
        if self.interrupted:
            code = ExitCode.INTERRUPTED
        return replace(report, deliveries=deliveries, exit_code=code)

    async def broke(self, error: BaseException) -> None:
        """Tells of a run that ended without a report."""
        await self._tell(letter_of_error(error, self.config.suite, self.context, self.secrets.redact))

    async def _tell(self, letter: Letter) -> tuple[Delivery, ...]:
        notifiers = [one for one in chosen(self._reporting, letter) if self._applies(one)]
        if letter.interrupted:
            self.patience = Patience(_INTERRUPTED_PATIENCE_S)
        deliveries: list[Delivery] = []
        await self._apart(lambda: deliveries.extend(self._send_all(notifiers, letter)))
        return tuple(deliveries)

    def _send_all(self, notifiers: Sequence[AnyNotifier], letter: Letter) -> Iterator[Delivery]:
        for notifier in notifiers:
            if self.patience.stopped and not notifier.urgent:
                sent = Delivery(notifier.name, ok=False, detail="interrupted before it was sent")
            else:
                sent = notifier.deliver(letter, self.at, self.secrets, self.patience)
            if not sent.ok:
                self.say(f"not delivered: {sent.notifier}: {sent.detail}")
            yield sent

    async def _apart(self, work: Callable[[], None]) -> None:
        """Runs in a thread, so that an interruption is heard: waiting ends, what is being sent is finished."""
        task = asyncio.ensure_future(asyncio.to_thread(work))
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                self.interrupted = True
                self.patience.stop()
        task.result()


def plan(config: Config, at: Surroundings, secrets: Secrets, *, notify: bool) -> Iterator[str]:
    """What would be sent, to whom and when, for a run that is not done."""
    reporting = reporting_at(config.reporting, at)
    when = (
        ("on a regression", reporting.on_regression),
        ("on a recovery", reporting.on_recovery),
        ("on an error", reporting.on_error),
        ("always", reporting.always),
    )
    for words, notifiers in when:
        for one in notifiers:
            yield f"{words}: {one.name}: {one.tells}; {_whether(one, at, secrets, notify=notify)}"


def _whether(notifier: AnyNotifier, at: Surroundings, secrets: Secrets, *, notify: bool) -> str:
    if not notifier.is_here(at):
        return "not here: only in a CI job"
    if not applies(notifier, at, notify=notify):
        events = "this machine only with --notify" if at.event == "local" else f"only for {', '.join(notifier.events)}"
        return f"not for this run ({at.event}): {events}"
    missing = notifier.lacks(at, secrets)
    return f"would fail: {missing}" if missing else "would be sent"

"""The action: inputs and event in; a run, or an earlier run's comment; outputs, annotations and the exit code out."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from ragguard.core.text import one_line
from ragguard.entrypoints.action_inputs import Inputs, further_options, read_inputs
from ragguard.entrypoints.action_outputs import error_outputs, give_back, report_outputs, write_outputs
from ragguard.entrypoints.change_checks import refuse_links, refuse_own_records, refuse_ways_out
from ragguard.entrypoints.console import cleaner, say
from ragguard.entrypoints.github_context import GitHubContext, ci_run_id, github_context
from ragguard.errors import ConfigError, ExitCode, OutsideWorldError, RagguardError

if TYPE_CHECKING:
    from ragguard.adapters.github_reader import GitHubReader
    from ragguard.app.config import Config
    from ragguard.core.report import Report

_LARGEST_PAYLOAD = 64_000_000
_NO_SECRETS = (
    "This run has no secrets and may not comment: GitHub gives none to changes from outside. "
    "What needs them fails here; a maintainer who has read the change can have it judged by the label `ragguard`."
)


def run_action(environment: Mapping[str, str]) -> int:
    """Does what the inputs ask for and returns the exit code; the working folder becomes the input's.

    Raises:
        RagguardError: Nothing can be said; the outputs say so.
    """
    signal.signal(signal.SIGTERM, _interrupt)  # the first process of a container has no handler of its own
    try:
        job = prepare_job(environment)
        try:
            return job.comment() if job.inputs.report is not None else job.run()
        finally:
            if job.repository is not None:
                job.repository.close()
            give_back(job.workspace, [job.workspace / ".ragguard", job.folder / ".ragguard", job.output])
    except RagguardError as error:
        write_outputs(environment, error_outputs(error.exit_code))
        _annotate(environment, error)
        raise
    except KeyboardInterrupt:
        write_outputs(environment, error_outputs(ExitCode.INTERRUPTED))
        raise
    except Exception:
        write_outputs(environment, error_outputs(ExitCode.BUG))  # a later step must not read an empty outcome
        raise


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _annotate(environment: Mapping[str, str], error: RagguardError) -> None:
    """Shows an error at the head of the job, too."""
    from ragguard.adapters.notifiers.annotations import command

    if environment.get("GITHUB_ACTIONS") == "true":
        sys.stdout.write(command(_Told(cleaner(environment)(str(error))), None) + "\n")
        sys.stdout.flush()


@dataclass(frozen=True)
class _Told:
    """An error as a remark on no line."""

    text: str
    line: int = 0
    level: Literal["error"] = "error"
    title: str = "ragguard"


@dataclass(frozen=True)
class Job:
    """One step of a workflow, understood.

    Attributes:
        environment: The runner's variables, with the token where it is looked for.
        options: What `args` gives besides the inputs.
        workspace: The root of the checkout.
        folder: Where relative paths start.
    """

    environment: Mapping[str, str]
    inputs: Inputs
    options: Mapping[str, Any]
    context: GitHubContext
    workspace: Path
    folder: Path

    @property
    def output(self) -> Path:
        """Where the reports go."""
        return Path(os.path.normpath(self.folder / self.inputs.output))

    @cached_property
    def repository(self) -> GitHubReader | None:
        """Reads the repository through the API."""
        from ragguard.adapters.github_reader import GitHubReader

        if self.context.run.repository is None:
            return None
        api = self.environment.get("GITHUB_API_URL") or "https://api.github.com"
        return GitHubReader(self.context.run.repository, self.inputs.github_token, api)

    def run(self) -> int:
        """Evaluates, compares, decides, reports.

        Raises:
            RagguardError: Nothing can be said.
        """
        from ragguard.adapters.litellm_clients import tell_when_slow
        from ragguard.app.pipeline import RunRequest, run_pipeline
        from ragguard.app.progress import Lines
        from ragguard.entrypoints.commands.run import tell, until_done
        from ragguard.entrypoints.commands.validate import tell_estimate

        try:
            policy = self._policy()
            if self.options.get("dry_run"):
                tell_estimate(policy.config)
                return 0
            progress = Lines(sys.stderr, clean=cleaner(self.environment))
            tell_when_slow(progress.say)
            request = RunRequest(
                config=policy.config,
                context=with_times(self.context, self.repository).run,
                folder=self.folder,
                output=self.output,
                environment=self.environment,
                shard=self.options.get("shard"),
                dataset_overridden=self.inputs.dataset is not None,
                baseline_run_id=self.inputs.baseline,
                use_cache=not self.options.get("no_cache", False),
                notices=(*self._notices(), *policy.notices),
                progress=progress,
            )
            report = asyncio.run(until_done(run_pipeline(request)))
        except OutsideWorldError as error:
            raise self._explained(error) from error
        shown = os.path.relpath(self.output, self.workspace)
        tell(report, shown, verbose=bool(self.options.get("verbose")))
        write_outputs(self.environment, report_outputs(report, Path(shown), policy.config.reporting.format))
        self._promote(report, policy.config)
        return report.exit_code

    def _policy(self) -> Any:
        from ragguard.entrypoints.delivery_inputs import with_inputs
        from ragguard.entrypoints.policy_source import PolicySource

        variables = {name: value for name, value in self.environment.items() if name.startswith("RAGGUARD_VAR_")}
        source = PolicySource(self.inputs.config, self.folder, self.workspace, variables, self.inputs.overrides)
        policy = source.decide(self.context, self.repository, from_base=self.inputs.policy_source == "base")
        self._check_change(policy.config)
        return replace(policy, config=with_inputs(policy.config, self.inputs, self.context))

    def _check_change(self, config: Config) -> None:
        """Makes sure that a change brings nothing along that would decide about it or lead elsewhere."""
        run = self.context.run
        if not (run.pull_request or self.context.data_only):
            return
        if self.context.data_only and config.pipeline.answers is not None:
            refuse_links(self.folder, config.pipeline.answers)
        refuse_ways_out(config, self.output, self.folder, self.workspace)
        head, base = run.commit, self.context.base_ref
        if self.repository is not None and head and base and not self.context.data_only:
            refuse_own_records(config, self.folder, self.workspace, self.repository, head=head, base=base)

    def _notices(self) -> tuple[str, ...]:
        attempt = self.context.run.attempt
        again = (f"Attempt {attempt} of this job: earlier ones may have ended otherwise.",) if attempt > 1 else ()
        return (*self.context.notices, *again, *((_NO_SECRETS,) if self.context.without_secrets else ()))

    def _explained(self, error: OutsideWorldError) -> OutsideWorldError:
        """Says what a run without secrets must expect."""
        if not self.context.without_secrets:
            return error
        mend = "; ".join(part for part in (error.mend, _NO_SECRETS) if part)
        return type(error)(error.message, mend=mend, details=error.details)

    def _promote(self, report: Report, config: Config) -> None:
        """Accepts the run as a baseline because somebody asked for it."""
        if not self.inputs.promote:
            return
        if not self.context.run.may_write_store or self.context.data_only:
            raise ConfigError("input `promote`: the run of a change that is not merged is never a baseline")
        if report.head.outcome == "error":
            say("not promoted: the run says nothing")
            return
        store, run = config.reporting.sink, self.context.run
        if store.head(report.head.run_id) is None:
            raise ConfigError(f"input `promote`: the run {report.head.run_id} is not in the store")
        store.event(report.head.run_id, "accepted", run.actor, datetime.now(UTC), config.suite)
        say(f"{report.head.run_id}: accepted by {run.actor}")

    def comment(self) -> int:
        """Comments an earlier run's report on its pull request.

        Raises:
            RagguardError: The report is not one, or GitHub cannot be asked.
        """
        from ragguard.entrypoints.second_phase import comment_report

        if self.repository is None:
            raise ConfigError("input `report`: the repository is unknown")
        refuse_links(self.folder, self.inputs.report or "")
        return comment_report(self.folder / (self.inputs.report or ""), self.context, self.repository, self.environment)


def prepare_job(environment: Mapping[str, str]) -> Job:
    """Reads inputs and event, and goes to the working folder.

    Raises:
        UserInputError: An input is wrong.
    """
    inputs = read_inputs(environment)
    options = further_options(inputs.args)
    inputs = _completed(inputs, options)
    now = datetime.now(UTC)
    run_id = ci_run_id(environment) or _own_run_id(now)
    context = github_context(environment, read_payload(environment), run_id=run_id, now=now)
    if inputs.base_branch is not None:
        context = replace(context, run=replace(context.run, base_branches=(inputs.base_branch,)))
    if inputs.report_url is not None:
        links = replace(context.run.links, report=inputs.report_url)
        context = replace(context, run=replace(context.run, links=links))
    workspace = Path(environment.get("GITHUB_WORKSPACE") or Path.cwd()).resolve()
    # A link in the checkout is a change's own: it must not choose whose config is read of the base.
    folder = Path(os.path.normpath(workspace / inputs.working_directory))
    if not folder.is_dir():
        raise ConfigError(f"input `working-directory`: {inputs.working_directory} is no folder of the checkout")
    os.chdir(folder)
    seen = dict(environment)
    if inputs.github_token is not None:
        seen["GITHUB_TOKEN"] = inputs.github_token.get_secret_value()
    return Job(seen, inputs, options, context, workspace, folder)


def _own_run_id(now: datetime) -> str:
    from ragguard.entrypoints.local_context import new_run_id

    return new_run_id(now)


def _completed(inputs: Inputs, options: Mapping[str, Any]) -> Inputs:
    """Options of `args` where the input of the same name was not given."""
    unset = {field.name for field in fields(Inputs) if getattr(inputs, field.name) == field.default}
    named = {
        "config_path": "config",
        **{name: name for name in ("dataset", "answers", "sample_budget", "suite", "sink")},
    }
    named |= {name: name for name in ("output", "baseline", "base_branch")}
    return replace(inputs, **{named[name]: value for name, value in options.items() if named.get(name) in unset})


def read_payload(environment: Mapping[str, str]) -> object:
    """The event's payload; None where it is missing, too large or no JSON."""
    path = Path(environment.get("GITHUB_EVENT_PATH") or os.devnull)
    try:
        if path.stat().st_size > _LARGEST_PAYLOAD:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def with_times(context: GitHubContext, repository: GitHubReader | None) -> GitHubContext:
    """The context with the times that the payload does not tell: the commit's, and the one the baseline may not pass.

    What GitHub does not tell stays unknown, and is said.
    """
    run = context.run
    if repository is None or run.commit is None:
        return context
    try:
        when = run.commit_time or repository.commit_time(run.commit)
        before = None
        if run.pull_request and run.base_commit is not None:
            before = repository.merge_base_time(run.base_commit, run.commit) or repository.commit_time(run.base_commit)
    except OutsideWorldError as error:
        say(f"note: the times of the commits are unknown: {one_line(error.message)}")
        return context
    return replace(context, run=replace(run, commit_time=when, before=before))

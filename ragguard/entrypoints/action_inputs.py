"""The action's inputs: read from the runner's INPUT_ variables, each checked, and told by its name when it is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from pydantic import SecretStr

from ragguard.core.text import one_line
from ragguard.errors import ConfigError, UserInputError

BLOCKERS = ("regression", "inconclusive", "not-comparable", "no-baseline")
"""What may make the step fail besides errors; a regression always does."""
_PREFIX = "INPUT_"
_OF_THE_RUNNER = frozenset({"entrypoint"})
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True)
class Inputs:
    """The action's inputs; None is one that was not given, so that the config decides.

    Attributes:
        fail_on: What blocks, of `BLOCKERS`.
        issue: The repository whose issue tells of a regression, "" for this one; False for none.
        report: A report.json of an earlier run to comment instead of running.
    """

    config: str | None = None
    working_directory: str = "."
    suite: str | None = None
    dataset: str | None = None
    answers: str | None = None
    sample_budget: int | None = None
    sink: str | None = None
    baseline: str | None = None
    base_branch: str | None = None
    promote: bool = False
    policy_source: Literal["base", "head"] = "base"
    fail_on: frozenset[str] | None = None
    format: str | None = None
    output: str = ".ragguard/out"
    comment: bool | None = None
    check: bool | None = None
    issue: str | Literal[False] | None = None
    slack: str | None = None
    report: str | None = None
    report_url: str | None = None
    github_token: SecretStr | None = None
    args: str | None = None

    @property
    def overrides(self) -> dict[str, object]:
        """The config's fields that inputs set, by dotted path."""
        found: dict[str, object] = {
            "suite": self.suite,
            "pipeline.dataset": self.dataset,
            "pipeline.answers": self.answers,
            "pipeline.sample_budget": self.sample_budget,
            "reporting.sink": self.sink,
            "reporting.format": self.format,
        }
        return {field: value for field, value in found.items() if value is not None}


def _text(value: str) -> str:
    return value


def _one_of(*words: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in words:
            raise ValueError(f"is none of {', '.join(words)}{_meant(value, words)}")
        return value

    return read


def _whole_number(value: str) -> int:
    if not (value.isascii() and value.isdigit()) or not 1 <= int(value[:12]) <= 10**9:
        raise ValueError("is no whole number of at least 1")
    return int(value)


def _switch(value: str) -> bool:
    if value.lower() not in _TRUE | _FALSE:
        raise ValueError("is neither true nor false")
    return value.lower() in _TRUE


def _blockers(value: str) -> frozenset[str]:
    words = value.replace(",", " ").replace("+", " ").split()
    for word in words:
        if word not in BLOCKERS:
            raise ValueError(f"names `{word}`, which is none of {', '.join(BLOCKERS)}{_meant(word, BLOCKERS)}")
    return frozenset(words)


def _issue(value: str) -> str | Literal[False]:
    if value.lower() in _TRUE:
        return ""
    if value.lower() in _FALSE:
        return False
    if value.count("/") != 1 or value.startswith("/") or value.endswith("/"):
        raise ValueError("is neither true, false nor owner/repository")
    return value


def _channel(value: str) -> str:
    return value.removeprefix("slack://")


def _web_address(value: str) -> str:
    if not value.startswith(("https://", "http://")):
        raise ValueError("is no web address")
    return value


_READERS: dict[str, Callable[[str], Any]] = {
    "sample_budget": _whole_number,
    "promote": _switch,
    "policy_source": _one_of("base", "head"),
    "fail_on": _blockers,
    "comment": _switch,
    "check": _switch,
    "issue": _issue,
    "slack": _channel,
    "report_url": _web_address,
    "github_token": SecretStr,
}
NAMES: dict[str, str] = {field.name.replace("_", "-"): field.name for field in fields(Inputs)}
"""The inputs as a workflow writes them, and the fields that hold them."""


def _meant(word: str, known: Any) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean `{close[0]}`?" if close else ""


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Reads the inputs.

    Raises:
        ConfigError: One is wrong or not known; all such are named.
    """
    found: dict[str, Any] = {}
    problems: list[str] = []
    for variable, raw in environment.items():
        if not variable.startswith(_PREFIX):
            continue
        # The runner writes blanks as `_` and letters large, and keeps hyphens.
        name, value = variable.removeprefix(_PREFIX).lower(), raw.strip()
        if name not in NAMES:
            if value and name not in _OF_THE_RUNNER:
                problems.append(f"input `{one_line(name)[:60]}` is not known{_meant(name, NAMES)}")
        elif value:
            try:
                found[NAMES[name]] = _READERS.get(NAMES[name], _text)(value)
            except ValueError as error:
                problems.append(f"input `{name}`: {_quoted(name, value)}{error}")
    if problems:
        count = "an input is" if len(problems) == 1 else f"{len(problems)} inputs are"
        raise ConfigError(f"{count} wrong", details=problems, mend="correct `with:` in the workflow")
    return Inputs(**found)


def _quoted(name: str, value: str) -> str:
    return "" if name == "github-token" else f"`{one_line(value)[:60]}` "


def further_options(args: str | None) -> dict[str, Any]:
    """The options of `ragguard run` that the input `args` gives, by parameter.

    Raises:
        UserInputError: They cannot be read, or are no options of `run`.
    """
    import shlex

    import click
    from click.core import ParameterSource

    from ragguard.entrypoints.commands.run import run

    try:
        words = shlex.split(args or "")
        with run.make_context("args", words, resilient_parsing=False) as context:
            source = context.get_parameter_source
            return {
                name: value for name, value in context.params.items() if source(name) is ParameterSource.COMMANDLINE
            }
    except click.exceptions.Exit:
        raise UserInputError("input `args`: only options of a run may stand here, not --help") from None
    except (ValueError, click.ClickException) as error:
        said = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise UserInputError(
            f"input `args`: {one_line(said)}", mend="write options as `ragguard run` takes them"
        ) from None

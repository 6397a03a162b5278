"""The command line: finds the command, and turns every error into a sentence and an exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback
from importlib import import_module

import click

import ragguard
from ragguard.entrypoints.console import cleaner, say, tame_logging, use_utf8
from ragguard.entrypoints.streams import steady_streams
from ragguard.errors import ExitCode, RagguardError

_COMMANDS = {
    "init": "Write ragguard.yaml, an example golden set and the GitHub workflows.",
    "run": "Evaluate, compare with the baseline, decide, report: the whole job.",
    "merge": "Put the shards of one run together, then compare, decide, report.",
    "validate": "Check config and data set, estimate calls and cost; nothing is called.",
    "compare": "The gate alone, on two saved runs, offline.",
    "report": "Render a saved run again.",
    "explain": "One sample of a saved run: claims, verdicts, evidence, before and after.",
    "history": "The metrics over the stored runs, as a table and a plot.",
    "baseline": "What the next run will be compared with: show, build, pin, promote, push.",
    "calibrate": "How far the judge agrees with people's labels.",
    "schema": "Print the JSON Schema of ragguard.yaml.",
    "action": "One step of a GitHub workflow: inputs in, outputs and annotations out.",
}


class LazyGroup(click.Group):
    """Imports a command's module only when it is asked for, so that --help answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands in the order in which a newcomer needs them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports one command."""
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(f"ragguard.entrypoints.commands.{cmd_name}"), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name} is not a command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggests the nearest command for a misspelt one."""
        import difflib

        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            ctx.fail(f"no command `{args[0]}`{hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ragguard.__version__, message="ragguard %(version)s")
def cli() -> None:
    """Did the RAG app get worse, which answers, why, and is it real or noise?

    \b
    Begin with:
      ragguard validate --config ragguard.yaml    what would be called, and what it would cost
      ragguard run --config ragguard.yaml         the verdict, as exit code and as reports

    \b
    Exit codes: 0 passed or warned, 1 regression or SLO breach, 2 wrong input, 3 inconclusive or not comparable
    where that blocks, 4 judge, store or target failed, 70 a bug in ragguard, 130 interrupted.
    """


def main(arguments: list[str] | None = None) -> None:
    """Runs the command and exits; never shows a traceback for the user's own mistakes."""
    steady_streams()
    use_utf8()
    tame_logging(os.environ)
    sys.exit(int(run_cli(arguments)))


def run_cli(arguments: list[str] | None = None) -> int:
    """Runs the command and returns the exit code."""
    try:
        done = cli.main(args=arguments, prog_name="ragguard", standalone_mode=False)
    except RagguardError as error:
        _complain(f"ragguard: {error}")
        return error.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        _complain(shown.getvalue().rstrip())
        return ExitCode.USER_INPUT
    except (KeyboardInterrupt, click.Abort):
        say("ragguard: interrupted", sys.stderr)
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - whatever gets here is a bug, and is said to be one
        return _bug(error)
    return done if isinstance(done, int) else ExitCode.OK


def _complain(text: str) -> None:
    """Writes an error, whose words may be foreign: without the secrets of this process."""
    say(cleaner(os.environ)(text), sys.stderr)


def _bug(error: Exception) -> int:
    _complain(f"ragguard: a bug in ragguard: {type(error).__name__}: {error}")
    if os.environ.get("RAGGUARD_DEBUG"):
        _complain("".join(traceback.format_exception(error)))
    else:
        say("  mend: run again with RAGGUARD_DEBUG=1 and report what it prints", sys.stderr)
    return ExitCode.BUG

"""Options that several commands share, and how they become the config's fields."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragguard.entrypoints.console import cleaner

if TYPE_CHECKING:
    from ragguard.app.config import Config
    from ragguard.app.progress import Progress

Decorated = Callable[..., Any]


def config_options(command: Decorated) -> Decorated:
    """Options that say which config and data are used."""
    for option in reversed(
        [
            click.option("--config", "config_path", metavar="FILE", help="The config; default ragguard.yaml."),
            click.option("--dataset", metavar="URL", help="Another data set (pipeline.dataset)."),
            click.option("--answers", metavar="URL", help="Recorded answers, joined by id (pipeline.answers)."),
            click.option("--sample-budget", type=click.IntRange(1), metavar="N", help="At most N samples."),
            click.option("--suite", metavar="NAME", help="Another suite."),
            click.option("--sink", metavar="URL", help="Another store of runs (reporting.sink)."),
        ]
    ):
        command = option(command)
    return command


def overrides_of(options: Mapping[str, object]) -> dict[str, object]:
    """The options that were given, as dotted config fields."""
    fields = {
        "dataset": "pipeline.dataset",
        "answers": "pipeline.answers",
        "sample_budget": "pipeline.sample_budget",
        "suite": "suite",
        "sink": "reporting.sink",
    }
    return {fields[name]: value for name, value in options.items() if name in fields and value is not None}


def load_config(config_path: str | None, options: Mapping[str, object]) -> Config:
    """Reads the config with the options on top.

    Raises:
        ConfigError: The config is missing or wrong.
    """
    from ragguard.app.own_metrics import load_metric
    from ragguard.app.read_config import find_config, read_config

    variables = {name: value for name, value in os.environ.items() if name.startswith("RAGGUARD_VAR_")}
    return read_config(find_config(config_path, Path.cwd()), variables, overrides_of(options), load_metric)


def progress_for(*, quiet: bool) -> Progress:
    """A bar on a terminal, lines elsewhere, nothing when quiet."""
    from ragguard.adapters.litellm_clients import tell_when_slow
    from ragguard.app.progress import Bar, Lines, Silent

    if quiet:
        return Silent()
    clean = cleaner(os.environ)
    on_terminal = sys.stderr.isatty() and not os.environ.get("CI")
    progress = Bar(sys.stderr, clean) if on_terminal else Lines(sys.stderr, clean=clean)
    tell_when_slow(progress.say)
    return progress


def colors_wanted() -> bool:
    """Whether standard output takes colours: a terminal, and no NO_COLOR."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")

"""`ragguard validate`: what is wrong, what is missing, what it would cost; nothing is called."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragguard.entrypoints.commands.options import config_options, load_config
from ragguard.entrypoints.console import say

if TYPE_CHECKING:
    from ragguard.app.config import Config


@click.command()
@config_options
@click.option("--config-only", is_flag=True, help="Do not read the data set.")
def validate(config_path: str | None, *, config_only: bool, **options: object) -> int:
    """Check the config and the data set, and estimate judge calls, tokens and cost.

    Nothing is called and nothing is written. Missing secrets are named.
    """
    config = load_config(config_path, options)
    say(f"config: good (suite {config.suite}, {len(config.metrics)} metrics)")
    if not config_only:
        tell_estimate(config)
    return 0


def tell_estimate(config: Config) -> None:
    """Reads the data and writes the estimate.

    Raises:
        UserInputError: The data set or the answers are wrong.
    """
    from ragguard.adapters.litellm_clients import tell_when_slow
    from ragguard.app.estimates import estimate_run

    tell_when_slow(lambda line: say(line, sys.stderr))
    for line in estimate_run(config, os.environ, Path.cwd()):
        say(line)

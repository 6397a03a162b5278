"""`ragguard calibrate`: how far the configured judge agrees with people."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragguard.entrypoints.commands.options import load_config, progress_for
from ragguard.entrypoints.console import say

if TYPE_CHECKING:
    from ragguard.app.config import Config


@click.command()
@click.argument("labelled", metavar="LABELLED.jsonl")
@click.option(
    "--answers", multiple=True, metavar="URL", help="Answers to these samples, joined by id; may be repeated."
)
@click.option("--label", metavar="FIELD", help="The label's field; default the only one of true and false.")
@click.option("--good-from", type=float, metavar="GRADE", help="Where labels are grades: the least good one.")
@click.option("--metric", default="faithfulness", show_default=True, metavar="ID", help="Whose scores are compared.")
@click.option(
    "--threshold", type=click.FloatRange(0, 1), help="The least score of a good answer; default the metric's."
)
@click.option("--config", "config_path", metavar="FILE", help="The config; default ragguard.yaml.")
@click.option("--judge", metavar="MODEL", help="Another judge; with it no config is needed.")
@click.option("--resamples", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Of the bootstrap.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bootstrap.")
@click.option("--show", type=click.IntRange(0), default=20, show_default=True, help="Disagreements that are shown.")
@click.option("--json", "as_json", is_flag=True, help="All figures and all disagreements, as JSON.")
@click.option("--no-cache", is_flag=True, help="Ask the judge anew even for what this machine knows.")
@click.option("--quiet", is_flag=True, help="No progress.")
def calibrate(
    labelled: str,
    answers: tuple[str, ...],
    label: str | None,
    good_from: float | None,
    metric: str,
    threshold: float | None,
    config_path: str | None,
    judge: str | None,
    resamples: int,
    seed: int,
    show: int,
    *,
    as_json: bool,
    no_cache: bool,
    quiet: bool,
) -> int:
    """Compare the judge's scores with people's labels: is it fit to guard this app?

    \b
    A label is true (a good answer) or false, a grade (with --good-from), or a list of several people's
    votes, of which the majority counts. It stands beside the sample, or beside its answer in --answers.
    Exits with 4 where too little could be scored.
    """
    from ragguard.adapters.renderers.json import json_text
    from ragguard.app.calibrate import CalibrationRequest
    from ragguard.app.calibrate import calibrate as measure
    from ragguard.entrypoints.calibration_text import calibration_lines

    request = CalibrationRequest(
        config=_config(config_path, judge, labelled),
        labelled=labelled,
        folder=Path.cwd(),
        answers=answers,
        label=label,
        good_from=good_from,
        metric=metric,
        threshold=threshold,
        resamples=resamples,
        seed=seed,
        use_cache=not no_cache,
        environment=os.environ,
        progress=progress_for(quiet=quiet or as_json),
    )
    found = asyncio.run(measure(request))
    if as_json:
        click.echo(json_text(found.model_dump(mode="json"), indent=2))
    else:
        for line in calibration_lines(found, show):
            say(line)
    return int(found.exit_code)


def _config(path: str | None, judge: str | None, labelled: str) -> Config:
    """The config with the options on top; with a judge named, none is needed.

    Raises:
        ConfigError: There is none, or it is wrong.
    """
    from ragguard.app.read_config import DEFAULT_NAMES, parse_config

    if judge is not None and path is None and not any(Path(name).is_file() for name in DEFAULT_NAMES):
        fields = {"pipeline.dataset": labelled, "judge": {"model": judge}}
        return parse_config("pipeline: {}", "--judge", {}, fields)
    config = load_config(path, {"dataset": labelled})
    if judge is None:
        return config
    chosen = parse_config("pipeline: {}", "--judge", {}, {"pipeline.dataset": labelled, "judge": {"model": judge}})
    return config.model_copy(update={"judge": chosen.judge, "judges": ()})

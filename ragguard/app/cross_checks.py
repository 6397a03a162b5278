"""Checks of the config that no single field can make, such as the floor of a metric that is not configured."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.app.config import Config
from ragguard.app.yaml_text import FieldPath, YamlText, dotted


def cross_checks(config: Config, text: YamlText) -> Iterator[str]:
    """One sentence for each mistake, with file, line and field."""
    yield from _floors(config, text)
    yield from _metrics(config, text)
    if config.judge is not None and config.judges:
        yield _at(text, ("judges",), "`judge` and `judges` both stand; keep one of the two")
    if config.vote == "majority" and _asks_once(config):
        yield _at(
            text,
            ("vote",),
            "one judge that is asked once has nothing to vote on: name several under `judges`, or set its `repeats`",
        )
    section = text.data.get("gate") if isinstance(text.data, dict) else None
    for field in ("regression_tolerance", "slo_minima"):
        if isinstance(section, dict) and field in section:
            yield _at(text, ("gate", field), "belongs into the section `slo`")


def _asks_once(config: Config) -> bool:
    """Whether each task gives one judgment; not said of the offline judge, which stands in for others in dry runs."""
    judges = config.judges or ((config.judge,) if config.judge is not None else ())
    return len(judges) == 1 and isinstance(judges[0], LiteLLMJudge) and judges[0].repeats == 1


def _floors(config: Config, text: YamlText) -> Iterator[str]:
    """A floor or tolerance of a metric that the run does not have would never be checked."""
    ids = {metric.id for metric in config.metrics}
    fractions = {metric.id for metric in config.metrics if metric.unit == "fraction"}
    for metric, floor in config.slo.minima.items():
        path: FieldPath = ("slo", f"{metric}_min")
        if metric not in ids:
            yield _at(text, path, f"the metric {metric} is not configured{did_you_mean(metric, ids)}")
        elif metric in fractions and floor > 1:
            yield _at(text, path, f"{floor:g} is no fraction in [0, 1]; write {floor / 100:g} for {floor:g} %")
    for metric in config.gate.tolerance:
        if metric not in ids:
            hint = did_you_mean(metric, ids)
            yield _at(text, ("gate", "tolerance", metric), f"the metric {metric} is not configured{hint}")


def _metrics(config: Config, text: YamlText) -> Iterator[str]:
    seen: set[str] = set()
    for metric in config.metrics:
        if metric.id in seen:
            yield _at(text, ("metrics",), f"{metric.id} stands twice")
        seen.add(metric.id)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` for a word that is close to a known one, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" (did you mean `{close[0]}`?)" if close else ""


def _at(text: YamlText, path: FieldPath, message: str) -> str:
    return f"{text.where(path)}: {dotted(path)}: {message}"

"""Reads ragguard.yaml into a `Config`, with overrides on top and every mistake told where it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from ragguard.app.config import Config
from ragguard.app.cross_checks import cross_checks
from ragguard.app.field_errors import field_errors
from ragguard.app.yaml_text import read_yaml
from ragguard.core.metrics.base import Metric
from ragguard.errors import ConfigError

DEFAULT_NAMES = ("ragguard.yaml", "ragguard.yml", ".ragguard.yaml")


def find_config(path: str | None, folder: Path) -> Path:
    """Finds the config file: the one named, else one of the usual names in a folder.

    Raises:
        ConfigError: There is none.
    """
    if path is not None:
        found = folder / path
        if not found.is_file():
            raise ConfigError(f"{path}: no such file", mend="give the config's path with --config")
        return found
    for name in DEFAULT_NAMES:
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(
        f"no config: none of {', '.join(DEFAULT_NAMES)} is in {folder}",
        mend="name yours with --config; a new one needs `pipeline: {dataset: …}` and `judge: {model: …}`",
    )


def read_config(
    path: Path,
    variables: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
    load_metric: Callable[[str], type[Metric]] | None = None,
) -> Config:
    """Reads and checks a config file.

    Args:
        path: The file.
        variables: For `${RAGGUARD_VAR_…}`.
        overrides: Dotted field path to value, from options and inputs; they win.
        load_metric: Imports a user's own metric from `module:Class`.

    Raises:
        ConfigError: Anything in it is wrong; every mistake is named with its line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})", mend="save the file as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    return parse_config(text, str(path), variables, overrides, load_metric)


def parse_config(
    text: str,
    name: str,
    variables: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
    load_metric: Callable[[str], type[Metric]] | None = None,
) -> Config:
    """Checks a config's text; see `read_config`."""
    yaml_text = read_yaml(text, name, variables)
    if not isinstance(yaml_text.data, dict):
        raise ConfigError(f"{name}: not a mapping of sections", mend="begin with `pipeline:` and its `dataset:`")
    for field, value in (overrides or {}).items():
        _override(yaml_text.data, field, value)
    try:
        config = Config.model_validate(yaml_text.data, context={"load_metric": load_metric})
    except ValidationError as error:
        found = field_errors(error, yaml_text, Config)
        raise ConfigError(f"{name}: {_counted(found)}", details=found, mend=_schema_hint()) from error
    except RecursionError as error:
        raise ConfigError(f"{name}: nested too deeply") from error
    problems = list(cross_checks(config, yaml_text))
    if problems:
        raise ConfigError(f"{name}: {_counted(problems)}", details=problems)
    return config


def _override(data: dict[str, object], field: str, value: object) -> None:
    *parents, last = field.split(".")
    here = data
    for parent in parents:
        below = here.setdefault(parent, {})
        if not isinstance(below, dict):
            return
        here = below
    here[last] = value


def _counted(problems: list[str]) -> str:
    return "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"


def _schema_hint() -> str:
    return "`ragguard schema` prints every field that may stand in the config"

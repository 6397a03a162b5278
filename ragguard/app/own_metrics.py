"""Imports a user's own metric, named in the config as `module:Class`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from ragguard.core.metrics.base import Metric


def load_metric(name: str) -> type[Metric]:
    """Imports a metric class; the working folder is looked through too.

    Raises:
        ValueError: There is no such module or class, or it is no metric.
    """
    module_name, _, class_name = name.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = import_module(module_name)
    except Exception as error:  # the user's module may raise anything
        raise ValueError(f"the module {module_name} of the metric {name} cannot be imported: {error}") from error
    found = getattr(module, class_name, None)
    if not (isinstance(found, type) and issubclass(found, Metric)):
        raise ValueError(f"{name} is no class derived from ragguard.Metric")  # noqa: TRY004 - pydantic reports ValueErrors
    return found

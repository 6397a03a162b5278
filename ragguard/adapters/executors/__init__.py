"""What runs work items: this process, or a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ragguard.adapters.executors.local import LocalExecutor
from ragguard.adapters.executors.spark import SparkExecutor

__all__ = ["ExecutorConfig", "LocalExecutor", "SparkExecutor"]


def _with_type(value: object) -> object:
    if isinstance(value, str):
        return {"type": value}
    return {"type": "local", **value} if isinstance(value, Mapping) else value


ExecutorConfig = Annotated[
    LocalExecutor | SparkExecutor,
    Field(discriminator="type"),
    BeforeValidator(_with_type, json_schema_input_type=LocalExecutor | SparkExecutor | Literal["local", "spark"]),
]
"""What may stand under `executor` in a config."""

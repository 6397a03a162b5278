"""Where answers come from: recorded, or from the live RAG app."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ragguard.adapters.targets.command import CommandTarget
from ragguard.adapters.targets.http import HttpTarget
from ragguard.adapters.targets.python import PythonTarget
from ragguard.adapters.targets.recorded import RecordedTarget

Target = Annotated[RecordedTarget | HttpTarget | PythonTarget | CommandTarget, Field(discriminator="type")]
"""The configured target: one of them, told apart by `type`."""

__all__ = ["CommandTarget", "HttpTarget", "PythonTarget", "RecordedTarget", "Target"]

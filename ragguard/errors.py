"""Every error that a user may meet: each knows its exit code, says what is wrong, and what mends it.

A regression is not an error but a value (see `ragguard.core.gate`); errors keep a verdict from being reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0
    REGRESSION = 1
    USER_INPUT = 2
    INCONCLUSIVE = 3
    OUTSIDE_WORLD = 4
    BUG = 70
    INTERRUPTED = 130


class RagguardError(Exception):
    """Base of all expected errors.

    Args:
        message: What is wrong and where, in one sentence.
        mend: What the user can do about it, in one sentence.
        details: Further lines, such as one per bad row.
    """

    exit_code: ExitCode = ExitCode.BUG

    def __init__(self, message: str, *, mend: str | None = None, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend
        self.details = tuple(details)

    def __str__(self) -> str:
        lines = [self.message, *(f"  {detail}" for detail in self.details)]
        if self.mend:
            lines.append(f"  mend: {self.mend}")
        return "\n".join(lines)


class UserInputError(RagguardError):
    """The user's input is wrong."""

    exit_code = ExitCode.USER_INPUT


class ConfigError(UserInputError):
    """ragguard.yaml, or an option that overrides it, is wrong."""


class DatasetError(UserInputError):
    """A data set or an answers file is wrong; `details` name each line."""


class RunFileError(UserInputError):
    """A stored run.json or samples.jsonl cannot be used."""


class TemplateError(UserInputError):
    """A user's own template is wrong."""


class OutsideWorldError(RagguardError):
    """Something outside failed, so that nothing can be said about the RAG app."""

    exit_code = ExitCode.OUTSIDE_WORLD


class JudgeError(OutsideWorldError):
    """The judge as a whole cannot be used (down, wrong key); one failed call is a value instead."""


class EmbedderError(OutsideWorldError):
    """The embedder gave no vectors, or something else than was configured; the failure of the texts that were sent."""


class EmbedderDownError(OutsideWorldError):
    """The embedder is down: the run ends, where one request that fails is a value."""


class TargetError(OutsideWorldError):
    """The RAG app under test cannot be reached at all."""


class StoreError(OutsideWorldError):
    """The store of runs cannot be read or written."""


class ObjectError(OutsideWorldError):
    """A file or object cannot be read or written for reasons outside (network, permission)."""


class ObjectNotFoundError(UserInputError):
    """A file or object that the user named does not exist."""


class ObjectIsFolderError(ObjectNotFoundError):
    """A folder stands where the user named a file."""


class ObjectExistsError(RagguardError):
    """A conditional write found the object already there."""


class BudgetError(OutsideWorldError):
    """The run's budget of calls, tokens or money is spent."""

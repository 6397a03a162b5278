"""What all embedders share: settings that travel without their clients, and the check of every vector they get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from ragguard.core.digests import digest
from ragguard.core.ports import Vectors
from ragguard.core.text import without_lone_surrogates
from ragguard.errors import EmbedderError


class TextsRefusedError(EmbedderError):
    """The server refused these texts (too long, too many); fewer of them at once may still be accepted."""


class EmbedderSettings(BaseModel):
    """Settings that are the embedder; what is built on first use stays out of copies and pickles."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def name(self) -> str:
        """The model's name, for reports."""
        raise NotImplementedError

    @property
    def dimension(self) -> int | None:
        """Length of a vector; None where it is only known from what comes back."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """Digest of model, dimension and revision; never of an address."""
        return digest([self.name, self.dimension, None])

    async def aclose(self) -> None:
        """Frees the connections of the running event loop; the next `embed` opens new ones."""

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        return {**state, "__dict__": self._fields_only(state["__dict__"])}

    def __copy__(self) -> EmbedderSettings:
        copied = super().__copy__()
        copied.__dict__.clear()
        copied.__dict__.update(self._fields_only(self.__dict__))
        return copied

    @classmethod
    def _fields_only(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name in cls.model_fields}


def sendable(texts: Sequence[str]) -> list[str]:
    """Makes texts safe for every tokenizer: no lone surrogates, no NUL (which ends a text in C)."""
    return [str(without_lone_surrogates(text)).replace("\0", " ") for text in texts]


def batches(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    """Cuts texts into runs of at most `size`."""
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def unit_vectors(rows: object, count: int, dim: int | None, source: str) -> Vectors:
    """Checks what an embedder gave and scales every row to length 1.

    Args:
        rows: A matrix or a list of lists of numbers.
        count: How many texts were sent.
        dim: The configured dimension; None accepts any.
        source: Who gave them, for messages.

    Returns:
        Unit vectors, shape (count, dim).

    Raises:
        EmbedderError: Another count or dimension, something that is not a finite number, or a zero vector.
    """
    matrix = _as_matrix(rows, source)
    if len(matrix) != count:
        raise EmbedderError(f"{source} gave {len(matrix)} vectors for {count} texts", mend=NO_EMBEDDER)
    if dim is not None and matrix.shape[1] != dim:
        raise EmbedderError(
            f"{source} gives vectors of dimension {matrix.shape[1]}, but embedder.dim is {dim}",
            mend=f"set embedder.dim to {matrix.shape[1]}, or serve the model that gives {dim} dimensions",
        )
    if not np.isfinite(matrix).all():
        raise EmbedderError(f"{source} gave a vector with NaN or infinity in it", mend=_BROKEN_MODEL)
    largest = np.abs(matrix).max(axis=1, initial=0.0, keepdims=True)
    if not largest.all():
        raise EmbedderError(f"{source} gave a vector of zeros, which has no direction", mend=_BROKEN_MODEL)
    scaled = matrix / largest  # so that squares neither overflow nor vanish
    unit: Vectors = scaled / np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    return unit


NO_EMBEDDER = "check that embedder.api_base is the address of a server of embeddings in OpenAI's form"
_BROKEN_MODEL = "look at the server's log; half precision or a truncated model file are the usual causes"


def _as_matrix(rows: object, source: str) -> Vectors:
    if isinstance(rows, list) and len({len(row) if isinstance(row, list) else -1 for row in rows}) > 1:
        raise EmbedderError(f"{source} gave vectors of different dimensions in one reply", mend=NO_EMBEDDER)
    try:
        matrix = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"{source} gave something else than lists of numbers", mend=NO_EMBEDDER) from error
    if matrix.ndim != 2:
        what = f"{len(matrix) if matrix.ndim else 0} vectors that are not lists of numbers"
        raise EmbedderError(f"{source} gave {what}", mend=NO_EMBEDDER)
    return matrix

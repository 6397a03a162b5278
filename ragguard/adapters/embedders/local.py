"""bge-m3, or any sentence-transformers model, in this process (extra `local`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from ragguard.adapters.embedders.base import EmbedderSettings, sendable, unit_vectors
from ragguard.core.digests import digest
from ragguard.core.ports import Vectors
from ragguard.errors import EmbedderError, UserInputError

DEFAULT_MODEL = "BAAI/bge-m3"


class LocalEmbedder(EmbedderSettings):
    """Embeds with sentence-transformers; the model is loaded on first use, and code that it brings never runs."""

    # Without `type` this is a LiteLLMEmbedder; the JSON Schema must say the same.
    model_config = ConfigDict(json_schema_extra={"required": ["type"]})

    type: Literal["local"] = "local"
    model: str = Field(default=DEFAULT_MODEL, min_length=1, description="A model's name on the hub, or a folder.")
    dim: int | None = Field(default=None, ge=1, description="Checked against what the model gives.")
    revision: str | None = Field(default=None, description="Commit or tag of the model; pin it for stable baselines.")
    device: str | None = Field(default=None, description="cpu, cuda, mps …; the best there is where left out.")
    batch_size: int = Field(default=16, ge=1, le=1024, description="Texts per forward pass.")

    @property
    def name(self) -> str:
        """The model's name, with its revision where one is pinned."""
        return f"{self.model}@{self.revision}" if self.revision else self.model

    @property
    def dimension(self) -> int | None:
        """The configured dimension."""
        return self.dim

    @property
    def fingerprint(self) -> str:
        """Digest of model, dimension and revision; the device is not in it."""
        return digest([self.model, self.dim, self.revision])

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, one row for each text: shape (len(texts), dim).

        Raises:
            UserInputError: The extra `local` is not installed.
            EmbedderError: The model cannot be loaded or fails, or gives another dimension than configured.
        """
        if not texts:
            return np.zeros((0, self.dim or 0))
        return await asyncio.to_thread(self._encode, sendable(texts), self._lock)

    def _encode(self, texts: list[str], lock: threading.Lock) -> Vectors:
        with lock:
            model = self._model
            try:
                rows = model.encode(texts, batch_size=self.batch_size, convert_to_numpy=True, show_progress_bar=False)
            except Exception as error:
                raise EmbedderError(f"{self.name} failed in this process: {_first_line(error)}") from error
        return unit_vectors(rows, len(texts), self.dim, f"{self.name} in this process")

    @cached_property
    def _lock(self) -> threading.Lock:
        return threading.Lock()

    @cached_property
    def _model(self) -> Any:
        try:
            package = self._package()
        except ImportError as error:
            raise local_missing(self.model) from error
        try:
            return package.SentenceTransformer(
                self.model, revision=self.revision, device=self.device, trust_remote_code=False
            )
        except Exception as error:
            raise EmbedderError(
                f"{self.name} cannot be loaded: {_first_line(error)}",
                mend="check embedder.model and revision, and that the model's hub can be reached or the folder exists",
            ) from error

    def _package(self) -> Any:
        import sentence_transformers

        return sentence_transformers


def local_missing(model: str) -> UserInputError:
    """The error of a `local` embedder whose package is not installed."""
    return UserInputError(
        f"embedder {model} in this process needs the package sentence-transformers, which is not installed",
        mend="pip install 'ragguard[local]', or set embedder.api_base to a server of the model",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]

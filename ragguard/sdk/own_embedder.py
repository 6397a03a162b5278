"""Embedders of the user's own: a function from text to vector, or an object that embeds many texts at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ragguard.adapters.embedders.base import unit_vectors
from ragguard.core.digests import digest
from ragguard.core.ports import Embedder, Vectors
from ragguard.errors import ConfigError, EmbedderError
from ragguard.sdk.own_judge import called

_MANY = ("embed", "embed_documents", "encode")
"""Methods from a list of texts to a list of vectors, by the names that libraries give them."""


def own_embedder(embedder: object) -> Embedder:
    """Makes an embedder of an object.

    Args:
        embedder: A whole `Embedder`; an object with `embed`, `embed_documents` or `encode` from texts to vectors; or a
            function from one text to its vector. Sync or async.

    Raises:
        ConfigError: It is none of these.
    """
    if isinstance(embedder, Embedder):
        return embedder
    method = next((name for name in _MANY if callable(getattr(embedder, name, None))), None)
    if method is None and not callable(embedder):
        raise ConfigError(
            f"evaluate(): embedder is a {type(embedder).__name__}, which does not embed",
            mend="give 'provider/model', 'offline', a dict of settings, or a function from a text to its vector",
        )
    return OwnEmbedder(embedder, method)


class OwnEmbedder:
    """A user's function or object as an embedder; its vectors are checked and made unit length."""

    def __init__(self, embedder: object, method: str | None) -> None:
        self._embedder = embedder
        self._method = method
        kind = embedder if hasattr(embedder, "__qualname__") else type(embedder)
        self.name = str(getattr(kind, "__qualname__", type(embedder).__name__))
        own = getattr(embedder, "fingerprint", None)
        self.fingerprint = own if isinstance(own, str) else digest([getattr(kind, "__module__", ""), self.name])

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, one row for each text; see `Embedder.embed`."""
        rows: Any
        if self._method is not None:
            rows = await called(self._embedder, self._method, list(texts))
        else:
            rows = list(await asyncio.gather(*(called(self._embedder, "__call__", text) for text in texts)))
        return unit_vectors(rows, len(texts), None, self.name)


class NoEmbedder:
    """Stands where no metric embeds."""

    fingerprint = "none"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Says that there is none.

        Raises:
            EmbedderError: Always.
        """
        raise EmbedderError("no embedder was given", mend="a metric that embeds says so: `uses_embedder = True`")

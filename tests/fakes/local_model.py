"""A stand-in for the package sentence-transformers: the calls that ragguard makes, and no model."""

import hashlib
from typing import Any

import numpy as np

from ragguard.adapters.embedders import LocalEmbedder


class FakeSentenceTransformer:
    """Gives each text float32 numbers of its own; knows the folder `missing` as absent."""

    def __init__(self, model: str, *, revision: str | None, device: str | None, trust_remote_code: bool) -> None:
        if model == "missing":
            raise OSError("missing is not a local folder\nand many more lines")
        if trust_remote_code:
            raise AssertionError("code that comes with a model must not run")
        self.model = model
        self.calls: list[list[str]] = []

    def encode(
        self, texts: list[str], *, batch_size: int, convert_to_numpy: bool, show_progress_bar: bool
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        if "out of memory" in texts:
            raise RuntimeError("CUDA out of memory")
        self.calls.append(texts)
        return np.stack([self._row(text) for text in texts])

    def _row(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        seed = int.from_bytes(hashlib.sha256(f"{self.model} {text}".encode()).digest()[:8], "little")
        return np.random.default_rng(seed).normal(size=8).astype(np.float32)


class FakePackage:
    SentenceTransformer = FakeSentenceTransformer


class LocalEmbedderOnFake(LocalEmbedder):
    """A local embedder whose package is the stand-in."""

    def _package(self) -> Any:
        return FakePackage


class LocalEmbedderWithoutPackage(LocalEmbedder):
    """A local embedder where the extra is not installed."""

    def _package(self) -> Any:
        raise ImportError("No module named 'sentence_transformers'")

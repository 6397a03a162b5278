"""Small files and replies that grow, nest or repeat until nothing else is done."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from ragguard.adapters.judges.replies import Accepted, Refused, read_reply
from ragguard.adapters.lines import lines_of
from ragguard.core.samples import Passage, Sample
from ragguard.core.tasks import claims_task
from ragguard.entrypoints.cli import run_cli
from ragguard.errors import DatasetError
from tests.attacks.attack import Attacks
from tests.fakes.small_runs import CONFIG, SmallRuns, answer_rows, golden_rows, write_rows

ATTACKS = Attacks("bombs")
MEGABYTE = 1_000_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a config, a data set and answers."""
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "golden.jsonl", golden_rows(3))
    write_rows(tmp_path / "answers.jsonl", answer_rows(3))
    text = CONFIG.replace("golden.jsonl", "golden.jsonl, answers: answers.jsonl")
    (tmp_path / "ragguard.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def refused(capfd: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    """What the command says when it refuses, which is short and no traceback."""
    assert run_cli(list(arguments)) == code
    printed = "".join(capfd.readouterr())
    assert "Traceback" not in printed
    assert len(printed) < 20_000
    return printed


def packed(kind: str, piece: bytes, count: int) -> Iterator[bytes]:
    """Packed bytes, made piece by piece."""
    if kind == "gzip":
        yield gzip.compress(piece * count, 9)
    else:
        yield zstandard.ZstdCompressor(level=3).compress(piece * count)


@ATTACKS.tried(
    "a packed file that unpacks to one endless line, or to ever more of the same rows",
    "data fork",
    "the machine's memory, or the job's hours",
    "lines of at most 16 MiB; at most 200 times the packed size beyond 64 MiB, and 4 GiB in all",
)
@pytest.mark.parametrize("kind", ["gzip", "zstd"])
@pytest.mark.parametrize(
    ("piece", "says"), [(b"\0", "line is longer"), (b'{"id": "1"}' * 99 + b"\n", "times its size")]
)
def test_a_packed_file_grows_only_so_far(kind: str, piece: bytes, says: str) -> None:
    read = 0
    lines = lines_of(packed(kind, piece, 80 * MEGABYTE // len(piece)), "bomb")

    def read_all() -> None:
        nonlocal read
        for _, line in lines:
            read += len(line)

    with pytest.raises(DatasetError, match=says):
        read_all()
    assert read < 80 * MEGABYTE


ROWS = {
    "nested too deeply": '{"id": ' + "[" * 200_000,
    "a number of a million digits": '{"id": "a", "question": "q", "answer": "x", "latency_s": ' + "9" * MEGABYTE + "}",
    "a number that is none": '{"id": "a", "question": "q", "answer": "x", "cost_usd": NaN, "latency_s": 1e999}',
    "a field twice": '{"id": "a", "question": "q", "question": "r"}',
    "a text of 17 MB": '{"id": "a", "question": "' + "x" * 17 * MEGABYTE + '"}',
    "a million keys": '{"id": "a", ' + ", ".join(f'"{n}": 1' for n in range(100_000)) + "}",
}


@ATTACKS.tried(
    "rows that nest, with numbers of a million digits, NaN, repeated keys, a hundred thousand keys",
    "data fork app",
    "a crash, a hang, or two readings of one row",
    "a strict reader with bounds; every bad row is named, shortened, and nothing is run",
)
@pytest.mark.parametrize("name", ROWS)
def test_a_hostile_row_is_named(folder: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    (folder / "golden.jsonl").write_text(ROWS[name], encoding="utf-8")
    printed = refused(capfd, "run")
    assert "golden.jsonl:1" in printed


CONFIGS = {
    "billion laughs": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)),
    "merged laughs": "a: &a {x: 1}\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [{', '.join(['*' + chr(97 + n)] * 9)}]}}\n" for n in range(9)),
    "an alias in itself": "pipeline: &p {dataset: g, fields: *p}",
    "a list in itself": "metrics: &m [*m, *m]",
    "large": "# " + "x" * 3 * MEGABYTE,
    "digits": "budget: {max_calls: " + "9" * 100_000 + "}",
    "a Python object": "suite: !!python/object/apply:os.system ['touch pwned']",
    "a key twice": "suite: a\nsuite: b",
}


@ATTACKS.tried(
    "a config of aliases that multiply or hold themselves, of depth, of digits, or with Python objects",
    "branch fork",
    "memory, a hang, code",
    "a safe loader; sizes, depth and values are counted before anything is built",
)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_hostile_config_is_refused(folder: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    (folder / "ragguard.yaml").write_text(CONFIGS[name], encoding="utf-8")
    assert "ragguard.yaml" in refused(capfd, "run")
    assert not (folder / "pwned").exists()


HEADS = {
    "nested": b'{"run_id": ' + b"[" * 200_000,
    "digits": b'{"schema_version": ' + b"9" * 100_000 + b', "run_id": "x"}',
    "large": b" " * (64 * 1024 * 1024 + 1),
    "no JSON": b"\xff\xfe\x00",
    "another kind": b'[{"schema_version": 1}]',
}


@ATTACKS.tried(
    "a run.json that nests, is huge or holds NaN for a mean",
    "fork store",
    "a crash; a comparison in which nothing is worse than NaN",
    "bounded, checked against its schema; NaN and infinity are no values",
)
@pytest.mark.parametrize("name", [*HEADS, "NaN"])
def test_a_hostile_head_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    runs = SmallRuns(tmp_path, n=3)
    runs.run()
    saved = runs.output("run-1") / "run.json"
    head = json.loads(saved.read_bytes())
    if name == "NaN":
        head["metrics"]["faithfulness"] |= {"mean": float("nan"), "ci_low": float("inf")}
    saved.write_bytes(HEADS.get(name) or json.dumps(head).encode())
    refused(capfd, "report", str(saved), code=4 if name == "large" else 2)


REPLIES = {
    "braces": "{" * 60_000,
    "brackets": "[" * 60_000,
    "nested": '{"claims":' * 6_000,
    "digits": '{"claims":[{"source":'
    + "9" * MEGABYTE
    + ',"claim":"x","passage":1,"verdict":"supported"}],"no_claim":[]}',
    "NaN": '{"claims":[{"source":NaN,"claim":"x","passage":1,"verdict":"supported"}],"no_claim":[]}',
    "a field twice": '{"claims":[],"no_claim":[1],"no_claim":[]}',
    "many objects": "{} " * 300_000,
    "quotes": '"' * MEGABYTE,
}


@ATTACKS.tried(
    "replies of the judge's server that nest, repeat or are megabytes long",
    "provider",
    "memory or hours; a reply that is read in two ways",
    "bounded reading; what is not one acceptable object is refused",
)
@pytest.mark.parametrize("name", REPLIES)
def test_a_hostile_reply_is_refused(name: str) -> None:
    sample = Sample(id="a", question="q", contexts=(Passage(text="The fee is 5."),))
    task = claims_task(sample, ["The fee is 5."], sample.contexts or ())
    assert isinstance(read_reply(REPLIES[name], task), Refused)
    good = {"claims": [{"source": 1, "claim": "x", "passage": 1, "verdict": "supported"}], "no_claim": []}
    assert isinstance(read_reply(json.dumps(good), task), Accepted)


@ATTACKS.tried(
    "a payload of the event that is huge, nests or is no JSON",
    "fork",
    "a run that takes itself for one of the default branch",
    "what cannot be read is unknown and said; a change whose base is unknown is refused",
)
@pytest.mark.parametrize("payload", [b"{" * 100_000, b'{"a":' * 100_000, b"\xff", b"[]", b""])
def test_a_hostile_payload_makes_no_push_of_a_change(runner, payload: bytes) -> None:  # type: ignore[no-untyped-def]
    from ragguard.entrypoints.action import run_action
    from ragguard.errors import ConfigError

    environment = runner.environment("pull_request_same_repository")
    Path(environment["GITHUB_EVENT_PATH"]).write_bytes(payload)
    for name in ("GITHUB_BASE_REF", "GITHUB_HEAD_REF"):
        environment.pop(name, None)
    with pytest.raises(ConfigError, match="base branch of the change under test is unknown"):
        run_action(environment)
    assert not list((runner.workspace / ".ragguard").rglob("run.json"))

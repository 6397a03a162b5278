"""The data set is missing, damaged, of another kind, or behind a server that breaks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ragguard.adapters.addresses import Access
from ragguard.adapters.datasets.jsonl import JsonlDataset
from ragguard.adapters.objects import read_chunks
from ragguard.errors import ObjectError, RagguardError
from tests.fakes.fault_runs import Ended, FaultRuns, expect, expect_error_kept, expect_nothing_kept, expect_whole
from tests.fakes.small_runs import CONFIG, answer_rows, golden_rows, write_rows
from tests.faults.fault import Fault
from tests.parts import faulty_proxy as faults
from tests.parts.faulty_proxy import faulty_proxy, status
from tests.parts.local_http import Handler, Reply, in_a_thread

NOTHING = "nothing was asked or judged; no run, no baseline"
WHOLE = "everything: all samples are scored"

SECRET = "8f2e77aa90bc41dd9e"
ROWS = [json.dumps(row, ensure_ascii=False) for row in golden_rows(6)]
GOOD = ("\n".join(ROWS) + "\n").encode()


def fault(name: str, exit_code: int, says: str, outcome: str = "-", kept: str = NOTHING) -> Fault:
    return Fault("data set", name, outcome, exit_code, kept, says)


def fine(name: str) -> Fault:
    return fault(name, 0, "no baseline yet", "warned", WHOLE)


Damage = Callable[[Path], object]


def holds(content: bytes) -> Damage:
    return lambda path: path.write_bytes(content)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def circle(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


ZIPPED = gzip.compress(GOOD * 50)
ADDRESS = "correct the path"
LINES = "ragguard reads JSON Lines, one object a line"
LOCAL: tuple[tuple[Fault, Damage], ...] = (
    (fault("is not there", 2, ADDRESS), Path.unlink),
    (fault("is a folder", 2, "name a file in it"), folder),
    (fault("cannot be read: links lead in a circle", 4, "links lead in a circle there"), circle),
    (fault("is empty", 2, LINES), holds(b"")),
    (fault("holds blank lines alone", 2, LINES), holds(b"\n \n\r\n")),
    (fault("ends in the middle of a line", 2, "the line ends too early"), holds(GOOD[:-40])),
    (fault("holds bytes that are not UTF-8", 2, "golden.jsonl:7: is not UTF-8 at byte 15"), holds(GOOD + b'{"question": "\xff?"}\n')),
    (fault("is UTF-16", 2, "save it as UTF-8"), holds(GOOD.decode().encode("utf-16"))),
    (fault("holds an id twice", 2, "give each sample its own id"), holds(GOOD + ROWS[0].encode())),
    (fault("holds a question twice, without ids", 2, "remove one of them, or give both an id"), holds(b'{"question": "Fee?"}\n' * 2)),
    (fault("has rows without a question", 2, "golden.jsonl:7: question"), holds(GOOD + b'{"id": "x"}')),
    (fault("is a JSON array", 2, "jq -c"), holds(f"[{','.join(ROWS)}]".encode())),
    (fault("is a CSV table", 2, "looks like a table"), holds(b"id,question\n1,fee?\n")),
    (fault("is a ZIP file", 2, "unpack it, or export it as JSON Lines"), holds(b"PK\x03\x04" + bytes(99))),
    (fault("is a Git LFS pointer", 2, "git lfs pull"), holds(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
    (fault("is a login page", 2, "an address behind a login gives its login page"), holds(b"<!DOCTYPE html><html></html>")),
    (fault("holds a line of 17 MB", 2, "golden.jsonl:7: the line is longer than"), holds(GOOD + b'{"question": "' + b"x" * (17 * 2**20))),
    (fault("is damaged gzip", 2, "pack the file again"), holds(ZIPPED[:60] + bytes(20) + ZIPPED[80:])),
    (fault("is gzip that was cut off", 2, "copy or pack the file again, it was cut off"), holds(ZIPPED[:-30])),
    (fine("begins with a BOM"), holds(b"\xef\xbb\xbf" + GOOD)),
    (fine("has Windows line ends and blank lines"), holds(GOOD.replace(b"\n", b"\r\n\r\n"))),
    (fine("is gzip under the name of a plain file"), holds(gzip.compress(GOOD))),
)  # fmt: skip

ROW = '{"id": "s000", "answer": "x"}\n'
ANSWERS: tuple[tuple[Fault, Damage], ...] = (
    (fault("the answers file is not there", 2, ADDRESS), Path.unlink),
    (fault("the answers file ends in the middle of a line", 2, "the line ends too early"), lambda path: path.write_bytes(path.read_bytes()[:-3])),
    (fault("the answers file answers one id twice", 2, "keep one answer"), holds((ROW * 2).encode())),
    (fault("the answers file belongs to another data set", 2, "answers"), holds(b'{"id": "other", "answer": "x"}\n')),
    (fault("every recorded answer is blank", 4, "look at the app or at the answers file"), holds("".join(json.dumps({"id": row["id"], "answer": " "}) + "\n" for row in answer_rows(6)).encode())),
)  # fmt: skip

REACH = "see whether it can be reached from here, then try again"
WEB: tuple[tuple[Fault, faults.Fault], ...] = (
    (fault("https: 404", 2, "correct the address"), status(404)),
    (fault("https: 403", 4, "use an address that may be read, such as a signed one"), status(403)),
    (fault("https: 500 for ever", 4, REACH), status(500)),
    (fault("https: 429 for ever", 4, REACH), status(429, retry_after="86400")),
    (fault("https: every connection is reset", 4, REACH), faults.reset()),
    (fault("https: the file breaks off", 4, REACH), faults.half()),
    (fault("https: the file is shorter than the server says", 4, REACH), faults.wrong_length(50)),
    (fault("https: whole for HTTP, but half a file", 2, "the line ends too early"), faults.truncated(0.55)),
    (fault("https: a redirect in a circle", 4, "use the final address"), faults.circle()),
    (fault("https: a redirect to a cloud's metadata", 2, "set allow_link_local if that is what you mean"), faults.redirect("http://169.254.169.254/latest")),
    (fault("https: a login page, status 200", 2, "an address behind a login gives its login page"), faults.page()),
    (fault("https: an empty file", 2, LINES), faults.empty()),
    (fault("https: 50 MB in one line", 2, "the line is longer than"), faults.oversized(50)),
    (fault("https: not UTF-8", 2, "save the file as UTF-8"), faults.garbled()),
)  # fmt: skip

S3: tuple[tuple[Fault, faults.Fault], ...] = (
    (fault("s3: no such object", 2, "correct the address"), status(404, body=b"<Error><Code>NoSuchKey</Code></Error>")),
    (fault("s3: no such bucket", 4, "correct its name and region"), status(404, body=b"<?xml?><Error><Code>NoSuchBucket</Code></Error>")),
    (fault("s3: access denied", 4, "set AWS_ACCESS_KEY_ID"), status(403, body=b"<Error><Code>AccessDenied</Code></Error>")),
    (fault("s3: the bucket is in another region", 4, "set AWS_REGION to the bucket's"), status(301, body=b"<Error><Code>PermanentRedirect</Code></Error>")),
    (fault("s3: 500 for ever", 4, "see whether the endpoint can be reached"), status(500, f"no {SECRET}")),
    (fault("s3: the object breaks off", 4, "see whether the endpoint can be reached"), faults.half()),
)  # fmt: skip
UNKNOWN = fault("https: the host's name cannot be resolved", 4, REACH)
SINGLE = fine("https: single 503 and broken connections")
SLOW = fault("https: the server says nothing", 4, REACH)
HUGE = fault(
    "one recorded answer holds 1.5 MB, and the judge is the offline one", 4, "look whether the app's answer is one",
    "error", "the other scores, and the reports, as an error; no baseline",
)  # fmt: skip
CHANGED = fault("is written to while it is read", 4, "run again when nobody writes to it")

FAULTS: tuple[Fault, ...] = (
    *(one for one, _ in LOCAL), CHANGED, *(one for one, _ in ANSWERS), HUGE, *(one for one, _ in WEB), *(one for one, _ in S3), UNKNOWN, SINGLE, SLOW,
)  # fmt: skip


def ids(scenes: tuple[tuple[Fault, object], ...]) -> list[str]:
    return [one.id for one, _ in scenes]


@pytest.fixture
def runs(tmp_path: Path) -> FaultRuns:
    return FaultRuns(tmp_path)


def check(fault: Fault, ended: Ended, runs: FaultRuns) -> None:
    expect(fault, ended)
    if fault.kept == WHOLE:
        expect_whole(ended, runs)
    else:
        assert ended.report is None
        expect_nothing_kept(ended, runs)


@pytest.mark.parametrize(("fault", "damage"), LOCAL, ids=ids(LOCAL))
def test_a_fault_of_the_file(fault: Fault, damage: Damage, runs: FaultRuns) -> None:
    damage(runs.folder / "golden.jsonl")
    check(fault, runs.end(CONFIG), runs)


@pytest.mark.parametrize(("fault", "damage"), ANSWERS, ids=ids(ANSWERS))
def test_a_fault_of_the_answers_file(fault: Fault, damage: Damage, runs: FaultRuns) -> None:
    runs.request()  # writes it
    damage(runs.folder / "answers.jsonl")
    request = {"pipeline.answers": str(runs.folder / "answers.jsonl")}
    if (runs.folder / "answers.jsonl").exists():
        check(fault, runs.end(CONFIG), runs)
    else:  # the runs would write it anew
        (runs.folder / "answers.jsonl").mkdir()
        check(fault, runs.end(CONFIG, overrides={**request, "pipeline.answers": str(runs.folder / "gone.jsonl")}), runs)


def test_an_answer_that_is_none(runs: FaultRuns) -> None:
    rows = answer_rows(6)
    rows[2]["answer"] = "word " * 300_000
    write_rows(runs.folder / "answers.jsonl", rows)
    ended = runs.end(CONFIG)
    expect(HUGE, ended)
    expect_error_kept(ended, runs)
    assert ended.report is not None
    assert ended.report.head.metrics["faithfulness"].n_scored == 5


@pytest.mark.parametrize(("fault", "broken"), WEB, ids=ids(WEB))
def test_a_fault_of_the_web(fault: Fault, broken: faults.Fault, runs: FaultRuns) -> None:
    with in_a_thread(serving(GOOD)) as port, faulty_proxy(f"http://127.0.0.1:{port}/golden.jsonl") as proxy:
        proxy.always(broken)
        check(fault, runs.end(CONFIG, overrides={"pipeline.dataset": proxy.url}), runs)


@pytest.mark.parametrize(("fault", "broken"), S3, ids=ids(S3))
def test_a_fault_of_the_bucket(
    fault: Fault, broken: faults.Fault, runs: FaultRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_a_thread(serving(GOOD)) as port, faulty_proxy(f"http://127.0.0.1:{port}") as proxy:
        values = {"ENDPOINT_URL": proxy.url, "ACCESS_KEY_ID": "somebody", "SECRET_ACCESS_KEY": SECRET, "REGION": "here"}
        for name, value in values.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        proxy.always(broken)
        ended = runs.end(CONFIG, overrides={"pipeline.dataset": "s3://data/golden.jsonl"})
    check(fault, ended, runs)
    assert SECRET not in ended.text


def test_a_host_without_an_address(runs: FaultRuns) -> None:
    check(UNKNOWN, runs.end(CONFIG, overrides={"pipeline.dataset": "https://data.invalid/golden.jsonl"}), runs)


def test_a_server_that_fails_now_and_then(runs: FaultRuns) -> None:
    with in_a_thread(serving(GOOD)) as port, faulty_proxy(f"http://127.0.0.1:{port}/golden.jsonl") as proxy:
        proxy.on(1, status(503))
        proxy.on(2, faults.reset())
        check(SINGLE, runs.end(CONFIG, overrides={"pipeline.dataset": proxy.url}), runs)


def test_a_server_that_says_nothing() -> None:
    """With less patience than a run has."""
    with in_a_thread(serving(GOOD)) as port, faulty_proxy(f"http://127.0.0.1:{port}/golden.jsonl") as proxy:
        proxy.always(faults.hang())
        dataset = JsonlDataset(uri=proxy.url, access=Access(read_timeout_s=0.1, retries=1))
        with pytest.raises(ObjectError, match=SLOW.says) as caught:
            dataset.read()
        assert len(proxy.calls) == 2
    assert_nothing(caught.value, SLOW)


def test_a_file_that_is_written_to_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_bytes(GOOD * 1000)
    chunks = read_chunks(str(path))
    next(chunks)
    with path.open("ab") as file:
        file.write(GOOD)
    with pytest.raises(ObjectError, match=CHANGED.says) as caught:
        list(chunks)
    assert_nothing(caught.value, CHANGED)


def assert_nothing(error: RagguardError, fault: Fault) -> None:
    """A run ends with this error before anything was asked: see the scenes above."""
    assert (NOTHING, "-", int(error.exit_code)) == (fault.kept, fault.outcome, fault.exit_code)


def serving(content: bytes) -> Handler:
    async def handle(method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        return 200, (), content

    return handle

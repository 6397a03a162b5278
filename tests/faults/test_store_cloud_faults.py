"""The store in a bucket or in BigQuery breaks: refused, missing, slow, cut off, answered by somebody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragguard.adapters.runfiles import read_run
from tests.faults.fault import Fault
from tests.faults.scene import Came, Scene, hold, is_whole
from tests.parts.faulty_proxy import (
    Call,
    FaultyProxy,
    faulty_proxy,
    half,
    hang,
    page,
    refused,
    reset,
    status,
    truncated,
)
from tests.parts.faulty_proxy import Fault as Break
from tests.parts.local_http import Reply, in_a_thread
from tests.parts.small_s3 import BUCKET, SmallS3, error_body, small_s3

S3 = f"reporting: {{sink: {{type: directory, uri: 's3://{BUCKET}/p', access: {{read_timeout_s: 0.4, retries: 1}}}}}}\n"
UNSPENT = "the store as it was; nothing was spent"
STORED = "the run, stored"
IN_OUTPUT = "the run in --output, which `baseline push` stores later"


@dataclass(frozen=True)
class Broken:
    """A fault on the wire or in the service.

    Attributes:
        hurt: Told to the proxy, after a good run was stored.
        answers: Of the run that meets it.
    """

    fault: Fault
    hurt: Callable[[FaultyProxy], None]
    answers: str = "bad.jsonl"


def _fault(name: str, outcome: str, code: int, kept: str, says: str, shown: str) -> Fault:
    return Fault("store", name, outcome, code, kept, says, shown)


def _unread(name: str, says: str, shown: str = "") -> Fault:
    says = f"the store cannot be read: .*{says}"
    return _fault(f"S3: {name}", "-", 4, UNSPENT, says, shown or f"“{says.replace('.*', '… ')}”")


def _error(code: int, kind: str, message: str = "told") -> Break:
    return status(code, body=error_body(kind, message))


def _always(fault: Break) -> Callable[[FaultyProxy], None]:
    return lambda proxy: proxy.always(fault)


def _writes(fault: Break) -> Break:
    """Only what writes meets the fault."""

    async def meets(call: Call) -> None:
        if call.method == "PUT":
            await fault(call)
        else:
            await call.reply(await call.forward())

    return meets


def _taken() -> Break:
    """Another writer of the same run was faster by a moment."""

    async def meets(call: Call) -> None:
        if call.method == "PUT":
            await call.forward()
        await call.reply(await call.forward())

    return meets


def _conflict(path: str, kind: str = "ConditionalRequestConflict") -> Callable[[FaultyProxy], None]:
    return lambda proxy: proxy.always(_writes(_error(409, kind)), path=path)


BUCKETS = (
    Broken(_unread("refuses connections", "error sending request"), _always(refused())),
    Broken(_unread("403 AccessDenied", "the credentials are missing or refused"), _always(_error(403, "AccessDenied"))),
    Broken(
        _unread("403 SignatureDoesNotMatch", "the credentials are missing or refused"),
        _always(_error(403, "SignatureDoesNotMatch")),
    ),
    Broken(
        _unread("403 RequestTimeTooSkewed", "this machine's clock is wrong"),
        _always(_error(403, "RequestTimeTooSkewed", "The difference between the request time and ours is too large.")),
    ),
    Broken(_unread("400 ExpiredToken", "the credentials have expired"), _always(_error(400, "ExpiredToken"))),
    Broken(_unread("404 NoSuchBucket", "the bucket does not exist"), _always(_error(404, "NoSuchBucket"))),
    Broken(_unread("the bucket is in another region", "is in another region"), _always(_error(301, "PermanentRedirect"))),
    Broken(_unread("500 at every try", "InternalError: told"), _always(_error(500, "InternalError"))),
    Broken(_unread("503 SlowDown", "the service is too busy"), _always(_error(503, "SlowDown"))),
    Broken(_unread("never answers", "error sending request"), _always(hang(2))),
    Broken(_unread("resets connections", "error sending request"), _always(reset())),
    Broken(_unread("breaks off in the middle of its reply", "request or response body error"), _always(half())),
    Broken(_unread("a listing that is cut off", "Got invalid list response"), _always(truncated())),
    Broken(_unread("a sign-in page answers", "what answers is no object store"), _always(page())),
    Broken(
        _fault("S3: 500 at the first try", "failed", 1, STORED, "fell by 35.00 points", ""),
        lambda proxy: proxy.on(1, _error(500, "InternalError")),
    ),
    Broken(
        _fault("S3: another writer of the same run is faster (412)", "failed", 1, STORED, "fell by 35.00 points", ""),
        lambda proxy: proxy.always(_taken(), path="run.json"),
    ),
    Broken(
        _fault("S3: 409 while run.json is written", "passed", 4, IN_OUTPUT, "somebody else is writing the same run", ""),
        _conflict("run.json"), answers="good.jsonl",
    ),
    Broken(
        _fault("S3: 409 while the samples are written", "failed", 1, IN_OUTPUT, "somebody else is writing it", ""),
        _conflict("samples-", "OperationAborted"),
    ),
    Broken(
        _fault("S3: may be read but not written", "failed", 1, IN_OUTPUT, "the store cannot be written: .*refused",
               "“the store cannot be written: … the credentials are missing or refused”"),
        _always(_writes(_error(403, "AccessDenied"))),
    ),
    Broken(
        _fault("S3: goes down at the end of a good run", "passed", 4, IN_OUTPUT, "the store cannot be written", ""),
        _always(_writes(_error(503, "ServiceUnavailable"))), answers="good.jsonl",
    ),
)  # fmt: skip


@pytest.fixture
def scene(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("broken", BUCKETS, ids=lambda broken: broken.fault.name)
def test_a_bucket(broken: Broken, scene: Scene) -> None:
    scene.configure(S3)
    scene.sink = ""
    with small_s3() as s3, faulty_proxy(s3.url) as proxy:
        for name, value in s3.environ(proxy.url).items():
            scene.monkeypatch.setenv(name, value)
        before = _with_a_good_run(scene, s3)
        broken.hurt(proxy)
        came = scene.run(broken.answers)
        proxy.heal()
        kept = {
            UNSPENT: lambda one: s3.objects == before and not any(one.out.glob("*")),
            STORED: lambda one: _is_stored(one, s3),
            IN_OUTPUT: lambda one: not _is_stored(one, s3) and _can_be_pushed(one) and _is_stored(one, s3),
        }
        hold(broken.fault, came, scene, kept)


_GOOD: dict[str, bytes] = {}


def _with_a_good_run(scene: Scene, s3: SmallS3) -> dict[str, bytes]:
    """Puts a good run into the bucket, made once for all tests here."""
    if not _GOOD:
        assert scene.run("good.jsonl").exit_code == 0
        _GOOD.update(s3.objects)
    s3.objects.update(_GOOD)
    return dict(_GOOD)


def _is_stored(scene: Scene, s3: SmallS3) -> bool:
    run_id = read_run(scene.out).head.run_id
    return is_whole(scene.out) and f"p/runs/{run_id}/run.json" in s3.objects


def _can_be_pushed(scene: Scene) -> bool:
    return all(scene.command("baseline", "push", str(scene.out)).exit_code == 0 for _ in range(2))


# BigQuery: what its service answers, in its own form.

TABLE = "acme-rag.ci.runs"
NOWHERE = "nothing is stored; nothing was spent"
Answer = tuple[int, str, str]


@dataclass(frozen=True)
class Refused:
    """A fault of BigQuery.

    Attributes:
        replies: Status, reason and message by a part of the path; the first that fits counts.
    """

    fault: Fault
    replies: dict[str, Answer]
    sink: str = ""


def _table(name: str, says: str, shown: str = "") -> Fault:
    return _fault(
        f"BigQuery: {name}",
        "-",
        4,
        NOWHERE,
        f"the BigQuery store {TABLE} cannot be read: (?s:.*){says}",
        shown or f"“{says}”",
    )


_ABSENT: Answer = (404, "notFound", "Not found: Table acme-rag:ci.runs")

TABLES = (
    Refused(
        _table("403 accessDenied", "roles/bigquery.dataViewer"),
        {"": (403, "accessDenied", "Access Denied: Table acme-rag:ci.runs")},
    ),
    Refused(_table("401", "give application default credentials"), {"": (401, "authError", "Request had invalid authentication credentials.")}),
    Refused(_table("the project is not there", "Not found: Project"), {"": (404, "notFound", "Not found: Project acme-rag")}),
    Refused(_table("quota spent", "a quota of the project is spent"), {"": (403, "quotaExceeded", "Quota exceeded")}),
    Refused(_table("503 at every try", "check the table's name, the network"), {"": (503, "backendError", "Error encountered during execution.")}),
    Refused(_table("400 invalidQuery", "Unrecognized name: suite"), {"": (400, "invalidQuery", "Unrecognized name: suite at [1:8]")}),
    Refused(
        _fault("BigQuery: no credentials", "-", 4, NOWHERE, "give application default credentials", ""),
        {}, sink=f"{{type: bigquery, table: {TABLE}}}",
    ),
    Refused(
        _fault("BigQuery: may be read but not written", "warned", 4, "the run in --output",
               "cannot be written: .*\n.*roles/bigquery.dataEditor", "mend: “grant roles/bigquery.dataEditor …”"),
        {"/queries": _ABSENT, "/tables/": _ABSENT, "": (403, "accessDenied", "Access Denied: Dataset acme-rag:ci")},
    ),
)  # fmt: skip


@pytest.fixture
def bigquery(request: pytest.FixtureRequest) -> Iterator[str]:
    replies: dict[str, Answer] = request.param

    async def reply(_method: str, path: str, _headers: dict[str, str], _body: bytes) -> Reply:
        code, reason, message = next(found for part, found in replies.items() if part in path)
        error = {"code": code, "message": message, "errors": [{"reason": reason, "message": message}]}
        return code, (), {"error": error}

    with in_a_thread(reply) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("bigquery", "broken"),
    [(broken.replies, broken) for broken in TABLES],
    ids=[broken.fault.name for broken in TABLES],
    indirect=["bigquery"],
)
def test_bigquery(bigquery: str, broken: Refused, scene: Scene) -> None:
    scene.monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(scene.folder / "none.json"))
    settings: dict[str, Any] = {"table": TABLE, "api_endpoint": f"'{bigquery}'", "timeout": 0.3, "job_timeout": 1}
    sink = broken.sink or "{type: bigquery, " + ", ".join(f"{key}: {value}" for key, value in settings.items()) + "}"
    scene.configure(f"reporting: {{sink: {sink}}}\n")
    scene.sink = ""
    came: Came = scene.run("good.jsonl")
    kept = {NOWHERE: lambda one: not any(one.out.glob("*")), "the run in --output": lambda one: is_whole(one.out)}
    hold(broken.fault, came, scene, kept)


FAULTS: tuple[Fault, ...] = (*(one.fault for one in BUCKETS), *(one.fault for one in TABLES))

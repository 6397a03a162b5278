"""Saved runs: run.json and samples.jsonl as bytes, checked when they are read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ragguard.adapters.addresses import DEFAULT_ACCESS, Access, parse_address, redacted
from ragguard.adapters.lines import lines_of
from ragguard.adapters.objects import read_bytes, read_chunks
from ragguard.core.fields import shown
from ragguard.core.runs import SCHEMA_VERSION, RunHead, SamplesFile
from ragguard.core.samples import Record
from ragguard.core.scores import SampleResult
from ragguard.core.text import without_lone_surrogates
from ragguard.errors import DatasetError, RunFileError

HEAD_NAME = "run.json"
SAMPLES_NAME = "samples.jsonl"
MAX_RESULT_BYTES = 256 * 1024 * 1024
_MAX_SAMPLES_BYTES = 1024**4
_MEND = "run again, or name another run.json"
_MEND_SAMPLES = "copy both files again, or run again"


def head_bytes(head: RunHead) -> bytes:
    """Writes a head as run.json stands on disk."""
    return record_bytes(head, indent=2)


def result_line(result: SampleResult) -> bytes:
    """Writes a result as one line of samples.jsonl."""
    return record_bytes(result)


def record_bytes(record: Record, indent: int | None = None) -> bytes:
    """Writes a record as JSON and a line end, whatever its texts hold."""
    try:
        text = record.model_dump_json(indent=indent)
    except PydanticSerializationError:
        # A judge's or an app's own words may hold what UTF-8 cannot: it is replaced, and the run is not lost.
        separators = (",", ":") if indent is None else None
        raw = json.dumps(
            record.model_dump(mode="python"), ensure_ascii=False, indent=indent, separators=separators, default=_plain
        )
        text = str(without_lone_surrogates(raw))
    return f"{text}\n".encode()


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def parse_head(data: bytes, name: str, mend: str | None = None) -> RunHead:
    """Reads run.json.

    Args:
        data: Its bytes.
        name: What it is called in errors.
        mend: What the user can do about a damaged one; by default about one that was named on the command line.

    Raises:
        RunFileError: It is cut off, of another kind, or written by a newer ragguard.
    """
    raw = _json_of(data, name, mend or _MEND)
    version = raw.get("schema_version") if isinstance(raw, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or "run_id" not in raw:
        raise RunFileError(
            f"{name}: is not a run of ragguard", mend=mend or "name the run.json that `ragguard run` wrote"
        )
    if version != SCHEMA_VERSION:
        newer = version > SCHEMA_VERSION
        raise RunFileError(
            f"{name}: has schema version {shown(version)}, this ragguard reads {SCHEMA_VERSION}",
            mend="update ragguard: a newer one wrote the run" if newer else mend or _MEND,
        )
    try:
        return RunHead.model_validate_json(data)
    except ValidationError as error:
        raise RunFileError(f"{name}: is damaged: {_first_of(error)}", mend=mend or _MEND) from None


def _json_of(data: bytes, name: str, mend: str) -> Any:
    """Reads JSON that somebody else may have written, in our own words where it is none.

    Raises:
        RunFileError: It is none.
    """
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError as error:
        what = f"is not UTF-8 text (byte {error.start + 1})"
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        what = f"is not JSON, perhaps cut off ({where})" if data.strip() else "is empty"
    except ValueError:  # Python refuses integers of thousands of digits, against quadratic time
        what = "is damaged: it holds a number of thousands of digits"
    except RecursionError:
        what = "is damaged: it is nested too deeply"
    raise RunFileError(f"{name}: {what}", mend=mend)


@dataclass(frozen=True)
class SavedRun:
    """A run read from its run.json.

    Attributes:
        uri: Address of run.json.
        head: Its head.
    """

    uri: str
    head: RunHead
    access: Access = DEFAULT_ACCESS

    def results(self, ids: frozenset[str] | None = None) -> Iterator[SampleResult]:
        """Yields the results, all or those of some ids; the file is checked as a whole when its end is reached.

        Raises:
            RunFileError: The samples file is not the one that run.json speaks of, or a line is damaged.
            ObjectNotFoundError: It is missing.
            ObjectError: It cannot be read.
        """
        file = self.head.samples
        if file is None:
            raise RunFileError(f"{redacted(self.uri)}: has no samples file", mend=_MEND)
        if not re.fullmatch(r"[^/\\\0?#]+", file.path) or file.path in {".", ".."}:
            raise RunFileError(f"{redacted(self.uri)}: names a samples file elsewhere", mend=_MEND)
        uri = beside(self.uri, file.path)
        return parsed_results(read_chunks(uri, self.access), file, redacted(uri), ids)


def read_run(uri: str | Path, access: Access = DEFAULT_ACCESS) -> SavedRun:
    """Reads a saved run's head.

    Args:
        uri: Path or URL of run.json, or of the folder that holds it.
        access: What may be reached.

    Raises:
        RunFileError: It is cut off, of another kind, or written by a newer ragguard.
        ConfigError: The address cannot be used.
        ObjectNotFoundError: There is no such file.
        ObjectError: It cannot be read.
    """
    uri = str(uri)
    if not uri.partition("?")[0].endswith(".json"):
        uri = f"{uri.rstrip('/')}/{HEAD_NAME}"
    return SavedRun(uri, parse_head(read_bytes(uri, access), redacted(uri)), access)


def beside(uri: str, name: str) -> str:
    """Address of a file in the same folder."""
    path, question, query = uri.partition("?") if parse_address(uri).scheme == "http" else (uri, "", "")
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}{name}{question}{query}"


def parsed_results(
    chunks: Iterable[bytes],
    file: SamplesFile,
    name: str,
    ids: frozenset[str] | None = None,
    mend: str = _MEND_SAMPLES,
) -> Iterator[SampleResult]:
    """Yields results from the bytes of a samples file, plain or packed, and checks it against what its head says.

    Args:
        chunks: Its bytes.
        file: What its head says of it.
        name: What it is called in errors.
        ids: Only the results of these samples.
        mend: What the user can do about a damaged one.

    Raises:
        RunFileError: Digest or count differ, the file is damaged, or a line is not a result.
    """
    sha256, count = hashlib.sha256(), 0
    lines = lines_of(chunks, name, max_line_bytes=MAX_RESULT_BYTES, max_total_bytes=_MAX_SAMPLES_BYTES)
    while (numbered := _next_line(lines, mend)) is not None:
        number, line = numbered
        sha256.update(line + b"\n")
        count += 1
        if ids is None or _id_of(line, name, number, mend) in ids:
            yield _parsed(line, name, number, mend)
    if count != file.count or sha256.hexdigest() != file.sha256:
        what = f"holds {count} of {file.count} results" if count != file.count else "was changed after the run"
        raise RunFileError(f"{name}: {what}, its head says otherwise", mend=mend)


def _next_line(lines: Iterator[tuple[int, bytes]], mend: str) -> tuple[int, bytes] | None:
    try:
        return next(lines, None)
    except DatasetError as error:
        raise RunFileError(error.message, mend=mend) from None


def _id_of(line: bytes, name: str, number: int, mend: str) -> object:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        raw = None
    if not isinstance(raw, dict):
        raise RunFileError(f"{name}:{number}: is not a result", mend=mend)
    return raw.get("id")


def _parsed(line: bytes, name: str, number: int, mend: str) -> SampleResult:
    try:
        return SampleResult.model_validate_json(line)
    except ValidationError as error:
        raise RunFileError(f"{name}:{number}: is damaged: {_first_of(error)}", mend=mend) from None


def _first_of(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{shown(where)}: {first['msg']}" if where else first["msg"]

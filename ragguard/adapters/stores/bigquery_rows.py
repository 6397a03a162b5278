"""Records as rows of BigQuery tables, and back; pure, so that nothing here needs a client."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from pydantic import JsonValue, ValidationError

from ragguard.adapters.runfiles import parse_head
from ragguard.core.digests import digest
from ragguard.core.runs import Event, MetricSummary, RunHead
from ragguard.core.samples import Record
from ragguard.core.scores import SampleResult
from ragguard.errors import RunFileError, StoreError

Row = dict[str, JsonValue]
R = TypeVar("R", bound=Record)

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_METRIC_COLUMNS = (
    "unit", "direction", "aggregate", "mean", "baseline_mean", "delta", "ci_low", "ci_high", "p_value", "mdd",
    "slo_min", "n_scored", "n_failed", "n_not_applicable", "n_pairs", "outcome",
)  # fmt: skip


def cell(text: str) -> str:
    """Makes a text safe for a column and for a query's parameter alike: NUL and lone surrogates become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def record_text(record: Record) -> str:
    """A record as JSON text.

    Text and not the JSON type, which refuses integers of more than 64 bits and may give `1` back for `1.0`.
    """
    return cell(json.dumps(record.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def line(row: Row) -> bytes:
    """One line of a load job's file."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8") + b"\n"


def record_of(kind: type[R], text: str, place: str) -> R:
    """Reads a record.

    Raises:
        StoreError: The text is no such record.
    """
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, one['loc'])) or 'record'}: {one['msg']}" for one in error.errors()[:5]]
        raise StoreError(
            f"{place} holds a record that this version cannot read",
            mend="use a ragguard at least as new as the one that stored it",
            details=problems,
        ) from None


def head_of(text: str, place: str) -> RunHead:
    """Reads a head.

    Raises:
        StoreError: The text is no head, or one that a newer version wrote.
    """
    try:
        return parse_head(text.encode(), place)
    except RunFileError as error:
        raise StoreError(error.message, mend=error.mend) from None


def job_id(*key: JsonValue | datetime) -> str:
    """A load job's id: the same key gives the same id, so that BigQuery refuses to do the same load twice."""
    return "ragguard-" + digest([one.isoformat() if isinstance(one, datetime) else one for one in key])


def run_key(head: RunHead) -> tuple[JsonValue, ...]:
    """What makes a run one and the same: a rerun of the same attempt has the same key."""
    return (head.repository, head.suite, head.commit, head.run_id, head.attempt)


@dataclass(frozen=True)
class Spool:
    """A run's results in a temporary file, so that they can be read more than once without filling the memory.

    Attributes:
        load_id: Digest of all that is loaded. A run's row names the results that belong to it by this, so that what an
            interrupted or a losing writer left behind is never read.
    """

    file: IO[bytes]
    load_id: str
    count: int

    def results(self) -> Iterator[SampleResult]:
        """Yields the results in their order, from the start each time."""
        self.file.seek(0)
        for text in self.file:
            yield SampleResult.model_validate_json(text)


@contextmanager
def spooled(head: RunHead, results: Iterable[SampleResult], chunk_bytes: int) -> Iterator[Spool]:
    """Takes a run's results in, once; `chunk_bytes` is in the digest, since it decides what each load job holds."""
    with TemporaryFile() as file:
        hashed, count = hashlib.sha256(line({**_of_run(head), "chunk_bytes": chunk_bytes})), 0
        for result in results:
            text = record_text(result).encode("utf-8") + b"\n"
            hashed.update(text)
            file.write(text)
            count += 1
        yield Spool(file, hashed.hexdigest(), count)


def require_count(head: RunHead, spool: Spool) -> None:
    """Makes sure that the results are those that the head speaks of.

    Raises:
        RunFileError: There are more or fewer.
    """
    if head.samples is not None and head.samples.count != spool.count:
        raise RunFileError(
            f"run {head.run_id}: {spool.count} results were given, its head says {head.samples.count}",
            mend="store the run from its run.json, with the samples file that belongs to it",
        )


def chunks(lines: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Joins lines to files of at most `limit` bytes; a longer line is a file of its own."""
    held: list[bytes] = []
    size = 0
    for one in lines:
        if held and size + len(one) > limit:
            yield b"".join(held)
            held, size = [], 0
        held.append(one)
        size += len(one)
    if held:
        yield b"".join(held)


def run_row(head: RunHead, spool: Spool) -> Row:
    """The row whose presence says that a run is complete."""
    return {
        **_of_run(head),
        "load_id": spool.load_id,
        "n_results": spool.count,
        "event": cell(head.event),
        "repository": _cell(head.repository),
        "commit": _cell(head.commit),
        "base_commit": _cell(head.base_commit),
        "commit_time": None if head.commit_time is None else _time(head.commit_time),
        "attempt": head.attempt,
        "created_at": _time(head.created_at),
        "outcome": head.outcome,
        "reasons": [cell(reason) for reason in head.reasons],
        "coverage": head.coverage,
        "dataset_uri": cell(head.dataset.uri),
        "dataset_digest": cell(head.dataset.digest),
        "n_samples": head.dataset.n_selected,
        "answers_digest": cell(head.answers_digest),
        "judge_models": [cell(model) for model in head.judge_models],
        "baseline_run_ids": [cell(run_id) for run_id in head.baseline_run_ids],
        "metrics": [_metric(name, summary) for name, summary in head.metrics.items()],
        "calls": head.usage.calls,
        "tokens": head.usage.tokens,
        "cost_usd": head.usage.cost_usd,
        "schema_version": head.schema_version,
        "head": record_text(head),
    }


def sample_rows(head: RunHead, spool: Spool) -> Iterator[Row]:
    """One row for each result."""
    common: Row = {**_of_run(head), "load_id": spool.load_id}
    for position, result in enumerate(spool.results()):
        yield {**common, **_of_result(result), "position": position, "record": record_text(result)}


def score_rows(head: RunHead, spool: Spool) -> Iterator[Row]:
    """One flat row for each result and metric."""
    common: Row = {**_of_run(head), "load_id": spool.load_id}
    for result in spool.results():
        tags: list[JsonValue] = [cell(tag) for tag in result.tags]
        for score in result.scores:
            yield {
                **common,
                **_of_result(result),
                "tags": tags,
                "metric": cell(score.metric),
                "status": score.status,
                "value": score.value,
                "passed": score.passed,
                "label": cell(score.label),
                "reason": _cell(score.reason),
                "flags": [cell(flag) for flag in score.flags],
                "score_key": cell(score.score_key),
            }


def event_row(event: Event) -> Row:
    """One event; BY and AT are reserved words of SQL, hence the longer names."""
    return {
        "run_id": cell(event.run_id),
        "suite": cell(event.suite),
        "kind": event.kind,
        "decided_by": cell(event.by),
        "decided_at": _time(event.at),
    }


def event_of(row: Mapping[str, Any], place: str) -> Event:
    """Reads an event.

    Raises:
        StoreError: The row is no event.
    """
    text = json.dumps(
        {
            "run_id": row["run_id"],
            "suite": row["suite"],
            "kind": row["kind"],
            "by": row["decided_by"],
            "at": row["decided_at"].isoformat(),
        }
    )
    return record_of(Event, text, place)


def _of_run(head: RunHead) -> Row:
    return {
        "run_id": cell(head.run_id),
        "ordering_time": _time(head.ordering_time),
        "suite": cell(head.suite),
        "branch": _cell(head.branch),
    }


def _of_result(result: SampleResult) -> Row:
    return {
        "sample_id": cell(result.id),
        "side": cell(result.side),
        "session": _cell(result.session),
        "repeat": result.repeat,
    }


def _metric(name: str, summary: MetricSummary) -> Row:
    return {"metric": cell(name), **{column: getattr(summary, column) for column in _METRIC_COLUMNS}}


def _cell(text: str | None) -> str | None:
    return None if text is None else cell(text)


def _time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat()

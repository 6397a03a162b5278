"""Runs in a folder or under a prefix of a bucket: no server, no shared file, nothing ever changed.

    runs/<run id>/samples-<digest>.jsonl.zst               written first, named by its content
    index/<suite>/<branch>/<commit time>.<time>.<run id>   empty: a listing alone finds the newest runs
    runs/<run id>/run.json                                 written last, by a conditional create: the run is there
    events/<suite>/<time>.<kind>.<run id>.<by>.json        one object an event, readable from its name

A writer that is killed leaves at most objects that nothing speaks of. Two writers never write to the same name, but
for the run.json of one run id: the first one wins.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragguard.adapters.addresses import Access, redacted
from ragguard.adapters.objects import Folder, joined, open_folder
from ragguard.adapters.runfiles import head_bytes, parse_head, parsed_results, record_bytes, result_line
from ragguard.adapters.spool import no_scratch
from ragguard.adapters.stores.names import (
    MAX_NAME,
    escaped,
    escaped_or_none,
    is_time_name,
    parse_time,
    time_name,
    unescaped,
)
from ragguard.core.digests import digest
from ragguard.core.runs import Event, EventKind, RunHead, SamplesFile
from ragguard.core.scores import SampleResult
from ragguard.errors import (
    ObjectError,
    ObjectExistsError,
    ObjectIsFolderError,
    ObjectNotFoundError,
    RunFileError,
    StoreError,
)

_HEAD = "run.json"
_PARALLEL = 16
_KINDS: tuple[EventKind, ...] = get_args(EventKind)


class DirectoryStore(BaseModel):
    """A store of runs in a folder or bucket; implements `Store`.

    Attributes:
        uri: A path, file://, s3://, gs:// or az://.
        access: How patiently it is asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["directory"] = "directory"
    uri: str = Field(min_length=1)
    access: Access = Access()

    def heads(
        self, suite: str, *, branch: str | None = None, before: datetime | None = None, limit: int = 50
    ) -> list[RunHead]:
        """Returns complete runs of a suite, newest first; see `Store.heads`.

        One listing, then only the heads that are returned are read.

        Raises:
            StoreError: The store cannot be read.
        """
        prefix = f"index/{escaped(suite)}" + (f"/{escaped(branch)}" if branch is not None else "")
        with self._reading() as folder:
            entries = sorted({entry for key in folder.keys(prefix) if (entry := _IndexEntry.of(key))}, reverse=True)
            if before is not None:
                last = time_name(before)
                entries = [entry for entry in entries if entry.ordering_time <= last]
            return _newest(folder, entries, suite, branch, limit)

    def head(self, run_id: str) -> RunHead | None:
        """Returns one run, or None if there is none of that id.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading() as folder:
            return _read_head(folder, escaped(run_id))

    def samples(self, run_id: str, ids: frozenset[str] | None = None) -> Iterator[SampleResult]:
        """Yields a run's results; the file is checked against its head when its end is reached.

        Raises:
            StoreError: There is no such run, the store cannot be read, or what it holds was changed.
        """
        head = self.head(run_id)
        if head is None or head.samples is None:
            raise StoreError(
                f"{redacted(self.uri)} holds no run {run_id}", mend="`ragguard history` lists the runs that it holds"
            )
        run = _run_folder(run_id)
        key = f"{run}/{head.samples.path}"
        with self._reading() as folder:
            mend = _mend(folder, run)
            try:
                yield from parsed_results(folder.chunks(key), head.samples, f"{folder.shown}/{key}", ids, mend)
            except ObjectNotFoundError as error:
                raise RunFileError(error.message, mend=mend) from None

    def save(self, head: RunHead, results: Iterable[SampleResult]) -> None:
        """Stores a run whole or not at all; storing the same run id again changes nothing.

        Raises:
            RunFileError: The results are not as many as the head says.
            StoreError: The store cannot be written.
        """
        run = _run_folder(head.run_id)
        with self._writing() as folder:
            if _is_stored(folder, run):
                return
        with _packed(results) as (packed, samples):
            if head.samples is not None and head.samples.count != samples.count:
                raise RunFileError(
                    f"run {head.run_id}: {samples.count} results were given, its head says {head.samples.count}",
                    mend="store the run from its run.json, with the samples file that belongs to it",
                )
            head = head.model_copy(update={"samples": samples})
            with self._writing() as folder:
                folder.write(f"{run}/{samples.path}", packed)
                folder.write(_IndexEntry.key(head), b"")
                try:
                    folder.create(f"{run}/{_HEAD}", head_bytes(head))
                except ObjectExistsError:  # another writer of the same run was first
                    if not _is_stored(folder, run):
                        raise StoreError(
                            f"the store cannot be written: {folder.shown}/{run}: somebody else is writing the same run",
                            mend="store it again when they are done",
                        ) from None

    def event(self, run_id: str, kind: EventKind, by: str, at: datetime, suite: str) -> None:
        """Appends an event; the same event again changes nothing.

        Raises:
            StoreError: The store cannot be written.
        """
        event = Event(run_id=run_id, suite=suite, kind=kind, by=by, at=at)
        with self._writing() as folder, suppress(ObjectExistsError):
            folder.create(f"events/{escaped(suite)}/{_event_name(event)}", record_bytes(event))

    def events(self, suite: str) -> list[Event]:
        """Returns the events of a suite, oldest first.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading() as folder:
            keys = {key: _event_of(key, suite) for key in folder.keys(f"events/{escaped(suite)}")}
            found = [event for event in keys.values() if event is not None]
            with ThreadPoolExecutor(_PARALLEL) as pool:
                unread = [key for key, event in keys.items() if event is None]
                found += pool.map(lambda key: _read_event(folder, key), unread)
        return sorted(found, key=lambda event: (event.at, event.run_id, event.kind, event.by))

    @contextmanager
    def _reading(self) -> Iterator[Folder]:
        try:
            yield open_folder(self.uri, self.access)
        except (ObjectError, ObjectNotFoundError, RunFileError) as error:
            raise StoreError(f"the store cannot be read: {error.message}", mend=error.mend) from None

    @contextmanager
    def _writing(self) -> Iterator[Folder]:
        try:
            yield open_folder(self.uri, self.access)
        except ObjectError as error:
            raise StoreError(f"the store cannot be written: {error.message}", mend=error.mend) from None


@dataclass(frozen=True, order=True)
class _IndexEntry:
    """A run's place in the order of time, all from a name."""

    ordering_time: str
    created_at: str
    run: str

    @classmethod
    def of(cls, key: str) -> _IndexEntry | None:
        parts = key.rpartition("/")[2].split(".")
        if len(parts) != 3 or not is_time_name(parts[0]) or not is_time_name(parts[1]):
            return None
        return cls(*parts)

    @classmethod
    def key(cls, head: RunHead) -> str:
        """The key of a head's entry."""
        folder = f"index/{escaped(head.suite)}/{escaped_or_none(head.branch)}"
        return f"{folder}/{time_name(head.ordering_time)}.{time_name(head.created_at)}.{escaped(head.run_id)}"


def _newest(folder: Folder, entries: list[_IndexEntry], suite: str, branch: str | None, limit: int) -> list[RunHead]:
    """Reads heads in order until there are enough; entries of runs that were never completed are passed over."""
    found: dict[str, RunHead] = {}
    with ThreadPoolExecutor(_PARALLEL) as pool:
        while entries and len(found) < limit:
            batch, entries = entries[: limit - len(found)], entries[limit - len(found) :]
            for entry, head in zip(batch, pool.map(lambda entry: _read_head(folder, entry.run), batch), strict=True):
                if head is not None and _belongs(entry, head, suite, branch):
                    found[head.run_id] = head
    return list(found.values())


def _belongs(entry: _IndexEntry, head: RunHead, suite: str, branch: str | None) -> bool:
    """Whether an entry is this head's own, not one that a writer who came second left."""
    times = (time_name(head.ordering_time), time_name(head.created_at))
    return (
        times == (entry.ordering_time, entry.created_at)
        and head.suite == suite
        and (branch is None or head.branch == branch)
    )


def _read_head(folder: Folder, run: str) -> RunHead | None:
    key = f"runs/{run}/{_HEAD}"
    shown = f"{folder.shown}/{key}"
    try:
        data = joined(folder.chunks(key), shown)
    except ObjectIsFolderError as error:  # a damaged run, not one that was never there
        raise RunFileError(error.message, mend=_mend(folder, f"runs/{run}")) from None
    except ObjectNotFoundError:
        return None
    head = parse_head(data, shown, _mend(folder, f"runs/{run}"))
    if escaped(head.run_id) != run:  # one run must not pass for another, such as a pinned one
        raise RunFileError(f"{shown}: tells of another run than its folder", mend=_mend(folder, f"runs/{run}"))
    return head


def _mend(folder: Folder, run: str) -> str:
    """What to do about a damaged run: the store is not of one mind with it, and guesses nothing."""
    return f"restore it from a copy, or remove {folder.shown}/{run}: then that run is gone, and no baseline any more"


def _run_folder(run_id: str) -> str:
    return f"runs/{escaped(run_id)}"


def _is_stored(folder: Folder, run: str) -> bool:
    try:
        for _ in folder.chunks(f"{run}/{_HEAD}"):
            break
    except ObjectIsFolderError as error:
        raise StoreError(f"the store cannot be written: {error.message}", mend=_mend(folder, run)) from None
    except ObjectNotFoundError:
        return False
    return True


@contextmanager
def _packed(results: Iterable[SampleResult]) -> Iterator[tuple[Path, SamplesFile]]:
    """Packs results into a file on this machine, whose name in the store holds their digest."""
    import zstandard

    sha256, count = hashlib.sha256(), 0
    with ExitStack() as stack:
        try:
            packed = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ragguard-"))) / "samples"
            with packed.open("wb") as file, zstandard.ZstdCompressor(level=6).stream_writer(file) as sink:
                for result in results:
                    line = result_line(result)
                    sink.write(line)
                    sha256.update(line)
                    count += 1
        except OSError as error:
            unwritable = no_scratch(error)
            raise StoreError(unwritable.message, mend=unwritable.mend) from None
        digest_ = sha256.hexdigest()
        yield packed, SamplesFile(path=f"samples-{digest_[:32]}.jsonl.zst", sha256=digest_, count=count)


def _event_name(event: Event) -> str:
    parts = (time_name(event.at), event.kind, escaped(event.run_id), escaped(event.by))
    name = ".".join((*parts, "json"))
    if len(name) <= MAX_NAME and "=sha-" not in name:
        return name
    return f"{parts[0]}.{event.kind}.{digest([event.run_id, event.by])[:32]}.json"


def _event_of(key: str, suite: str) -> Event | None:
    """Reads an event from its name, None where the name is too short for it."""
    parts = key.rpartition("/")[2].split(".")
    if len(parts) != 5:
        return None
    at, run_id, by = parse_time(parts[0]), unescaped(parts[2]), unescaped(parts[3])
    if at is None or parts[1] not in _KINDS or run_id is None or by is None:
        return None
    return Event(run_id=run_id, suite=suite, kind=parts[1], by=by, at=at)


def _read_event(folder: Folder, key: str) -> Event:
    shown = f"{folder.shown}/{key}"
    try:
        return Event.model_validate_json(joined(folder.chunks(key), shown))
    except ValidationError:
        raise RunFileError(f"{shown}: is not an event", mend="restore it from a copy, or remove it") from None

"""The output folder of a run: results written as they come, then the head that speaks of them, by one run at a time."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from ragguard.adapters.local_files import mend_of
from ragguard.adapters.objects import read_chunks, write_bytes
from ragguard.adapters.runfiles import HEAD_NAME, SAMPLES_NAME, head_bytes, parsed_results, result_line
from ragguard.core.runs import RunHead, SamplesFile
from ragguard.core.scores import SampleResult
from ragguard.errors import ObjectError, UserInputError


class SamplesWriter:
    """Writes samples.jsonl one result at a time; the file takes its name only when all is written.

    Until then, and after a crash, the results stand in `.samples.jsonl.part`, a whole line each.
    """

    def __init__(self, folder: Path) -> None:
        """Opens the draft.

        Raises:
            ObjectError: The folder cannot be written.
        """
        self._path = folder / SAMPLES_NAME
        self._draft = folder / f".{SAMPLES_NAME}.part"
        self._sha256 = hashlib.sha256()
        self._count = 0
        with _writing(self._path):
            folder.mkdir(parents=True, exist_ok=True)
            self._draft.unlink(missing_ok=True)  # a link in its place would be written through
            self._file: BinaryIO = self._draft.open("xb")

    def write(self, result: SampleResult) -> None:
        """Appends a result.

        Raises:
            ObjectError: It cannot be written.
        """
        line = result_line(result)
        with _writing(self._path):
            self._file.write(line)
            self._file.flush()  # what was paid for survives a kill
        self._sha256.update(line)
        self._count += 1

    def finish(self) -> SamplesFile:
        """Gives the file its name and returns what the head must say of it.

        Raises:
            ObjectError: It cannot be written.
        """
        with _writing(self._path):
            os.fsync(self._file.fileno())
            self._file.close()
            self._draft.replace(self._path)
        return SamplesFile(path=SAMPLES_NAME, sha256=self._sha256.hexdigest(), count=self._count)

    def close(self) -> None:
        """Closes the file, as a draft if it was not finished."""
        with suppress(OSError):  # what could not be written has been told
            self._file.close()


class RunFolder:
    """The output folder of one run: results as they come, then the head that speaks of them."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._samples: SamplesFile | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Makes the folder and keeps other runs from writing there, as long as the process lives at most.

        Raises:
            ObjectError: Nothing can be written there; nothing was spent yet.
            UserInputError: Another run is writing there.
        """
        self._require_writable()
        with _writing(self._path):
            folder = os.open(self._path, os.O_RDONLY)
        try:
            with suppress(OSError):  # some shares know no locks
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise UserInputError(
                        f"{self._path}: another run is writing there", mend="give each run an --output of its own"
                    ) from None
            yield
        finally:
            os.close(folder)

    def _require_writable(self) -> None:
        for name in (HEAD_NAME, SAMPLES_NAME):
            with _writing(self._path / name):
                self._path.mkdir(parents=True, exist_ok=True)
                if (self._path / name).is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with _writing(self._path), TemporaryFile(dir=self._path):
            pass

    @contextmanager
    def writing(self) -> Iterator[SamplesWriter]:
        """Gives what results are written to; the samples file is complete when the block ends well.

        Raises:
            ObjectError: The folder cannot be written.
        """
        with _writing(self._path / HEAD_NAME):
            # An older run's head must never stand beside newer samples.
            (self._path / HEAD_NAME).unlink(missing_ok=True)
        writer = SamplesWriter(self._path)
        try:
            yield writer
            self._samples = writer.finish()
        finally:
            writer.close()

    def finish(self, head: RunHead) -> RunHead:
        """Writes run.json and returns the head as written, with its samples file.

        Raises:
            ObjectError: It cannot be written.
        """
        if self._samples is None:
            raise ValueError("a head is written after its samples")
        head = head.model_copy(update={"samples": self._samples})
        write_bytes(str(self._path / HEAD_NAME), head_bytes(head))
        return head

    def results(self) -> Iterator[SampleResult]:
        """Yields the results again, from the file."""
        if self._samples is None:
            return iter(())
        path = str(self._path / SAMPLES_NAME)
        return parsed_results(read_chunks(path), self._samples, path)


def write_run(folder: str | Path, head: RunHead, results: Iterable[SampleResult]) -> RunHead:
    """Writes a run into a folder and returns its head as written.

    Raises:
        ObjectError: The folder cannot be written.
    """
    run = RunFolder(folder)
    with run.writing() as sink:
        for result in results:
            sink.write(result)
    return run.finish(head)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ObjectError(f"{path}: cannot write ({why})", mend=mend_of(error)) from None

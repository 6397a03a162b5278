"""Work and results in files that a driver and its workers both reach, a few dozen samples a file.

    work/<name>.jsonl.zst       what is to be evaluated; the name is the digest of that and of how
    results/<name>.jsonl.zst    what came of it, written by whoever is first, whole or not at all
    stop/<job>/now              the job is over before its end
    paid/<job>.json             what a try that failed had paid

A unit that has its results is never evaluated again, whichever worker, attempt or job made them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ragguard.adapters.lines import lines_of
from ragguard.adapters.objects import open_folder
from ragguard.adapters.runfiles import MAX_RESULT_BYTES, record_bytes, result_line
from ragguard.adapters.spooled import CarriedRecord
from ragguard.core.digests import digest
from ragguard.core.elsewhere import Paid
from ragguard.core.samples import Answer, Record, Sample
from ragguard.core.scores import Judgment, SampleResult
from ragguard.core.work import WorkItem
from ragguard.errors import ObjectExistsError, ObjectNotFoundError, RunFileError

_MAX_UNIT_BYTES = 16 * 1024**3


class WorkLine(Record):
    """A work item as it is sent."""

    sample: Sample
    answer: Answer | None = None
    target_failure: str | None = None
    side: str
    metrics: tuple[str, ...] | None = None
    repeat: int = 0
    session: str | None = None
    carried: CarriedRecord

    @classmethod
    def of(cls, item: WorkItem) -> WorkLine:
        """From the item."""
        return cls.model_construct(
            sample=item.sample,
            answer=item.answer,
            target_failure=item.target_failure,
            side=item.side,
            metrics=None if item.metrics is None else tuple(sorted(item.metrics)),
            repeat=item.repeat,
            session=item.session,
            carried=CarriedRecord.of(item.carried),
        )

    def item(self) -> WorkItem:
        """The item again."""
        return WorkItem(
            sample=self.sample,
            answer=self.answer,
            target_failure=self.target_failure,
            side=self.side,
            metrics=None if self.metrics is None else frozenset(self.metrics),
            repeat=self.repeat,
            session=self.session,
            carried=self.carried.carried(),
        )


class _Header(Record):
    job: str
    count: int


class _PaidNote(Record):
    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0


@dataclass(frozen=True)
class Unit:
    """Some work items that are done, and kept, together.

    Attributes:
        name: Digest of the items and of all that decides their results.
        count: How many items.
    """

    name: str
    count: int


def work_line(item: WorkItem) -> bytes:
    """Writes an item as one line."""
    return record_bytes(WorkLine.of(item))


def unit_of(lines: Sequence[bytes], how: str) -> Unit:
    """Names a unit.

    Args:
        lines: Its items.
        how: Digest of the bench: the same work under another judge is other work.
    """
    return Unit(digest([how, *(line.decode() for line in lines)])[:40], len(lines))


class UnitFolder:
    """The files of units.

    Args:
        uri: Folder or prefix of a bucket that driver and workers reach under this name.
        job: Who asks; results of other jobs are used too, but were not paid for by this one.
    """

    def __init__(self, uri: str, job: str) -> None:
        self._folder = open_folder(uri)
        self._job = job

    def put_work(self, lines: Sequence[bytes], how: str) -> Unit:
        """Writes a unit's work.

        Raises:
            ObjectError: It cannot be written.
        """
        unit = unit_of(lines, how)
        self._folder.write(_work_key(unit), _packed(lines))
        return unit

    def work(self, unit: Unit) -> Iterator[WorkItem]:
        """Yields a unit's items.

        Raises:
            ObjectNotFoundError: It is not there: this process sees another folder than the one that wrote it.
            ObjectError: It cannot be read.
        """
        for line in self._lines(_work_key(unit)):
            yield WorkLine.model_validate_json(line).item()

    def done(self) -> frozenset[str]:
        """The names of all units that have results.

        Raises:
            ObjectError: The folder cannot be listed.
        """
        return frozenset(key.rpartition("/")[2].partition(".")[0] for key in self._folder.keys("results"))

    def put_results(self, unit: Unit, results: Sequence[SampleResult]) -> None:
        """Writes a unit's results, unless another worker was first.

        Raises:
            ObjectError: They cannot be written.
        """
        header = record_bytes(_Header(job=self._job, count=unit.count))
        with suppress(ObjectExistsError):
            self._folder.create(_results_key(unit), _packed([header, *map(result_line, results)]))

    def results(self, unit: Unit) -> Iterator[SampleResult]:
        """Yields a unit's results; those of another job are marked as known before.

        Raises:
            RunFileError: They are damaged.
            ObjectError: They cannot be read.
        """
        lines = self._lines(_results_key(unit))
        header = _Header.model_validate_json(next(lines, b"{}"))
        count = 0
        for line in lines:
            count += 1
            result = SampleResult.model_validate_json(line)
            yield result if header.job == self._job else _known_before(result)
        if count != unit.count:
            raise RunFileError(
                f"{self._folder.shown}/{_results_key(unit)}: holds {count} of {unit.count} results",
                mend="remove that file and run again",
            )

    def is_own(self, unit: Unit) -> bool:
        """Whether this job made a unit's results."""
        header = _Header.model_validate_json(next(self._lines(_results_key(unit)), b"{}"))
        return header.job == self._job

    def found(self, name: str) -> Unit:
        """A unit that has results, by its name.

        Raises:
            ObjectError: They cannot be read.
        """
        unit = Unit(name, 0)
        header = _Header.model_validate_json(next(self._lines(_results_key(unit)), b"{}"))
        return Unit(name, header.count)

    def put_paid(self, paid: Paid) -> None:
        """Notes what this job has paid so far, for the next try of the same part.

        Raises:
            ObjectError: It cannot be written.
        """
        note = _PaidNote(calls=paid.calls, tokens=paid.tokens, usd=paid.usd)
        self._folder.write(f"paid/{self._job}.json", record_bytes(note))

    def paid(self, units: Iterable[Unit]) -> Paid:
        """What earlier tries of this job paid: as they noted, else as their results tell.

        Raises:
            ObjectError: Something cannot be read.
        """
        try:
            note = _PaidNote.model_validate_json(next(self._lines(f"paid/{self._job}.json"), b"{}"))
        except ObjectNotFoundError:
            note = _PaidNote()
        found = Paid()
        for unit in units:
            if self.is_own(unit):
                found += Paid.of(judgment for result in self.results(unit) for judgment in result.judgments)
        return found if found.calls > note.calls else Paid(note.calls, note.tokens, note.usd)

    def stop(self) -> None:
        """Ends the job: no worker begins another unit."""
        self._folder.write(f"stop/{self._job}/now", b"")

    def stopped(self) -> bool:
        """Whether the job is to end."""
        return bool(self._folder.keys(f"stop/{self._job}"))

    def remove(self, units: Sequence[Unit], *, results: bool) -> None:
        """Removes units' work, and their results too where nobody wants them any more.

        Raises:
            ObjectError: Something cannot be removed.
        """
        keys = [f"stop/{self._job}/now", *map(_work_key, units)]
        for key in [*keys, *(map(_results_key, units) if results else ())]:
            with suppress(ObjectNotFoundError):
                self._folder.remove([key])

    def _lines(self, key: str) -> Iterator[bytes]:
        shown = f"{self._folder.shown}/{key}"
        numbered = lines_of(
            self._folder.chunks(key), shown, max_line_bytes=MAX_RESULT_BYTES, max_total_bytes=_MAX_UNIT_BYTES
        )
        return (line for _, line in numbered)


def _work_key(unit: Unit) -> str:
    return f"work/{unit.name}.jsonl.zst"


def _results_key(unit: Unit) -> str:
    return f"results/{unit.name}.jsonl.zst"


def _packed(lines: Iterable[bytes]) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=3).compress(b"".join(lines))


def _known_before(result: SampleResult) -> SampleResult:
    return result.model_copy(update={"judgments": tuple(map(_as_cached, result.judgments))})


def _as_cached(judgment: Judgment) -> Judgment:
    if judgment.source != "called":
        return judgment
    return judgment.model_copy(update={"source": "cached", "attempts": 0})

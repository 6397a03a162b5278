"""What one process is told and what it answers: rows out, rows in, and the words for everything that goes wrong."""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from ragguard.adapters.targets.processes import ChildGroup
from ragguard.adapters.targets.replies import ReplyError, answer_from_row, parse
from ragguard.adapters.targets.wording import excerpt
from ragguard.core.fields import shown
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer, Sample

MAX_LINE_BYTES: Final = 4 * 2**20
_LEAVE_S: Final = 5.0  # to end by itself once everything is answered
_POLL_S: Final = 0.25
_COMPLAINTS_SHOWN: Final = 3
_COMPARED: Final = 2_000
_STDERR_SHOWN: Final = 600
_log = logging.getLogger(__name__)


@dataclass
class LineSplitter:
    """Cuts a stream into lines; a line that is too long becomes None and is not kept in memory."""

    max_bytes: int = MAX_LINE_BYTES
    _rest: bytearray = field(default_factory=bytearray)
    _too_long: bool = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """Returns the lines that are complete now."""
        *whole, rest = chunk.split(b"\n")
        lines = []
        for part in whole:
            self._add(part)
            lines.append(self._line())
        self._add(rest)
        return lines

    def end(self) -> list[bytes | None]:
        """Returns the last line where no line end follows it."""
        return [self._line()] if self._rest or self._too_long else []

    def _add(self, part: bytes) -> None:
        self._too_long = self._too_long or len(self._rest) + len(part) > self.max_bytes
        if self._too_long:
            self._rest.clear()
        else:
            self._rest += part

    def _line(self) -> bytes | None:
        line = None if self._too_long else bytes(self._rest)
        self._rest.clear()
        self._too_long = False
        return line


class Conversation:
    """One process and the samples that it is asked."""

    def __init__(self, samples: Sequence[Sample], timeout_s: float) -> None:
        self._samples = samples
        self._timeout_s = timeout_s
        self._waiting = {sample.id: sample for sample in samples}
        self._answered: set[str] = set()
        self._complaints: list[str] = []
        self._n_complaints = 0
        self._n_lines = 0
        self._deadline = 0.0
        self._late = False

    @property
    def unanswered(self) -> list[str]:
        """Ids that no row came for."""
        return list(self._waiting)

    @property
    def answered_none(self) -> bool:
        """Whether no row came for any id."""
        return not self._answered

    async def answers(self, child: ChildGroup) -> AsyncGenerator[Answered, None]:
        """Tells the child the questions; yields its answers, until it ends, is late, or has answered everything."""
        feeding = asyncio.create_task(child.feed([_question_row(sample) for sample in self._samples]))
        splitter = LineSplitter()
        self._deadline = time.monotonic() + self._timeout_s
        try:
            while (chunk := await self._next(child)) is not None:
                for line in splitter.feed(chunk) if chunk else splitter.end():
                    answered = self._take(line)
                    if answered is None:
                        continue
                    yield answered
                    self._deadline = time.monotonic() + (self._timeout_s if self._waiting else _LEAVE_S)
                if not chunk:
                    break
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
        if self._complaints and not self._waiting:
            _log.warning("the target command answered everything, but its stdout also has %s", self._complaint_words())

    def ending(self, child: ChildGroup) -> str:
        """Says how it ended, for those samples that got no answer."""
        code = child.returncode
        if self._late:
            words = f"no further answer came within {self._timeout_s:g} s, so it was ended"
        elif code is None:
            words = "it closed its stdout"
        else:
            words = f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        if self._complaints:
            words += f"; its stdout has {self._complaint_words()}"
        stderr = excerpt(child.stderr_tail.decode("utf-8", "replace")[-_STDERR_SHOWN:], _STDERR_SHOWN)
        return f"{words}; stderr ends: {stderr}" if stderr else words

    async def _next(self, child: ChildGroup) -> bytes | None:
        """Returns the next bytes; none at the end; None when it is late."""
        while (left := self._deadline - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(min(left, _POLL_S)):
                    return await child.read()
            except TimeoutError:
                if child.returncode is not None:
                    return b""  # something that it started still holds its stdout open
        self._late = bool(self._waiting)
        return None

    def _take(self, line: bytes | None) -> Answered | None:
        """Takes one line of stdout; what belongs to no waiting sample is a complaint."""
        self._n_lines += 1
        if line is None:
            self._complain(f"is longer than {MAX_LINE_BYTES:,} bytes")
            return None
        if not line.strip():
            return None
        try:
            row = parse(line)
        except ReplyError as error:
            self._complain(f"{error}: {excerpt(line[:200].decode('utf-8', 'replace'), 60)}")
            return None
        id_, answer, failure = _read_row(row)
        if id_ is None or id_ not in self._waiting:
            self._complain(self._stray(id_, failure))
            return None
        del self._waiting[id_]
        self._answered.add(id_)
        return Answered(id_, answer, failure)

    def _stray(self, id_: str | None, failure: str | None) -> str:
        if id_ is None:
            return failure or "has no id"
        if id_ in self._answered:
            return f"answers {shown(id_)} a second time"
        near = difflib.get_close_matches(id_[:200], islice(self._waiting, _COMPARED), n=1, cutoff=0.7)
        hint = f", did you mean {shown(near[0])}?" if near else ""
        return f"has an id that was not asked, {shown(id_)}{hint}"

    def _complain(self, what: str) -> None:
        self._n_complaints += 1
        if len(self._complaints) < _COMPLAINTS_SHOWN:
            self._complaints.append(f"line {self._n_lines} {what}")

    def _complaint_words(self) -> str:
        count = self._n_complaints
        return f"{count} line{'s' * (count != 1)} that cannot be used: {'; '.join(self._complaints)}"


def _read_row(row: object) -> tuple[str | None, Answer | None, str | None]:
    """Returns a row's id, if it tells one, and its answer or failure."""
    given = row.get("id") if isinstance(row, dict) else None
    told = str(given) if isinstance(given, str | int) and not isinstance(given, bool) else None
    if isinstance(row, dict) and row.get("error") is not None:
        error = row["error"]
        return told, None, f"the command says: {excerpt(error) if isinstance(error, str) else shown(error)}"
    try:
        id_, answer = answer_from_row(row)
    except ReplyError as error:
        return told, None, str(error)
    return id_, answer, None


def _question_row(sample: Sample) -> bytes:
    row = {
        "id": sample.id,
        "question": sample.question,
        "history": [turn.model_dump() for turn in sample.history],
    }
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"

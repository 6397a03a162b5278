"""The standard streams of a process, made such that what happens to them never changes what the command exits with.

A reader that has gone away (`| head`), a full disk behind `>`, or a stream that was closed before the start: what
cannot be written is lost, the verdict is not.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STREAMS = (0, 1, 2)


def steady_streams() -> None:
    """Opens the standard streams that are closed, and makes the writing ones survive their readers."""
    for number in _STREAMS:
        _open_if_closed(number)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the process
    sys.stdout, sys.stderr = _steady(1, sys.stdout), _steady(2, sys.stderr)


def _open_if_closed(number: int) -> None:
    """Else the next file that is opened takes the number, and is written to by whoever writes to the stream."""
    try:
        os.fstat(number)
    except OSError:
        nothing = os.open(os.devnull, os.O_RDWR)
        if nothing != number:
            os.dup2(nothing, number)
            os.close(nothing)


def _steady(number: int, stream: TextIO | None) -> io.TextIOWrapper:
    with suppress(OSError, ValueError):
        if stream is not None:
            stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Steady(number, "wb", closefd=False)),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )


class _Steady(io.FileIO):
    """Writes to a stream until it cannot be written any more, and then to nowhere."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if isinstance(error, BlockingIOError):
                raise
            self._give_up(error)
            return len(memoryview(data))

    def _give_up(self, error: OSError) -> None:
        number = self.fileno()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, number)
        os.close(nothing)
        if number == 1 and error.errno != errno.EPIPE:
            sys.stderr.write(f"ragguard: standard output cannot be written ({error.strerror})\n")

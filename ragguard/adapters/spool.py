"""Records by key on disk, so that a large set takes memory for its keys alone.

The file has no name and is gone with its owner, however the process ends. It lies where `TMPDIR` says.
"""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Generic, TypeVar, overload

from ragguard.errors import ObjectError

T = TypeVar("T")

_LENGTH_BYTES = 4
_BUFFER_BYTES = 256 * 1024


class Spool(MutableMapping[str, T], Generic[T]):
    """Records by key, in the order in which the keys came first; a record may be replaced.

    Args:
        encode: Turns a record into bytes.
        decode: And back.
    """

    def __init__(self, encode: Callable[[T], bytes], decode: Callable[[bytes], T]) -> None:
        self._encode, self._decode = encode, decode
        self._places: dict[str, int] = {}
        self._pending = bytearray()
        self._written = 0
        self._file = _unnamed_file()
        weakref.finalize(self, os.close, self._file)

    def __setitem__(self, key: str, record: T) -> None:
        """Keeps a record.

        Raises:
            ObjectError: The disk is full.
        """
        data = self._encode(record)
        self._places[key] = self._written + len(self._pending)
        self._pending += len(data).to_bytes(_LENGTH_BYTES, "big") + data
        if len(self._pending) >= _BUFFER_BYTES:
            self._flush()

    def __getitem__(self, key: str) -> T:
        return self._at(self._places[key])

    def __delitem__(self, key: str) -> None:
        del self._places[key]

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def sequence(self) -> Sequence[T]:
        """The records in order, each read when it is asked for."""
        return _InOrder(self, array("q", self._places.values()))

    def _at(self, place: int) -> T:
        self._flush()
        head = self._read(_LENGTH_BYTES, place)
        return self._decode(self._read(int.from_bytes(head, "big"), place + _LENGTH_BYTES))

    def _read(self, count: int, place: int) -> bytes:
        data = os.pread(self._file, count, place)
        while len(data) < count:
            more = os.pread(self._file, count - len(data), place + len(data))
            if not more:
                raise ObjectError("a temporary file was cut off", mend="leave the files in TMPDIR alone while it runs")
            data += more
        return data

    def _flush(self) -> None:
        try:
            while self._pending:
                count = os.write(self._file, self._pending)
                self._written += count
                del self._pending[:count]
        except OSError as error:
            raise no_scratch(error) from None


class Selected(Mapping[str, T]):
    """Some keys of a mapping, in an order of their own."""

    def __init__(self, records: Mapping[str, T], keys: Mapping[str, object]) -> None:
        self._records, self._keys = records, keys

    def __getitem__(self, key: str) -> T:
        if key not in self._keys:
            raise KeyError(key)
        return self._records[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class _InOrder(Sequence[T]):
    """A spool's records by number."""

    def __init__(self, spool: Spool[T], places: array[int]) -> None:
        self._spool, self._places = spool, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return _InOrder(self._spool, self._places[index])
        return self._spool._at(self._places[index])  # noqa: SLF001 - two halves of one thing


def _unnamed_file() -> int:
    try:
        file, path = tempfile.mkstemp(prefix="ragguard-")
        os.unlink(path)  # noqa: PTH108 - mkstemp gives a string
    except OSError as error:
        raise no_scratch(error) from None
    return file


def no_scratch(error: OSError) -> ObjectError:
    """What to tell where a temporary file cannot be written."""
    why = (error.strerror or str(error)).lower()
    try:
        where = tempfile.gettempdir()
    except OSError:  # no folder at all takes one
        where = "temporary files"
    mend = "free space there, or set TMPDIR to another folder"
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        mend = "raise the limit of open files (ulimit -n)"
    return ObjectError(f"{where}: cannot write ({why})", mend=mend)

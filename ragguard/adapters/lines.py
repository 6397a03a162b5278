"""Bytes to lines with bounded memory: gzip and zstd are unpacked on the way, whatever the file is called."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol

from ragguard.errors import DatasetError

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_TOTAL_BYTES = 4 * 1024**3
_FREE_BYTES = 64 * 1024 * 1024
_MAX_RATIO = 200
"""Text packs to a tenth or so; what packs far better, beyond the free bytes, was made to keep us busy."""
_PIECE_BYTES = 1024
"""Packed bytes unpacked at once: zstd gives at most 32 KiB a byte, so that no piece grows beyond 32 MiB."""
_MAX_ZSTD_WINDOW = 128 * 1024 * 1024
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def lines_of(
    chunks: Iterable[bytes], name: str, *, max_line_bytes: int = MAX_LINE_BYTES, max_total_bytes: int = MAX_TOTAL_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yields numbered lines without their ends (LF or CRLF), from 1.

    Args:
        chunks: The file's bytes, plain or packed by gzip or zstd.
        name: What the file is called in errors.
        max_line_bytes: A longer line is an error, so that a small packed file cannot fill the memory.
        max_total_bytes: More than this unpacked is an error.

    Raises:
        DatasetError: The file is damaged or too large.
    """
    number, rest, total = 1, bytearray(), 0
    for piece in unpacked(chunks, name):
        total += len(piece)
        if total > max_total_bytes:
            raise DatasetError(f"{name}: is more than {max_total_bytes:,} bytes", mend="split it into smaller files")
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            _guard(len(rest) + end - start, max_line_bytes, name, number)
            yield number, (bytes(rest) + piece[start:end]).removesuffix(b"\r")
            rest.clear()
            number, start = number + 1, end + 1
        rest += piece[start:]
        _guard(len(rest), max_line_bytes, name, number)
    if rest:
        yield number, bytes(rest).removesuffix(b"\r")


def unpacked(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yields the bytes of a file, unpacked where its first bytes say gzip or zstd.

    Raises:
        DatasetError: The packed file is damaged, cut off, or needs too much memory.
    """
    source = _with_whole_magic(chunks)
    first = next(source, b"")
    if first.startswith(_GZIP):
        new, kind = _gzip, "gzip"
    elif first.startswith(_ZSTD):
        new, kind = _zstd, "zstd"
    else:
        yield first
        yield from source
        return
    yield from _unpack(_pieces(first, source), new, kind, name)


def _unpack(pieces: Iterator[bytes], new: Callable[[], _Unpacker], kind: str, name: str) -> Iterator[bytes]:
    import zstandard

    unpacker, begun, packed, total = new(), False, 0, 0
    try:
        for piece in pieces:
            data = piece
            packed += len(piece)
            while data:
                if not begun and not (data := data.lstrip(b"\0")):
                    break  # padding between or after the parts
                begun = True
                unpacked_ = unpacker.decompress(data)
                total += len(unpacked_)
                if total > _FREE_BYTES and total > _MAX_RATIO * packed:
                    raise DatasetError(
                        f"{name}: unpacks to more than {_MAX_RATIO} times its size", mend="unpack it, if it is yours"
                    )
                yield unpacked_
                data = b""
                if unpacker.eof:
                    data, unpacker, begun = unpacker.unused_data, new(), False
    except (zlib.error, zstandard.ZstdError) as error:
        raise DatasetError(f"{name}: damaged {kind} data ({error})", mend="pack the file again") from None
    if begun:
        raise DatasetError(
            f"{name}: the {kind} data ends too early", mend="copy or pack the file again, it was cut off"
        )


def _gzip() -> _Unpacker:
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)


def _zstd() -> _Unpacker:
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW).decompressobj()


def _with_whole_magic(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Joins the first chunks until they hold the bytes that tell the kind of file."""
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= len(_ZSTD):
            break
    yield head
    yield from source


def _pieces(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chain((first,), rest):
        yield from (chunk[i : i + _PIECE_BYTES] for i in range(0, len(chunk), _PIECE_BYTES))


def _guard(length: int, limit: int, name: str, number: int) -> None:
    if length > limit:
        raise DatasetError(
            f"{name}:{number}: the line is longer than {limit:,} bytes",
            mend="write one object a line; a sample of that size cannot be judged",
        )

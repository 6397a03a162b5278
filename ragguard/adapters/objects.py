"""One way to read and write files, wherever they are: local paths, file://, s3://, gs://, az:// and https://."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from ragguard.adapters.addresses import DEFAULT_ACCESS, Access, parse_address, redacted, split_address
from ragguard.adapters.cloud_objects import CloudFolder
from ragguard.adapters.lines import lines_of
from ragguard.adapters.local_files import LocalFolder
from ragguard.adapters.web_files import web_chunks
from ragguard.errors import ConfigError, ObjectError

MAX_BYTES = 64 * 1024 * 1024


class Folder(Protocol):
    """A place that holds files under keys with slashes; a key never leaves it."""

    shown: str

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yields a file's bytes; ObjectNotFoundError where there is none."""
        ...

    def keys(self, prefix: str = "") -> list[str]:
        """Returns the sorted keys below a prefix of whole path segments; none where nothing is there."""
        ...

    def write(self, key: str, data: bytes | Path) -> None:
        """Writes a file whole or not at all, over what is there."""
        ...

    def create(self, key: str, data: bytes | Path) -> None:
        """Writes a new file whole or not at all; ObjectExistsError where it is there."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Removes files; one that is not there is no error."""
        ...


def open_folder(uri: str, access: Access = DEFAULT_ACCESS) -> Folder:
    """Opens a folder or a prefix of a bucket; nothing is sent or made yet.

    Raises:
        ConfigError: The address is not one of a folder that can be written.
    """
    address = parse_address(uri)
    if address.scheme == "file":
        return LocalFolder(address.path or ".")
    if address.scheme == "http":
        raise ConfigError(f"{redacted(uri)}: the web can only be read", mend="use a folder, s3://, gs:// or az://")
    return CloudFolder(address, access)


def read_chunks(uri: str, access: Access = DEFAULT_ACCESS) -> Iterator[bytes]:
    """Yields a file's bytes as they are stored.

    Raises:
        ConfigError: The address cannot be used or is refused.
        ObjectNotFoundError: There is no such file.
        ObjectError: It cannot be read.
    """
    if parse_address(uri).scheme == "http":
        return web_chunks(uri, access)
    folder, name = split_address(uri)
    return open_folder(folder, access).chunks(name)


def read_bytes(uri: str, access: Access = DEFAULT_ACCESS, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Returns a file's bytes; at most `max_bytes`.

    Raises:
        ConfigError: The address cannot be used or is refused.
        ObjectNotFoundError: There is no such file.
        ObjectError: It cannot be read, or is larger.
    """
    return joined(read_chunks(uri, access), redacted(uri), max_bytes)


def joined(chunks: Iterator[bytes], shown: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Joins chunks into at most `max_bytes`.

    Raises:
        ObjectError: There are more.
    """
    found = bytearray()
    for chunk in chunks:
        found += chunk
        if len(found) > max_bytes:
            raise ObjectError(f"{shown}: is larger than {max_bytes:,} bytes", mend="name the right file")
    return bytes(found)


def read_lines(uri: str, access: Access = DEFAULT_ACCESS) -> Iterator[tuple[int, bytes]]:
    """Yields a file's numbered lines (from 1), unpacked where it is gzip or zstd; see `lines_of` for its limits.

    Raises:
        ConfigError: The address cannot be used or is refused.
        ObjectNotFoundError: There is no such file.
        ObjectError: It cannot be read.
        DatasetError: It is damaged, cut off or too large.
    """
    return lines_of(read_chunks(uri, access), redacted(uri))


def write_bytes(uri: str, data: bytes, access: Access = DEFAULT_ACCESS) -> None:
    """Writes a file whole or not at all, over what is there.

    Raises:
        ConfigError: The address cannot be written.
        ObjectError: Writing failed.
    """
    folder, name = split_address(_writable(uri))
    open_folder(folder, access).write(name, data)


def create_bytes(uri: str, data: bytes, access: Access = DEFAULT_ACCESS) -> None:
    """Writes a new file whole or not at all.

    Raises:
        ConfigError: The address cannot be written.
        ObjectExistsError: The file is already there.
        ObjectError: Writing failed.
    """
    folder, name = split_address(_writable(uri))
    open_folder(folder, access).create(name, data)


def _writable(uri: str) -> str:
    if parse_address(uri).scheme == "http":
        raise ConfigError(f"{redacted(uri)}: the web can only be read", mend="use a path, s3://, gs:// or az://")
    return uri

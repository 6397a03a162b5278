"""Files on this machine: read in pieces, written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ragguard.errors import ObjectError, ObjectExistsError, ObjectIsFolderError, ObjectNotFoundError, RagguardError

_CHUNK_BYTES = 256 * 1024
_SPACE = "free space there, or choose another place"
_RIGHT = "give the user that runs ragguard the right to it"
_MENDS = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: "the user that runs ragguard may not write files that large: raise the limit (ulimit -f)",
    errno.EROFS: "what is mounted there can only be read: choose another place",
    errno.EACCES: _RIGHT,
    errno.EPERM: _RIGHT,
    errno.ENOTDIR: "a file stands in the place of a folder: move it away, or choose another place",
    errno.EEXIST: "a file stands in the place of a folder: move it away, or choose another place",
    errno.EISDIR: "a folder stands in the place of a file: move it away, or choose another place",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.ELOOP: "links lead in a circle there: choose another place",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
}


class LocalFolder:
    """A folder; keys are relative paths with slashes. Names that begin with a dot are ours while a write lasts."""

    def __init__(self, path: str) -> None:
        self.shown = path
        self._root = Path(path)

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yields a file's bytes.

        Raises:
            ObjectNotFoundError: There is no such file.
            ObjectError: It cannot be read, or was changed meanwhile: what was read is neither the old nor the new file.
        """
        path = self._path(key)
        try:
            with path.open("rb") as file:
                state = _state(file.fileno())
                while chunk := file.read(_CHUNK_BYTES):
                    yield chunk
                changed = _state(file.fileno()) != state
        except OSError as error:
            raise _translated(error, path, "read") from None
        if changed:
            raise ObjectError(f"{path}: was written to while it was read", mend="run again when nobody writes to it")

    def keys(self, prefix: str = "") -> list[str]:
        """Returns the keys of all files below a folder, sorted; none where the folder is missing.

        Raises:
            ObjectError: It cannot be read.
        """
        top = self._path(prefix) if prefix else self._root
        found: list[str] = []
        try:
            for folder, folders, names in os.walk(top, onerror=_raise):
                folders[:] = [name for name in folders if not name.startswith(".")]
                base = Path(folder).relative_to(self._root).as_posix()
                start = "" if base == "." else f"{base}/"
                found += [start + name for name in names if not name.startswith(".")]
        except FileNotFoundError:
            return sorted(found)
        except OSError as error:
            raise _translated(error, top, "list") from None
        return sorted(found)

    def write(self, key: str, data: bytes | Path) -> None:
        """Writes a file whole, over what is there.

        Raises:
            ObjectError: It cannot be written.
        """
        self._place(key, data, Path.replace)

    def create(self, key: str, data: bytes | Path) -> None:
        """Writes a new file whole.

        Raises:
            ObjectExistsError: It is already there; nothing is changed.
            ObjectError: It cannot be written.
        """
        self._place(key, data, _link_or_copy)

    def remove(self, keys: Sequence[str]) -> None:
        """Removes files; one that is not there is no error.

        Raises:
            ObjectError: One cannot be removed.
        """
        for key in keys:
            path = self._path(key)
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise _translated(error, path, "remove") from None

    def _place(self, key: str, data: bytes | Path, name: Callable[[Path, Path], object]) -> None:
        path = self._path(key)
        draft = path.with_name(f".{secrets.token_hex(8)}.part")
        try:
            _make_folder(path.parent)
            try:
                _write_synced(draft, data)
                name(draft, path)
                _sync_folder(path.parent)
            finally:
                draft.unlink(missing_ok=True)
        except FileExistsError:
            raise ObjectExistsError(f"{path}: is already there") from None
        except OSError as error:
            raise _translated(error, path, "write") from None

    def _path(self, key: str) -> Path:
        if key.startswith("/") or "\x00" in key or ".." in key.split("/"):
            raise ObjectError(f"{self.shown}: {key!r} would lie outside the folder")
        return self._root / key


def _state(descriptor: int) -> tuple[int, int] | None:
    """What changes when a file is written to; None for what is no file, such as a pipe."""
    found = os.fstat(descriptor)
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, "a file is in the way of the folder", str(path)) from None


def _write_synced(path: Path, data: bytes | Path) -> None:
    with path.open("xb") as file:
        if isinstance(data, Path):
            with data.open("rb") as source:
                shutil.copyfileobj(source, file, _CHUNK_BYTES)
        else:
            file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _link_or_copy(draft: Path, path: Path) -> None:
    """Gives a file its name unless the name is taken, in one step."""
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: exclusive, though a reader may see the file while it is written.
        _write_synced(path, draft)


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # some file systems cannot; the file itself is safe
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _raise(error: OSError) -> None:
    raise error


def _translated(error: OSError, path: Path, action: str) -> RagguardError:
    why = (error.strerror or str(error)).lower()
    if isinstance(error, FileNotFoundError) and action == "read":
        return ObjectNotFoundError(f"{path}: no such file", mend=f"correct the path; it is looked up from {Path.cwd()}")
    if isinstance(error, IsADirectoryError):
        return ObjectIsFolderError(f"{path}: is a folder, not a file", mend="name a file in it")
    return ObjectError(f"{path}: cannot {action} ({why})", mend=mend_of(error))


def mend_of(error: OSError) -> str:
    """What the user can do about an error of the file system."""
    return _MENDS.get(error.errno or 0, "see whether the disk or the share is well, then try again")

"""Objects in S3, Google Cloud Storage and Azure, by obstore; credentials come from the clouds' usual variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ragguard.adapters.addresses import Access, Address
from ragguard.adapters.cloud_errors import MENDS, message_of, translated
from ragguard.errors import ConfigError, ObjectError, ObjectNotFoundError

if TYPE_CHECKING:
    from obstore.store import AzureStore, GCSStore, S3Store

_CHUNK_BYTES = 1024 * 1024
_PAGE = 1000
_WHOLE_TIMEOUT = timedelta(minutes=30)
_RETRY_TIMEOUT = timedelta(seconds=60)
_NEVER_THERE = ".never-written-by-ragguard"


class CloudFolder:
    """A prefix of a bucket; keys are relative to it."""

    def __init__(self, address: Address, access: Access) -> None:
        self._address = address
        self.shown = f"{address.scheme}://{address.root}/{address.path}".rstrip("/")
        self._store = _client(address, access)

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yields an object's bytes.

        Raises:
            ObjectNotFoundError: There is no such object.
            ObjectError: It cannot be read.
        """
        import obstore

        try:
            for chunk in obstore.get(self._store, key).stream(min_chunk_size=_CHUNK_BYTES):
                yield bytes(chunk)
        except _errors() as error:
            self._fail(error, key, "read")

    def keys(self, prefix: str = "") -> list[str]:
        """Returns the keys of all objects below a prefix (whole path segments), sorted.

        Raises:
            ObjectError: The bucket cannot be listed, or does not exist.
        """
        import obstore

        try:
            pages = obstore.list(self._store, prefix or None, chunk_size=_PAGE)
            found = sorted(meta["path"] for page in pages for meta in page)
        except _errors() as error:
            self._fail(error, prefix, "list")
        if not found:
            self._require_store()
        return found

    def _require_store(self) -> None:
        """Makes sure that an empty listing is one: the sign-in page of a network reads as a listing of nothing.

        Raises:
            ObjectError: What answers is no object store.
        """
        try:
            for _ in self.chunks(_NEVER_THERE):
                break
        except ObjectNotFoundError:
            return
        raise ObjectError(
            f"{self.shown}: what answers is no object store",
            mend="see whether the endpoint is right, and whether a proxy or a sign-in page stands before it",
        )

    def write(self, key: str, data: bytes | Path) -> None:
        """Writes an object whole, over what is there.

        Raises:
            ObjectError: It cannot be written.
        """
        self._put(key, data, "overwrite")

    def create(self, key: str, data: bytes | Path) -> None:
        """Writes a new object by a conditional put.

        Raises:
            ObjectExistsError: It is already there; nothing is changed.
            ObjectError: It cannot be written.
        """
        self._put(key, data.read_bytes() if isinstance(data, Path) else data, "create")

    def remove(self, keys: Sequence[str]) -> None:
        """Removes objects; one that is not there is no error.

        Raises:
            ObjectError: One cannot be removed.
        """
        import obstore

        try:
            obstore.delete(self._store, list(keys))
        except FileNotFoundError:
            return
        except _errors() as error:
            self._fail(error, keys[0], "remove")

    def _put(self, key: str, data: bytes | Path, mode: Any) -> None:
        import obstore

        try:
            obstore.put(self._store, key, data, mode=mode)
        except _errors() as error:
            self._fail(error, key, "write", creating=mode == "create")

    def _fail(self, error: Exception, key: str, action: str, *, creating: bool = False) -> NoReturn:
        shown = f"{self.shown}/{key}".rstrip("/")
        raise translated(error, shown, action, self._address.scheme, creating=creating) from None


def _client(address: Address, access: Access) -> S3Store | GCSStore | AzureStore:
    from obstore.store import AzureStore, GCSStore, S3Store

    options: Any = {
        # Only an endpoint that the operator set to http:// is ever asked without TLS.
        "allow_http": True,
        "connect_timeout": timedelta(seconds=access.connect_timeout_s),
        "read_timeout": timedelta(seconds=access.read_timeout_s),
        "timeout": _WHOLE_TIMEOUT,
    }
    retry: Any = {"max_retries": access.retries, "retry_timeout": _RETRY_TIMEOUT}
    prefix = address.path or None
    try:
        if address.scheme == "s3":
            return S3Store(address.root, prefix=prefix, client_options=options, retry_config=retry)
        if address.scheme == "gs":
            return GCSStore(address.root, prefix=prefix, client_options=options, retry_config=retry)
        return AzureStore(address.root, prefix=prefix, client_options=options, retry_config=retry)
    except _errors() as error:
        where = f"{address.scheme}://{address.root}"
        raise ConfigError(f"{where}: {message_of(error)}", mend=MENDS[address.scheme]) from None


def _errors() -> tuple[type[Exception], ...]:
    from obstore.exceptions import BaseError

    return (BaseError, OSError, ValueError)

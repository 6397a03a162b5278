"""What the BigQuery client raises, told as an outage of the store with what mends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from ragguard.core.text import one_line
from ragguard.errors import StoreError, UserInputError

Done = Literal["read", "written"]

_BUSY = {"rateLimitExceeded", "quotaExceeded", "jobRateLimitExceeded"}
_DENIED = {"accessDenied", "forbidden", None}
_AGAIN: Mapping[Done, str] = {
    "read": "",
    "written": "; storing the same run again is safe and never makes a second row",
}


@contextmanager
def told(name: str, billing_project: str, done: Done) -> Iterator[None]:
    """Turns what the client raises into a `StoreError`.

    Args:
        name: `project.dataset.table` of the runs.
        billing_project: The project that jobs run in.
        done: What is tried.

    Raises:
        UserInputError: The package is not installed.
        StoreError: Anything else that the client raised.
    """
    try:
        import google.cloud.bigquery  # noqa: F401 - the extra may be missing
        from google.api_core.exceptions import GoogleAPIError
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException
    except ImportError as error:
        raise UserInputError(
            "a bigquery:// store needs the package google-cloud-bigquery", mend="pip install 'ragguard[bigquery]'"
        ) from error
    try:
        yield
    except (GoogleAPIError, GoogleAuthError, RequestException, TimeoutError) as error:
        raise StoreError(
            f"the BigQuery store {name} cannot be {done}: {said(error)}",
            mend=mend(error, name, billing_project, done),
        ) from error


def mend(error: Exception, name: str, billing_project: str, done: Done) -> str:
    """What the user can do about an error of the client's."""
    from google.auth.exceptions import GoogleAuthError, TransportError

    cause = _cause(error)
    if isinstance(cause, GoogleAuthError) and not isinstance(cause, TransportError):
        return (
            "give application default credentials: in CI google-github-actions/auth with a workload identity "
            "provider, elsewhere `gcloud auth application-default login`"
        )
    reason = _reason(cause)
    if reason == "bytesBilledLimitExceeded" or "limit for bytes billed" in str(cause):
        return "raise maximum_bytes_billed in reporting.sink; the service compares it with an upper bound"
    if reason in _BUSY:
        return f"a quota of the project is spent: try again later{_AGAIN[done]}"
    if getattr(cause, "code", None) == 403 and reason in _DENIED:
        role = "dataEditor" if done == "written" else "dataViewer (to write too: roles/bigquery.dataEditor)"
        return (
            f"grant roles/bigquery.{role} on the dataset {name.rpartition('.')[0]} "
            f"and roles/bigquery.jobUser on the project {billing_project}"
        )
    return f"check the table's name, the network and the service's status{_AGAIN[done]}"


def said(error: Exception) -> str:
    """The error in one line, shortened; of a retry that gave up, what it met last."""
    cause = _cause(error)
    return one_line(str(getattr(cause, "message", "") or cause))[:500] or type(cause).__name__


def _cause(error: Exception) -> Exception:
    from google.api_core.exceptions import RetryError

    while isinstance(error, RetryError) and isinstance(error.cause, Exception):  # the client's retries are nested
        error = error.cause
    return error


def _reason(error: Exception) -> str | None:
    """The service's own word for what is wrong, such as `accessDenied`."""
    first = next(iter(getattr(error, "errors", None) or ()), None)
    return first.get("reason") if isinstance(first, Mapping) else None

"""What a failed request says: its status, its headers, and whether trying again may help."""

from __future__ import annotations

from collections.abc import Mapping


def headers_of(error: BaseException | None) -> Mapping[str, str]:
    """The headers of the reply that an error tells of, in lower case; empty where there was none."""
    found = getattr(getattr(error, "response", None), "headers", None) or getattr(
        error, "litellm_response_headers", None
    )
    return {str(name).lower(): str(value) for name, value in dict(found or {}).items()}


def passes_by_itself(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    status = status_of(error)
    return status in {408, 409, 425, 429} or status >= 500


def status_of(error: BaseException) -> int:
    """The HTTP status of a failure, or the one that stands for a connection or a reply that broke; 0 for all else."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status
    names = {kind.__name__ for kind in type(error).__mro__}
    if "APITimeoutError" in names:
        return 408
    return 502 if names & {"APIConnectionError", "APIResponseValidationError", "AttributeError", "ValueError"} else 0

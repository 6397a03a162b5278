"""What an object store's refusals and lost connections mean, in one sentence each with what mends it."""

from __future__ import annotations

import re

from ragguard.adapters.redaction import foreign
from ragguard.core.text import one_line
from ragguard.errors import ObjectError, ObjectExistsError, ObjectNotFoundError, RagguardError

MENDS = {
    "s3": "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION (AWS_SESSION_TOKEN, AWS_ENDPOINT_URL where "
    "needed; AWS_SKIP_SIGNATURE=true for a public bucket), and see that they allow this",
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS or sign in to Google Cloud, and see that the account is allowed this",
    "az": "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or sign in to Azure, and see that they allow "
    "this",
}
_LATER = "see whether the endpoint can be reached from here, then try again"
_REGION = ("the bucket is in another region", "set AWS_REGION to the bucket's")
_EXPIRED = ("the credentials have expired", "get new ones; those of a CI job last as long as its role says")
_BUSY = ("the service is too busy", "try again later")
_CODES = {
    "RequestTimeTooSkewed": ("this machine's clock is wrong", "set its clock: signatures hold for some minutes only"),
    "ExpiredToken": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "PermanentRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "SlowDown": _BUSY,
    "ServerBusy": _BUSY,
    "ConditionalRequestConflict": ("somebody else is writing it", "try again"),
    "OperationAborted": ("somebody else is writing it", "try again"),
}
_MAX_MESSAGE = 400


def translated(error: Exception, shown: str, action: str, scheme: str, *, creating: bool = False) -> RagguardError:
    """Turns an error of the client's into ours.

    Args:
        error: The client's.
        shown: The object's address, for people.
        action: `read`, `list`, `write` or `remove`.
        scheme: `s3`, `gs` or `az`.
        creating: Whether the object must not have been there.
    """
    from obstore.exceptions import AlreadyExistsError

    if creating and isinstance(error, AlreadyExistsError):
        return ObjectExistsError(f"{shown}: is already there")
    absent = isinstance(error, FileNotFoundError)
    if _code_of(error) == "NoSuchBucket" or (absent and action != "read"):
        return ObjectError(f"{shown}: the bucket does not exist", mend="create it, or correct its name and region")
    if absent:
        return ObjectNotFoundError(f"{shown}: no such object", mend="correct the address")
    why, mend = _meaning(error, scheme)
    return ObjectError(f"{shown}: cannot {action}{why}", mend=mend)


def _meaning(error: Exception, scheme: str) -> tuple[str, str]:
    """Why, as the end of a sentence, and what mends it."""
    from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

    message, code = message_of(error), _code_of(error)
    if code in _CODES:
        what, mend = _CODES[code]
        return f", {what} ({code})", mend
    if "incorrectly configured region" in message:
        return f", {_REGION[0]}", _REGION[1]
    # A refused listing comes as a generic error; the last address is asked when there are no credentials at all.
    refused = re.search(r"status code: 40[13]\b|169\.254\.", message)
    if refused or isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return ", the credentials are missing or refused", MENDS[scheme]
    return f" ({message})", _LATER


def message_of(error: Exception) -> str:
    """The first words of the client's error, without what may hold a signature, and the service's own words."""
    text = one_line(str(error).partition("Debug source:")[0])
    text = re.sub(r"(\w+://[^\s?]*)\?\S+", r"\1", text)
    text = re.sub(r"<\?xml.*?<Code>(\w+)</Code>(?:.*?<Message>(.*?)</Message>)?.*", r"\1: \2", text)
    text = re.sub(r"^Generic \w+ error: |Error performing list request: ", "", text)
    return foreign(text)[:_MAX_MESSAGE]


def _code_of(error: Exception) -> str:
    """The service's word for what is wrong; empty where it says none."""
    found = re.search(r"<Code>(\w+)</Code>", str(error))
    return found[1] if found else ""

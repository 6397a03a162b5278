"""What can go wrong with one call to a provider, in a few kinds that decide what is done about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from ragguard.adapters.redaction import foreign
from ragguard.adapters.retry_after import retry_after_s
from ragguard.core.text import one_line

Kind = Literal[
    "rate_limited",  # wait, then again
    "overloaded",  # 5xx: again
    "timeout",  # again
    "unreachable",  # refused, reset: again
    "denied",  # 401, 403: no call will ever succeed
    "unknown_model",  # 404: likewise
    "exhausted",  # no money or quota left: likewise
    "rejected",  # 400: perhaps a parameter that this model does not take
    "too_long",  # more than the model's window
    "filtered",  # the provider's own content policy
]
FATAL: frozenset[Kind] = frozenset({"denied", "unknown_model", "exhausted"})
PASSING: frozenset[Kind] = frozenset({"rate_limited", "overloaded", "timeout", "unreachable"})

_LONGEST_MESSAGE = 300
_CLASS_NAMES = re.compile(r"^(?:(?:litellm\.)?(?:[A-Za-z_]+(?:Error|Exception)|Timeout(?= ?[:E]))\b[:\s-]*)+")
_TRACEBACK = re.compile(r"[\s:.,]*Traceback \(most recent call last\).*")
_AGAIN = re.compile(r" Error_str: .*")  # LiteLLM says its time-outs twice
_SECRET = re.compile(r"(?i)(?:\b(?:sk|pk|rk)-|\bbearer +|(?:key|token|secret)['\"]?\s?[:=]\s?['\"]?)[\w*.~+/-]{6,}")
_NO_QUOTA = ("insufficient_quota", "exceeded your current quota", "credit balance", "billing")
_TOO_LONG = ("context length", "context_length", "context window", "too many tokens", "prompt is too long")
_FILTERED = ("content management policy", "content_policy", "content policy", "content filter", "safety system")
_NO_CONNECTION = ("connection error", "cannot connect", "connect call failed", "refused", "server disconnected")
_NO_KEY = ("missing credentials", "api_key client option", "missing api key", "api key is required")
_BY_STATUS: dict[int, Kind] = {
    401: "denied",
    402: "exhausted",
    403: "denied",
    404: "unknown_model",
    408: "timeout",
    413: "too_long",
    429: "rate_limited",
}


class TroubleError(Exception):
    """A call that gave no reply.

    Attributes:
        kind: What is to be done about it.
        message: The provider's words, on one line, shortened, without keys.
        retry_after_s: How long the provider asks to wait, in seconds; None where it does not say.
    """

    def __init__(self, kind: Kind, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = told(message)
        self.retry_after_s = retry_after_s


def told(message: str) -> str:
    """A foreign message as it may be shown and kept: one line, at most 300 characters, no code, no keys."""
    line = _AGAIN.sub("", _TRACEBACK.sub("", one_line(message)))
    words = _CLASS_NAMES.sub("", line) or line
    return foreign(_SECRET.sub("[key left out]", words))[:_LONGEST_MESSAGE]


def trouble_of(error: Exception) -> TroubleError:
    """Classifies an exception of LiteLLM by its status and, where providers differ, by its words."""
    status = getattr(error, "status_code", None)
    message = str(getattr(error, "message", "") or error) or type(error).__name__
    kind = _kind_by_words(type(error).__name__, status, message.casefold()) or _kind_by_status(status)
    return TroubleError(kind, message, retry_after_s(_headers(error), datetime.now(UTC)))


def _kind_by_words(name: str, status: Any, message: str) -> Kind | None:
    """LiteLLM gives errors of the connection, and a missing key, status 500; providers differ in their 400s."""

    def says(words: tuple[str, ...], *among: int) -> bool:
        return (not among or status in among) and any(word in message for word in words)

    rules: tuple[tuple[bool, Kind], ...] = (
        (name == "Timeout" or says(("timed out",), 408, 500, 504), "timeout"),
        (says(_NO_CONNECTION, 500, 503), "unreachable"),
        (says(_NO_KEY, 400, 401, 500), "denied"),
        (says(_NO_QUOTA, 400, 402, 429), "exhausted"),
        (name == "ContextWindowExceededError" or says(_TOO_LONG, 400), "too_long"),
        (name == "ContentPolicyViolationError" or says(_FILTERED, 400), "filtered"),
        (says(("llm provider not provided",)), "unknown_model"),
    )
    return next((kind for holds, kind in rules if holds), None)


def _kind_by_status(status: Any) -> Kind:
    if not isinstance(status, int):
        return "unreachable"
    return _BY_STATUS.get(status) or ("overloaded" if status >= 500 else "rejected")


def _headers(error: Exception) -> Mapping[str, str]:
    response = getattr(error, "response", None)
    headers = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in headers.items()}

"""What Slack's refusals mean, in one line each with what mends it."""

from __future__ import annotations

import http.client
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ragguard.adapters.notifiers.patience import DeliveryError, TryLaterError

TIMEOUT_S = 15
_UNTOLD_WAIT_S = 30.0
_MENDS = {
    "channel_not_found": "there is no such channel, or it is private: invite the app to it",
    "not_in_channel": "the app is not in the channel: invite it, or give it the scope `chat:write.public`",
    "is_archived": "the channel is archived",
    "channel_is_archived": "the channel is archived",
    "invalid_auth": "SLACK_BOT_TOKEN is refused",
    "not_authed": "SLACK_BOT_TOKEN is refused",
    "account_inactive": "SLACK_BOT_TOKEN belongs to an app that was removed",
    "token_revoked": "SLACK_BOT_TOKEN was revoked",
    "token_expired": "SLACK_BOT_TOKEN has expired",
    "restricted_action": "the workspace does not let the app post there",
    "action_prohibited": "the workspace does not let the webhook post there",
    "invalid_token": "SLACK_WEBHOOK_URL is refused: the webhook was removed or is wrong",
    "no_service": "SLACK_WEBHOOK_URL is refused: the webhook was removed or is wrong",
    "no_team": "SLACK_WEBHOOK_URL is refused: the workspace is not there",
}
QUIET = logging.getLogger("ragguard.slack")
"""Takes what the SDK logs of failures, which may hold a webhook's address: it is told in our own words."""
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class SlackRefusedError(DeliveryError):
    """Slack refuses, with its own word for it in `code`."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def slack_errors() -> Iterator[None]:
    """Turns Slack's refusals and lost connections into one line each.

    Raises:
        TryLaterError: A limit, an outage or a lost connection.
        SlackRefusedError: Anything else that Slack refuses.
        DeliveryError: The reply is none of Slack's.
    """
    from slack_sdk.errors import SlackApiError, SlackClientError

    try:
        yield
    except SlackApiError as error:
        reply: Any = error.response
        code = _code(reply)
        check_reply(reply.status_code, reply.headers, code, str(reply.get("needed") or ""))
        raise DeliveryError(f"what answered ({reply.status_code}) is not Slack") from error
    except SlackClientError as error:
        raise DeliveryError(f"what answered is not Slack ({type(error).__name__})") from error
    except ValueError as error:  # a reply that is no text
        raise DeliveryError(f"what answered is not Slack ({type(error).__name__})") from error
    except (OSError, http.client.HTTPException) as error:
        raise TryLaterError(f"Slack cannot be reached ({type(error).__name__})") from error


def _code(reply: Any) -> str:
    """Slack's word for the error; empty for a reply of somebody else, such as a proxy."""
    found = str(reply.get("error") or "") if isinstance(reply.data, dict) else ""
    return found if re.fullmatch(r"\S*", found) else ""


def check_reply(status: int, headers: Mapping[str, Any], code: str, needed: str = "") -> None:
    """Raises what a reply that is no success means; a success passes.

    Args:
        status: HTTP status.
        headers: Of the reply.
        code: Slack's word for the error; empty for none.
        needed: The scope that is missing, where Slack names it.
    """
    if status == 429 or code in {"ratelimited", "rate_limited"}:
        raise TryLaterError("Slack's rate limit is reached", _retry_after(headers))
    if status >= 500 or code in {"internal_error", "fatal_error", "service_unavailable", "request_timeout"}:
        raise TryLaterError(f"Slack answered {status} {code}".rstrip())
    if code == "missing_scope":
        raise SlackRefusedError(f"the app needs the scope `{needed or 'chat:write'}`", code)
    if code:
        raise SlackRefusedError(f"{_MENDS.get(code, 'Slack refuses the message')} ({code})", code)
    if status >= 400:
        raise SlackRefusedError(f"Slack refuses the message ({status})", str(status))


def _retry_after(headers: Mapping[str, Any]) -> float:
    values = {str(name).lower(): value for name, value in headers.items()}
    value = values.get("retry-after")
    if isinstance(value, list):
        value = value[0] if value else None
    try:
        return float(str(value))
    except ValueError:
        return _UNTOLD_WAIT_S

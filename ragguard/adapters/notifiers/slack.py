"""A message in a Slack channel: the outcome first, details in its thread, a recovery in the thread of the failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar
from urllib.request import Request

from pydantic import Field, SecretStr

from ragguard.adapters.notifiers.base import UNATTENDED, EventName, Letter, Notifier, Secrets, Surroundings
from ragguard.adapters.notifiers.patience import DeliveryError, Patience, persist
from ragguard.adapters.notifiers.slack_errors import QUIET, TIMEOUT_S, slack_errors
from ragguard.core.digests import digest

if TYPE_CHECKING:
    from slack_sdk import WebClient
    from slack_sdk.web import SlackResponse

_EVENT_TYPE = "ragguard_run"
_CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{7,}")
_PAGES = 20
_T = TypeVar("_T")


class Slack(Notifier):
    """A channel of a workspace, by a bot's token."""

    type: Literal["slack"] = "slack"
    channel: str = Field(pattern=r"^(#?[^\s#@<>&]{1,80})$", description="`#name`, or the channel's id.")
    events: tuple[EventName, ...] = Field(default=UNATTENDED, description="Events whose runs are told.")
    details: bool = Field(default=True, description="Replies to the message with the details.")
    settles: ClassVar[Literal["never", "recovery", "fine"]] = "recovery"

    @property
    def name(self) -> str:
        """Who or what is told, for people."""
        return f"slack {self.channel}"

    @property
    def tells(self) -> str:
        """What is sent, for people."""
        details = " with the details in its thread" if self.details else ""
        return f"a message{details}, and the recovery in the thread of the failure"

    def lacks(self, at: Surroundings, secrets: Secrets) -> str | None:
        """What is missing to deliver."""
        return None if secrets.slack_bot_token is not None else "SLACK_BOT_TOKEN is not set"

    def send(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> str:
        """Posts the message, and its details as a reply."""
        assert secrets.slack_bot_token is not None
        poster = _Poster(_client(secrets.slack_bot_token, at.slack_api), patience)
        texts, key = letter.slack(), digest([letter.suite, letter.branch])[:16]
        message = {
            "channel": self.channel,
            "text": texts.text,
            "blocks": texts.blocks,
            "metadata": {"event_type": _EVENT_TYPE, "event_payload": {"key": key, "outcome": letter.outcome}},
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if letter.recovered:
            return self._settle(poster, message, key)
        posted = poster.post(message)
        if not self.details or not texts.details:
            return "posted"
        return self._reply(poster, posted, texts.details, str(message["text"]))

    def _reply(self, poster: _Poster, posted: SlackResponse, blocks: Any, text: str) -> str:
        """The message has arrived: details that do not are worth a word, not a failure."""
        try:
            poster.post(
                {"channel": posted["channel"], "thread_ts": posted["ts"], "text": text, "blocks": blocks,
                 "unfurl_links": False, "unfurl_media": False}
            )  # fmt: skip
        except DeliveryError as error:
            return f"posted, but not its details: {error}"
        return "posted, with details in the thread"

    def _settle(self, poster: _Poster, message: dict[str, Any], key: str) -> str:
        try:
            found = poster.thread_of_failure(self.channel, key)
        except DeliveryError as error:
            poster.post(message)
            return f"posted the recovery as a new message, since the failure's thread cannot be looked up: {error}"
        if found is None:
            poster.post(message)
            return "posted the recovery as a new message: the failure's message was not found"
        channel, thread = found
        poster.post({**message, "channel": channel, "thread_ts": thread, "reply_broadcast": True})
        return "posted the recovery in the thread of the failure"


class _Poster:
    """Calls Slack, with patience for each call, so that a message that has arrived is not sent again."""

    def __init__(self, client: WebClient, patience: Patience) -> None:
        self._client, self._patience = client, patience

    def _call(self, ask: Callable[[], _T]) -> _T:
        def attempt() -> _T:
            with slack_errors():
                return ask()

        return persist(attempt, self._patience)

    def post(self, message: dict[str, Any]) -> SlackResponse:
        """Posts a message."""
        return self._call(lambda: self._client.chat_postMessage(**message))

    def thread_of_failure(self, channel: str, key: str) -> tuple[str, str] | None:
        """Channel id and time stamp of the newest failure that was told of this suite and branch."""
        channel_id = channel if _CHANNEL_ID.fullmatch(channel) else self._id_of(channel.removeprefix("#"))
        if channel_id is None:
            return None
        for message in self._pages(
            lambda cursor: self._client.conversations_history(
                channel=channel_id, include_all_metadata=True, limit=200, cursor=cursor
            ),
            "messages",
        ):
            metadata = message.get("metadata") or {}
            payload = metadata.get("event_payload") or {}
            is_ours = metadata.get("event_type") == _EVENT_TYPE and payload.get("key") == key
            if is_ours and payload.get("outcome") in {"failed", "error"}:
                return channel_id, str(message["ts"])
        return None

    def _id_of(self, name: str) -> str | None:
        channels = self._pages(
            lambda cursor: self._client.conversations_list(limit=1000, exclude_archived=True, cursor=cursor), "channels"
        )
        return next((str(channel["id"]) for channel in channels if channel.get("name") == name), None)

    def _pages(self, ask: Callable[[str | None], SlackResponse], field: str) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        for _ in range(_PAGES):
            here = cursor
            page = self._call(lambda: ask(here))  # noqa: B023 - called before the next turn
            yield from page.get(field) or []
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                return


def _client(token: SecretStr, api: str) -> WebClient:
    try:
        from slack_sdk import WebClient
    except ImportError as error:
        raise DeliveryError("the package slack-sdk is not installed: pip install 'ragguard[slack]'") from error

    class StayingClient(WebClient):
        """Carries the token to Slack alone: urllib would carry it wherever a redirect leads."""

        def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
            token = req.headers.pop("Authorization", None)
            if token is not None:
                req.add_unredirected_header("Authorization", token)
            return super()._perform_urllib_http_request_internal(url, req)

    return StayingClient(
        token=token.get_secret_value(),
        base_url=f"{api.rstrip('/')}/",
        timeout=TIMEOUT_S,
        retry_handlers=[],
        logger=QUIET,
    )

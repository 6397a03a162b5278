"""A message in Slack by an incoming webhook, which can neither reply in a thread nor find an earlier message."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

from pydantic import Field

from ragguard.adapters.notifiers.base import UNATTENDED, EventName, Letter, Notifier, Secrets, Surroundings
from ragguard.adapters.notifiers.patience import DeliveryError, Patience, persist
from ragguard.adapters.notifiers.slack_errors import QUIET, TIMEOUT_S, check_reply, slack_errors


class SlackWebhook(Notifier):
    """The channel of a webhook."""

    type: Literal["slack-webhook"] = "slack-webhook"
    events: tuple[EventName, ...] = Field(default=UNATTENDED, description="Events whose runs are told.")
    settles: ClassVar[Literal["never", "recovery", "fine"]] = "recovery"

    @property
    def name(self) -> str:
        """Who or what is told, for people."""
        return "slack-webhook"

    @property
    def tells(self) -> str:
        """What is sent, for people."""
        return "a message at a failure, and one at the recovery"

    def lacks(self, at: Surroundings, secrets: Secrets) -> str | None:
        """What is missing to deliver."""
        if secrets.slack_webhook_url is None:
            return "SLACK_WEBHOOK_URL is not set"
        # Plain http only to this machine: the address itself is the secret.
        if not secrets.slack_webhook_url.get_secret_value().startswith(("https://", "http://127.0.0.1:")):
            return "SLACK_WEBHOOK_URL is no https address"
        return None

    def send(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> str:
        """Posts the message."""
        try:
            from slack_sdk.webhook import WebhookClient
        except ImportError as error:
            raise DeliveryError("the package slack-sdk is not installed: pip install 'ragguard[slack]'") from error
        assert secrets.slack_webhook_url is not None
        client = WebhookClient(
            secrets.slack_webhook_url.get_secret_value(), timeout=TIMEOUT_S, retry_handlers=[], logger=QUIET
        )
        texts = letter.slack()

        def attempt() -> None:
            with slack_errors():
                reply: Any = client.send(
                    text=texts.text, blocks=list(map(dict, texts.blocks)), unfurl_links=False, unfurl_media=False
                )
            said = str(reply.body).strip()
            word = said if said != "ok" and re.fullmatch(r"[a-z_]{1,100}", said) else ""
            check_reply(reply.status_code, reply.headers, word)
            if said != "ok":
                raise DeliveryError(f"what answered ({reply.status_code}) is not Slack")

        persist(attempt, patience)
        return "posted"

"""Foreign text in our own sentences: flattened, cut, and without secrets."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote

from ragguard.adapters.redaction import foreign
from ragguard.core.text import one_line


def excerpt(text: str, limit: int = 200) -> str:
    """Flattens a text to one line without control and direction characters, cut to `limit` characters."""
    head = text[: 4 * limit]
    flat = one_line("".join(char for char in head if char.isspace() or unicodedata.category(char) not in {"Cc", "Cf"}))
    whole = len(flat) <= limit and len(head) == len(text)
    return flat if whole else f"{flat[: limit - 1]}…"


def said(error: BaseException) -> str:
    """What a foreign exception says of itself: its type and, where it has any, its words."""
    try:
        words = excerpt(foreign(str(error)))
    except Exception:  # noqa: BLE001 - even saying what is wrong may go wrong
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class Redactor:
    """Blots out secrets, as they are and as they look inside JSON and URLs."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""))}
        self._forms = sorted(forms, key=len, reverse=True)

    def __call__(self, text: str, shortest: int = 4) -> str:
        """Returns the text with `***` in the place of each secret.

        Args:
            text: Any text.
            shortest: Secrets with fewer characters stay: to blot them out would blot out innocent words.
        """
        for form in self._forms:
            if len(form) >= shortest:
                text = text.replace(form, "***")
        return text

    def failure(self, text: str) -> str:
        """The same for what is said of a failure, which may hold any secret of this process."""
        return foreign(self(text))

"""Secrets taken out of what is told: those of this run wherever they stand, and whatever has the shape of one."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

BLOT = "***"
_Model = TypeVar("_Model", bound=BaseModel)
_SHORTEST = 8
_SHORTEST_LINE = 20
_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS|PAT|WEBHOOK_URL|KEY_ID)$", re.IGNORECASE)
# Repetitions that something must follow are bounded: on hostile text each costs no more than that.
_SHAPES = re.compile(
    r"\bsk-(?=[\w-]{0,60}\d)[\w-]{20,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bxapp-[\w-]{10,}"
    r"|\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
    r"|\bAIza[\w-]{30,}|\bAKIA[A-Z0-9]{16}\b"
    r"|\beyJ[\w-]{10,120}\.eyJ[\w-]{10,}\.[\w-]*"
    r"|(?<=/services/)T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/\w{8,}"
    r"|(?<=Bearer )[\w.~+/=-]{16,}"
)
_HINTS = (
    "sk-", "xox", "xapp-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AIza", "AKIA", "eyJ", "/services/T",
    "Bearer ",
)  # fmt: skip


class Redactor:
    """Blots out secrets, as they are and as they look inside JSON and addresses.

    Args:
        secrets: Values; those under 8 characters are left alone, since to blot them out would blot out plain words.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms: set[str] = set()
        for secret in secrets:
            lines = [line.strip() for line in secret.splitlines()]
            for part in (secret.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE)):
                if len(part) >= _SHORTEST:
                    escaped = {json.dumps(part, ensure_ascii=plain)[1:-1] for plain in (True, False)}
                    forms |= {part, quote(part, safe=""), *escaped}
        # The longest first: one secret may begin with another.
        self._forms = sorted(forms, key=len, reverse=True)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Redactor:
        """Knows every variable whose name says that it is a secret."""
        return cls(value for name, value in environment.items() if _SECRET_NAME.search(name))

    def __call__(self, text: str) -> str:
        """A text with `***` in the place of each secret."""
        for form in self._forms:
            text = text.replace(form, BLOT)
        # Megabytes that hold none of these are passed over fast.
        return _SHAPES.sub(BLOT, text) if any(hint in text for hint in _HINTS) else text

    def deep(self, value: Any) -> Any:
        """The same for every text inside lists and mappings; keys too."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self(key) if isinstance(key, str) else key: self.deep(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.deep(inner) for inner in value)
        return value

    def model(self, record: _Model) -> _Model:
        """A record without secrets in it; the same object where it has none."""
        if not self._suspects(record):
            return record
        content = record.model_dump()
        redacted = self.deep(content)
        return record if redacted == content else type(record).model_validate(redacted)

    def _suspects(self, record: BaseModel) -> bool:
        """Whether anything in a record may be a secret: one search for all of its texts."""
        try:
            text = record.model_dump_json()
        except ValueError:  # lone surrogates
            return True
        return any(part in text for part in (*self._forms, *_HINTS))


def foreign(text: str) -> str:
    """What a provider or an app says of a failure, without this process's secrets.

    Such words are kept in run files and stores, where they stay longer than in any message: they are cleaned where they
    come in. Only failures are: they are few, and the environment is read for each.
    """
    return Redactor.of_environment(os.environ)(text)

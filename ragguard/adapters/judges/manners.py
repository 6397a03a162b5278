"""What a model takes: how it is told the reply's form, and which parameters it refuses. Learnt once, remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Form = Literal["schema", "object", "plain"]
_LESS: dict[Form, Form] = {"schema": "object", "object": "plain"}
_FORM_WORDS = ("response_format", "json_object", "json mode", "structured output", "grammar", "schema")
_MAY_BE_DROPPED = ("temperature", "seed", "top_p")
_TOLD: dict[Form, str] = {
    "object": "response_format json_schema (asked for any JSON object instead)",
    "plain": "response_format (asked for JSON in words instead)",
    "schema": "",
}


@dataclass(frozen=True)
class Offer:
    """The parameters that are sent at the moment.

    Attributes:
        form: JSON schema, JSON object, or words alone.
        dropped: Parameters that the model refused.
        renamed_max: Whether the limit of the reply is sent as `max_completion_tokens`.
    """

    form: Form
    dropped: frozenset[str] = frozenset()
    renamed_max: bool = False

    def arguments(
        self, params: Mapping[str, Any], max_tokens: int, name: str, schema: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The call's parameters: what is configured, less what was dropped, with the reply's form."""
        arguments = {key: value for key, value in params.items() if key not in self.dropped and value is not None}
        arguments["max_completion_tokens" if self.renamed_max else "max_tokens"] = max_tokens
        if self.form == "schema":
            named = {"name": name, "strict": True, "schema": schema}
            arguments["response_format"] = {"type": "json_schema", "json_schema": named}
        elif self.form == "object":
            arguments["response_format"] = {"type": "json_object"}
        return arguments


class Manners:
    """What one model has been found to take.

    Attributes:
        offer: What the next call sends.
        notes: One line for each thing that was dropped, for the run's head.
    """

    def __init__(self, form: Form) -> None:
        self.offer = Offer(form)
        self.notes: list[str] = []
        self._proved = False

    def worked(self, offer: Offer) -> None:
        """Remembers that the model took what was offered."""
        if offer == self.offer:
            self._proved = True

    def give_way(self, refused: Offer, message: str) -> bool:
        """Drops what a 400 was about.

        Args:
            refused: What was sent.
            message: The provider's words.

        Returns:
            Whether asking again is worth it: something was dropped, by this call or by another one meanwhile.
        """
        if refused != self.offer:
            return True
        words = message.casefold()
        lesser = _LESS.get(refused.form)
        if lesser and any(word in words for word in _FORM_WORDS):
            return self._now(replace(refused, form=lesser), _TOLD[lesser])
        for name in _MAY_BE_DROPPED:
            if name in words and name not in refused.dropped:
                return self._now(replace(refused, dropped=refused.dropped | {name}), name)
        if "max_completion_tokens" in words and not refused.renamed_max:
            return self._now(replace(refused, renamed_max=True), "max_tokens (sent as max_completion_tokens instead)")
        if lesser and not self._proved:  # many servers do not say what they refuse
            return self._now(replace(refused, form=lesser), _TOLD[lesser])
        return False

    def _now(self, offer: Offer, note: str) -> bool:
        self.offer = offer
        self._proved = False
        self.notes.append(note)
        return True

"""Reads a judge's reply: finds its JSON object, however it is wrapped, and checks it against what was asked.

What can be read in one way only is accepted; anything else is refused with a list of what is wrong, which the judge
is then told. Nothing is filled in: a reply that leaves something out is never scored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import json_repair
from pydantic import JsonValue, ValidationError

from ragguard.adapters.judges.coercion import coerced
from ragguard.core.digests import canonical_json
from ragguard.core.tasks import Task

LONGEST_KEPT = 20_000
"""Characters of a reply that are kept with a failed judgment."""
_LONGEST_READ = 200_000
_MOST_STARTS = 50
_MOST_SHOWN = 8
_THINKING = re.compile(r"^\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Accepted:
    """A reply that answers what was asked; `output` is JSON."""

    output: dict[str, JsonValue]


@dataclass(frozen=True)
class Refused:
    """A reply that cannot be used, and why; the sentences hold no text of the reply."""

    problems: tuple[str, ...]


class _TwiceError(Exception):
    """A field stands twice in an object, with different values."""


def read_reply(text: str | None, task: Task) -> Accepted | Refused:
    """Reads a reply to a task.

    Args:
        text: The reply as it came.
        task: What was asked.

    Returns:
        The one acceptable JSON object in it, or what is wrong.
    """
    text = _THINKING.sub("", text or "").strip("\ufeff\u200b \t\r\n")
    if not text:
        return Refused(("the reply is empty",))
    if len(text) > _LONGEST_READ:
        return Refused(("the reply is far too long",))
    try:
        checked = [check(found, task) for found in _objects(text)]
    except _TwiceError:
        return Refused(("a field stands twice in the JSON object",))
    accepted = {canonical_json(reply.output): reply for reply in checked if isinstance(reply, Accepted)}
    if len(accepted) == 1:
        return next(iter(accepted.values()))
    if accepted:
        return Refused(("the reply holds more than one JSON object, and they differ",))
    refused = [reply for reply in checked if isinstance(reply, Refused)]
    return refused[-1] if refused else Refused(("the reply holds no complete JSON object",))


def check(value: Any, task: Task) -> Accepted | Refused:
    """Checks a JSON value against a task: types first, then the numbers it names."""
    try:
        reply = task.reply.model_validate(coerced(task.reply, _unwrapped(value, task)))
    except ValidationError as error:
        return Refused(
            tuple(_problem(one) for one in error.errors(include_url=False, include_input=False)[:_MOST_SHOWN])
        )
    problems = reply.problems(task.inputs)
    return Refused(tuple(problems)) if problems else Accepted(reply.model_dump(mode="json"))


def follow_up(problems: Sequence[str]) -> str:
    """The message that asks again and names what is wrong."""
    listed = "\n".join(f"- {problem}" for problem in problems)
    again = "Reply again to the same task, with the whole JSON object and nothing else."
    return f"That reply cannot be used:\n{listed}\n{again}"


def _problem(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "the reply"
    return f"{where}: {error['msg']}"


def _unwrapped(value: Any, task: Task) -> Any:
    """Takes an object out of a wrapper such as {"result": {…}}."""
    if isinstance(value, dict) and len(value) == 1 and not task.reply.model_fields.keys() & value.keys():
        inner = next(iter(value.values()))
        return inner if isinstance(inner, dict) else value
    return value


def _objects(text: str) -> Iterator[Any]:
    """Yields the outermost JSON objects of a text, mended where they are whole but badly written."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once_each, parse_constant=_no_constant)
    position = text.find("{")
    for _ in range(_MOST_STARTS):
        if position < 0:
            return
        try:
            found, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = _end_of_object(text, position)
            found = _mended(text[position:end])
        if isinstance(found, dict) and found:
            yield found
        position = text.find("{", max(end, position + 1))


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _TwiceError
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _end_of_object(text: str, start: int) -> int:
    """Where the object that starts here ends; `start` if it never does, that is, if the reply was cut."""
    depth, quoted, escaped = 0, False, False
    for index in range(start, len(text)):
        char = text[index]
        if quoted:
            quoted, escaped = escaped or char != '"', char == "\\" and not escaped
        elif char == '"':
            quoted = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return index + 1
    return start


def _mended(span: str) -> Any:
    """Mends commas and quotes of a whole object; None for one that was cut, whose rest nobody can know."""
    if not span:
        return None
    try:
        return json_repair.loads(span, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError):
        return None

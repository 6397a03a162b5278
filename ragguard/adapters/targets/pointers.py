"""JSON pointers (RFC 6901): where in a reply a value stands."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator

from ragguard.core.fields import shown_name
from ragguard.core.row_values import kind

_BAD_ESCAPE = re.compile("~(?![01])")
_INDEX = re.compile("0|[1-9][0-9]{0,8}")  # RFC 6901, section 4: ASCII digits, no leading zero
_SHOWN_KEYS: Final = 10


class PointerError(LookupError):
    """A reply has nothing where a pointer points."""


def checked_pointer(pointer: str) -> str:
    """Returns the pointer.

    Raises:
        ValueError: It is no JSON pointer.
    """
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"a JSON pointer starts with `/`, such as `/{pointer.replace('.', '/')}`")
    if _BAD_ESCAPE.search(pointer):
        raise ValueError("in a JSON pointer `~` is written `~0`, and a `/` inside a key `~1`")
    return pointer


JsonPointer = Annotated[str, AfterValidator(checked_pointer)]
"""A JSON pointer such as `/result/answer`; the empty string is the whole reply."""


def resolve(document: object, pointer: str) -> object:
    """Returns the value that a pointer points to.

    Raises:
        PointerError: There is none; the message says how far the pointer leads and what stands there.
    """
    value, so_far = document, ""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise PointerError(f"the reply has nothing at {pointer}: {_what_stands(value, so_far)}")
        so_far += f"/{token}"
    return value


def _what_stands(value: object, where: str) -> str:
    place = where or "the top"
    if isinstance(value, dict):
        keys = ", ".join(shown_name(key) for key in list(value)[:_SHOWN_KEYS])
        return f"the keys at {place} are {keys or '(none)'}"
    if isinstance(value, list):
        return f"the list at {place} has {len(value)} items"
    return f"{place} is {kind(value)}"

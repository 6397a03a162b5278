"""The Jinja environment of every template: sandboxed, and without the short ways to endless work or memory.

A user's own template is the user's own affair, but a slip in it must end as a message about the template, not as a job
that hangs. What one expression may make is bounded here; a template that doubles a text in a loop is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST = 1_000_000
"""Characters or items that one multiplication may make."""
_WIDEST = 1_000
_LARGEST_POWER = 1_000
_LONGEST_LOOP = 10_000
_WANTS = "jinja_pass_arg"
_PERCENT_WIDTH = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(?:\d{4,}|\*|\d*\.(?:\d{4,}|\*))")
_FIELD_WIDTH = re.compile(r"\{[^{}]*:[^{}]*\d{4,}|\{[^{}]*\{[^{}]*\}[^{}]*\}")
"""A width in a field, or a field inside of a field, which may be one."""
_PADDING_METHODS = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs"})
_WIDE_FILTERS = ("batch", "center", "indent", "round", "slice", "tojson", "urlize", "wordwrap")


class Sandbox(ImmutableSandboxedEnvironment):
    """A sandbox in which no single expression makes more than a report could hold."""

    intercepted_binops: ClassVar[frozenset[str]] = frozenset({"*", "**", "%"})  # type: ignore[misc]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.globals.pop("lipsum", None)
        self.globals["range"] = _short_range
        self.filters.update({name: _narrow(FILTERS[name]) for name in _WIDE_FILTERS})
        self.filters["format"] = self._format

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Multiplies, raises to a power, formats or takes a remainder; what would be far too large is refused."""
        if operator == "**" and (abs(left) > _LARGEST_POWER or abs(right) > _LARGEST_POWER):
            raise SecurityError(f"a power beyond {_LARGEST_POWER:,} is too large")
        if operator == "*" and _product_length(left, right) > LONGEST:
            raise SecurityError(f"a product of more than {LONGEST:,} characters or items is too long")
        if operator == "%" and isinstance(left, str):
            _refuse(_PERCENT_WIDTH, left.replace("%%", ""))
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Refuses what the sandbox refuses, and the methods that pad a text to any width."""
        if isinstance(obj, str | bytes) and attr in _PADDING_METHODS:
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Bounds the widths that `"…".format()` takes."""
        formatted = super().wrap_str_format(value)
        if formatted is None:
            return None
        text = str(value.__self__)

        def bounded(*args: Any, **fields: Any) -> str:
            _refuse(_FIELD_WIDTH, text)
            return formatted(*args, **fields)

        return bounded

    def _format(self, value: str, *args: Any, **fields: Any) -> str:
        """The filter `format`, which formats as `%` does."""
        _refuse(_PERCENT_WIDTH, str(value).replace("%%", ""))
        return str(FILTERS["format"](value, *args, **fields))


def _product_length(left: Any, right: Any) -> int:
    """How many characters or items (bits, of whole numbers) a product has."""
    if isinstance(left, int) and isinstance(right, int):
        return left.bit_length() + right.bit_length()
    many, times = (left, right) if hasattr(left, "__len__") else (right, left)
    return len(many) * times if hasattr(many, "__len__") and isinstance(times, int) else 0


def _refuse(width: re.Pattern[str], text: str) -> None:
    if width.search(text):
        raise SecurityError(f"a width or precision of {_WIDEST:,} and more in a format is too large")


def _narrow(wide: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that takes no width, count or precision beyond a limit."""
    own = 2 if hasattr(wide, _WANTS) else 1  # the value itself, and what a filter wants to be given before it

    def filtered(*args: Any, **options: Any) -> Any:
        numbers = [value for value in (*args[own:], *options.values()) if isinstance(value, int)]
        if any(abs(number) > _WIDEST for number in numbers):
            raise SecurityError(f"a width, count or precision beyond {_WIDEST:,} is too large")
        return wide(*args, **options)

    if hasattr(wide, _WANTS):
        setattr(filtered, _WANTS, getattr(wide, _WANTS))
    return filtered


def _short_range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > _LONGEST_LOOP:
        raise SecurityError(f"a loop of more than {_LONGEST_LOOP:,} rounds is too long")
    return found

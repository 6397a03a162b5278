"""Turns pydantic's errors into sentences about the user's own YAML: file, line, field, what is wrong, what mends it."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ragguard.app.yaml_text import FieldPath, YamlText, dotted

_SHOWN = 20


def field_errors(error: ValidationError, text: YamlText, model: type[BaseModel]) -> list[str]:
    """One sentence for each thing that is wrong, in the order of the file; at most 20."""
    found: dict[FieldPath, str] = {}
    for problem in error.errors(include_url=False):
        path = _path_in_data(problem["loc"], text.data)
        if problem["type"] == "extra_forbidden":
            message = _unknown_field(path, model)
        else:
            message = _sentence(problem["type"], problem["msg"], problem.get("input"))
        found.setdefault(path, message)
    in_order = sorted(found.items(), key=lambda item: text.line(item[0]))
    sentences = [f"{text.where(path)}: {dotted(path)}: {message}" for path, message in in_order]
    more = len(sentences) - _SHOWN
    return [*sentences[:_SHOWN], f"and {more} more"] if more > 0 else sentences


def _path_in_data(loc: tuple[int | str, ...], data: object) -> FieldPath:
    """Drops the parts of a location that name a union's member, not a place in the file."""
    path: list[str | int] = []
    here: Any = data
    for position, part in enumerate(loc):
        is_field = isinstance(here, dict) and part in here
        if is_field or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            here = here[part]
        elif position < len(loc) - 1 or not isinstance(part, str) or not isinstance(here, dict):
            continue
        path.append(part)
    return tuple(path)


def _unknown_field(path: FieldPath, model: type[BaseModel]) -> str:
    known = sorted(set(_fields_at(model, path[:-1])))
    close = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.6)
    if close:
        return f"unknown field; did you mean `{close[0]}`?"
    return f"unknown field; known here: {', '.join(known)}" if known else "unknown field"


def _fields_at(annotation: Any, path: FieldPath) -> Iterator[str]:
    """The names of the fields that may stand at a path, over all members of the unions on the way."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _fields_at(get_args(annotation)[0], path)
    elif origin in {Union, types.UnionType}:
        for member in get_args(annotation):
            yield from _fields_at(member, path)
    elif origin in {list, tuple, dict}:
        for member in get_args(annotation):
            yield from _fields_at(member, path[1:])
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {field.alias or name: field for name, field in annotation.model_fields.items() if not field.exclude}
        if not path:
            yield from fields
        elif path[0] in fields:
            yield from _fields_at(fields[str(path[0])].annotation, path[1:])


def _sentence(kind: str, message: str, given: object) -> str:
    if kind == "missing":
        return "is missing"
    if kind in {"value_error", "assertion_error"}:
        return message.partition(", ")[2]
    if kind == "string_type" and (read_as := _yaml_kind(given)):
        return f"YAML reads this as {read_as}, and a text is meant: put it into quotes"
    shown = f" (got {_shown(given)})" if isinstance(given, str | int | float | bool) or given is None else ""
    return f"{message[:1].lower()}{message[1:]}{shown}"


def _yaml_kind(value: object) -> str | None:
    """What YAML makes of a plain word that looks like something else than text."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    return "a date" if isinstance(value, date) else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"

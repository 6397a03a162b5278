"""What people hold samples in (mappings, dataclasses, pydantic objects, rows of a data frame) as plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

_MISSING = frozenset({"NAType", "NaTType"})


def is_row(value: object) -> bool:
    """Whether a value is one sample, not many: a mapping, a dataclass, a pydantic object, or a row of a data frame."""
    if isinstance(value, Mapping | BaseModel) or (is_dataclass(value) and not isinstance(value, type)):
        return True
    has_many = hasattr(value, "columns") or hasattr(value, "column_names")
    return callable(getattr(value, "to_dict", None)) and not has_many


def plain_row(value: object) -> object:
    """A row as a dict of JSON values; what is no row is returned as it is, for the reader to complain of."""
    return plain(value) if is_row(value) else value


def plain(value: Any) -> Any:
    """A value as JSON has it: tuples and arrays are lists, NaN and other marks of absence are None."""
    if value is None or isinstance(value, str | bool | int | float):
        return None if isinstance(value, float) and math.isnan(value) else value
    if type(value).__name__ in _MISSING:
        return None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return _plain_foreign(value)


def _plain_foreign(value: Any) -> Any:
    """Arrays and numbers of numpy, rows of pandas, sets and other iterables; anything else stays as it is."""
    for convert in ("to_dict", "tolist"):
        if callable(method := getattr(value, convert, None)):
            return plain(method())
    return [plain(item) for item in value] if isinstance(value, Iterable) else value


def rows_of(frame: Any) -> list[Any] | None:
    """The rows of a data frame (pandas or polars) as dicts; None where the value is no data frame."""
    if not hasattr(frame, "columns"):
        return None
    if callable(getattr(frame, "to_dicts", None)):
        return list(frame.to_dicts())
    return list(frame.to_dict("records")) if callable(getattr(frame, "to_dict", None)) else None

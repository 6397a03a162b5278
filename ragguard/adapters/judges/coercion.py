"""Brings the values of a judge's reply to the types that were asked for, where there is only one way to read them.

"Yes." is a true, "3" and "P3" are the number 3; a word that could mean two verdicts is left as it is, so that the
reply is refused and asked for again.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel

_TRUE = {"true", "yes", "y", "1", "có", "đúng", "是", "对"}
_FALSE = {"false", "no", "n", "0", "không", "sai", "否", "不是"}
_SYNONYMS = {
    "supported": {"support", "supports", "fully supported", "entailed", "entailment", "entails", "yes", "true"},
    "contradicted": {"contradict", "contradicts", "contradiction", "contradictory", "refuted", "refutes"},
    "absent": {
        "unsupported", "not supported", "not found", "not mentioned", "not stated", "not present", "missing",
        "neutral", "neither", "partial", "partially supported", "partly supported",
    },
}  # fmt: skip
_NUMBER_WITH_WORD = re.compile(
    r"^(?:p|line|sentence|passage|source|item|no\.?|#|câu|đoạn|dòng|句|第)?\s*#?(\d{1,9})\s*(?:[.|):]|句|段|行)?$",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[,;、，\s]+")
_NOTHING = {"", "none", "null", "n/a", "[]", "-"}
_ZERO_WHERE_NOTHING = {"passage"}


def coerced(model: type[BaseModel], value: Any) -> Any:
    """Returns a JSON value with its fields brought to the types of a model; what cannot be is left as it is."""
    if not isinstance(value, dict):
        return value
    fields = {_plain(name): name for name in model.model_fields}
    renamed = {fields.get(_plain(str(key)), key): item for key, item in value.items()}
    if len(renamed) < len(value):
        return value
    return {
        key: _to(model.model_fields[key].annotation, item, key) if key in model.model_fields else item
        for key, item in renamed.items()
    }


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


def _to(kind: Any, value: Any, name: str) -> Any:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) is list:
        return _list(get_args(kind)[0], value, name)
    if get_origin(kind) is Literal:
        return _choice(get_args(kind), value)
    if kind is bool:
        return _bool(value)
    if kind is int:
        return _int(value, name)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return coerced(kind, value)
    return value


def _list(kind: Any, value: Any, name: str) -> Any:
    if value is None or (isinstance(value, str) and value.strip().casefold() in _NOTHING):
        return []
    if isinstance(value, str) and kind is int:
        value = [part for part in _SEPARATORS.split(value.strip(" []")) if part]
    elif isinstance(value, dict | int):
        value = [value]
    return [_to(kind, item, name) for item in value] if isinstance(value, list) else value


def _choice(options: tuple[Any, ...], value: Any) -> Any:
    if value is True:
        value = "true"
    if not isinstance(value, str):
        return value
    said = re.sub(r"[\s_-]+", " ", value.casefold()).strip(" .!,;:\"'`*()[]")
    by_name = {str(option).replace("_", " ").casefold(): option for option in options}
    if said in by_name:
        return by_name[said]
    meant = [option for option in options if said in _SYNONYMS.get(option, ())]
    return meant[0] if len(meant) == 1 else value


def _bool(value: Any) -> Any:
    if isinstance(value, str):
        said = value.strip(" .!。！\"'`*").casefold()
        return True if said in _TRUE else False if said in _FALSE else value
    if isinstance(value, int) and value in {0, 1}:
        return bool(value)
    return value


def _int(value: Any, name: str) -> Any:
    if isinstance(value, bool):
        return str(value)  # pydantic would read true as 1
    if name in _ZERO_WHERE_NOTHING:
        if value is None or (isinstance(value, str) and value.strip().casefold() in _NOTHING):
            return 0
        if isinstance(value, list) and value:
            value = value[0]  # a claim that more than one passage decides: the first is as right as the others
    if isinstance(value, str) and (match := _NUMBER_WITH_WORD.match(value.strip())):
        return int(match[1])
    return value

"""The JSON schema of a reply, in the strict dialect that providers take: nothing optional, no open objects."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Any

from ragguard.core.tasks import Reply

_KEPT = {"type", "properties", "items", "enum", "const", "anyOf", "required"}
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


def schema_name(task: str) -> str:
    """A task's name as providers take it for a schema: ASCII letters, digits, `_` and `-`, at most 64 of them."""
    name = _NOT_IN_A_NAME.sub("_", task)
    if len(name) <= _LONGEST_NAME and task.isascii():
        return name
    return f"{name[:48]}_{hashlib.sha256(task.encode()).hexdigest()[:8]}"


@lru_cache(maxsize=64)
def strict_schema(reply: type[Reply]) -> dict[str, Any]:
    """Returns a reply's JSON schema: references resolved, every field required, no other fields, no annotations."""
    schema = reply.model_json_schema()
    return _strict(schema, schema.get("$defs", {}))


def _strict(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return _strict(definitions[node["$ref"].rpartition("/")[2]], definitions)
    kept = {key: value for key, value in node.items() if key in _KEPT}
    if "properties" in kept:
        kept["properties"] = {name: _strict(field, definitions) for name, field in kept["properties"].items()}
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    if "items" in kept:
        kept["items"] = _strict(kept["items"], definitions)
    if "anyOf" in kept:
        kept["anyOf"] = [_strict(option, definitions) for option in kept["anyOf"]]
    return kept

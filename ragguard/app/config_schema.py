"""The JSON Schema of ragguard.yaml, made from the models that read it."""

from __future__ import annotations

import json

from ragguard.app.config import Config


def config_schema() -> dict[str, object]:
    """The schema as JSON."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Config.model_json_schema(mode="validation"),
        "title": "ragguard.yaml",
    }


def config_schema_text() -> str:
    """The schema as text, with a line end."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False, sort_keys=True)

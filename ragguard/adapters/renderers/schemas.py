"""The JSON Schemas of the files that a run writes; committed copies stand in `ragguard/schemas`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ragguard.adapters.renderers.json import ReportDocument
from ragguard.adapters.renderers.summary import SummaryDocument
from ragguard.core.runs import RunHead

FOLDER = Path(__file__).parents[2] / "schemas"
DOCUMENTS: dict[str, type[BaseModel]] = {"report": ReportDocument, "run": RunHead, "summary": SummaryDocument}


def document_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of `report.json`, `run.json` or `summary.json`, made from the records themselves."""
    schema = DOCUMENTS[name].model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"ragguard {name}.json"}

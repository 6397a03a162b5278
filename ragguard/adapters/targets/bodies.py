"""Request bodies from Jinja templates: sandboxed, and checked before the first request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ragguard.core.samples import Sample, Turn

if TYPE_CHECKING:
    from jinja2 import Template

DEFAULT_BODY: Final = '{"question": {{ question | tojson }}, "history": {{ history | tojson }}}'
_VALUES: Final = "question, history (a list of role and content) and id"
# All that breaks JSON when it is put between quotes unescaped.
_PROBE: Final = 'a "b" \\ \n'
_PROBES: Final = (
    Sample(id=_PROBE, question=_PROBE),
    Sample(id=_PROBE, question=_PROBE, history=(Turn(role="user", content=_PROBE),) * 2),
)


class RenderError(ValueError):
    """A template cannot be rendered."""


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_refuse)


def _refuse(value: object) -> object:
    _ = str(value)  # an unknown name complains of itself, by its name
    raise TypeError(f"{type(value).__name__} is no JSON")


@lru_cache(maxsize=64)
def _template(source: str) -> Template:
    from jinja2 import StrictUndefined

    from ragguard.template_sandbox import Sandbox

    # Escaping for HTML would change the question; `tojson` is what makes it safe here.
    environment = Sandbox(autoescape=False, undefined=StrictUndefined)
    environment.filters["tojson"] = _to_json
    return environment.from_string(source)


def render(source: str, sample: Sample) -> str:
    """Renders a template with what the RAG app may know of a sample; never the reference.

    Raises:
        RenderError: It cannot be rendered.
    """
    values: Mapping[str, object] = {
        "id": sample.id,
        "question": sample.question,
        "history": [turn.model_dump() for turn in sample.history],
    }
    try:
        return _template(source).render(values)
    except Exception as error:  # a user's template may raise anything
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        raise RenderError(f"{where}{error}; a template may use {_VALUES}") from error


def check_template(source: str) -> None:
    """Renders a template with trial questions.

    Raises:
        RenderError: It cannot be rendered.
    """
    for probe in _PROBES:
        render(source, probe)


def check_json_body(source: str) -> None:
    """Makes sure that no question can break the JSON of a body.

    Raises:
        RenderError: It cannot be rendered, or what is rendered is no JSON.
    """
    for probe in _PROBES:
        try:
            json.loads(render(source, probe))
        except json.JSONDecodeError as error:
            raise RenderError(
                f"a question with quotes or line ends breaks the JSON ({error}); "
                "write {{ question | tojson }} without quotes around it"
            ) from error

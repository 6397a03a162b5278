"""The Jinja environment of reports: sandboxed, and everything a template prints is escaped for Markdown.

A template prints a value as it is only when that value is `Markup`, as `code`, `heading` and `link` give it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError

from ragguard import errors
from ragguard.adapters.renderers import escaping, words
from ragguard.template_files import template_loader
from ragguard.template_sandbox import Sandbox


@lru_cache(maxsize=8)
def markdown_environment(overrides: Path | None) -> Sandbox:
    """Templates of Markdown, the user's own first."""
    environment = Sandbox(
        loader=template_loader(overrides),
        autoescape=True,
        finalize=escaping.markdown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(code=escaping.code, heading=escaping.heading, link=escaping.link)
    environment.globals.update(words=words)
    return environment


@lru_cache(maxsize=8)
def html_environment(overrides: Path | None) -> Sandbox:
    """Templates of HTML, the user's own first; texts are cleaned, then escaped by Jinja itself."""
    environment = Sandbox(
        loader=template_loader(overrides),
        autoescape=True,
        finalize=_cleaned,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(words=words)
    return environment


def _cleaned(value: Any) -> Any:
    if hasattr(value, "__html__") or not isinstance(value, str):
        return value
    return escaping.page_line(value)


def rendered(
    environment: Callable[[Path | None], Sandbox],
    overrides: Path | None,
    name: str,
    **values: object,
) -> str:
    """Renders a template.

    Raises:
        TemplateError: The template, usually the user's own, cannot be rendered; the message names it and the line.
    """
    try:
        return environment(overrides).get_template(name).render(**values)
    except TemplateError as error:
        raise _bad_template(name, error) from error
    except Exception as error:
        if overrides is None:
            raise  # ours: a bug
        raise _bad_template(name, TemplateError(f"{type(error).__name__}: {error}")) from error


def source_of(overrides: Path | None, name: str) -> str:
    """A file of the templates' folder as it is, the user's own first.

    Raises:
        TemplateError: There is no such file.
    """
    environment = html_environment(overrides)
    try:
        return environment.loader.get_source(environment, name)[0] if environment.loader is not None else ""
    except TemplateError as error:
        raise _bad_template(name, error) from error


def _bad_template(name: str, error: TemplateError) -> errors.TemplateError:
    line = getattr(error, "lineno", None)
    where = f"{getattr(error, 'name', None) or name}, line {line}" if line else name
    return errors.TemplateError(
        f"template {where}: {error.message or type(error).__name__}",
        mend="compare it with the template of the same name that comes with ragguard",
    )

"""Finds templates: the user's own first, then those that come with ragguard."""

from __future__ import annotations

from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader

_INSTALLED = Path(__file__).parent / "templates"
_IN_THE_REPOSITORY = Path(__file__).parent.parent / "templates"


def templates_folder() -> Path:
    """The folder of the templates that come with ragguard, installed or in a checkout."""
    return _INSTALLED if _INSTALLED.is_dir() else _IN_THE_REPOSITORY


def template_loader(overrides: Path | None) -> BaseLoader:
    """A loader that prefers the user's folder; neither follows links out of its folder."""
    folders = [folder for folder in (overrides, templates_folder()) if folder is not None]
    return ChoiceLoader([FileSystemLoader(folder) for folder in folders])

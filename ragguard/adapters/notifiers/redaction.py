"""The redactor under the name that the notifiers know it by."""

from __future__ import annotations

from ragguard.adapters.redaction import BLOT, Redactor

__all__ = ["BLOT", "Redactor"]

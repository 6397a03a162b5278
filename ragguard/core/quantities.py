"""Numbers that can be added up, squared and shown: finite, and of a size that something measured can have."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

LARGEST = 1e12
"""More seconds, dollars or scores than any answer has; a trillion."""
_LARGEST_DERIVED = 1e30

Quantity = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
"""Something measured: a score, seconds, US dollars."""
Derived = Annotated[float, Field(ge=-_LARGEST_DERIVED, le=_LARGEST_DERIVED, allow_inf_nan=False)]
"""Something computed from measurements: a mean, a bound, a ratio of two."""

"""Reads a lock file: what it pins, and which pinned package wants each, from its comments `# via`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

PROJECT = "ragguard"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)(?:\[[^\]]*\])?==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+))?")
_VIA = re.compile(r"^    # via (?P<one>\S+)|^    #   (?P<more>\S+)")


@dataclass(frozen=True)
class Pin:
    """One pinned package.

    Attributes:
        versions: Each with where it is installed, such as `sys_platform == 'win32'`; empty for everywhere.
        wanted_by: Names of the packages that want it; `ragguard` where it is a direct dependency.
    """

    name: str
    versions: tuple[tuple[str, str], ...]
    wanted_by: tuple[str, ...]


def read_lock(text: str) -> dict[str, Pin]:
    """Reads the pins, by name, in their order.

    Raises:
        ValueError: A package is pinned without saying who wants it.
    """
    pins: dict[str, Pin] = {}
    for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE):
        found = _PIN.match(block)
        if found is None:
            continue
        wanted = [via["one"] or via["more"] for line in block.splitlines() if (via := _VIA.match(line)) is not None]
        if not wanted:
            raise ValueError(f"{found['name']}: the lock does not say who wants it")
        before = pins.get(found["name"], Pin(found["name"], (), ()))
        versions = (*before.versions, (found["version"], (found["marker"] or "").strip()))
        pins[before.name] = Pin(before.name, versions, tuple(dict.fromkeys((*before.wanted_by, *wanted))))
    return pins


def direct(pins: Mapping[str, Pin]) -> tuple[str, ...]:
    """Names of the direct dependencies."""
    return tuple(name for name, pin in pins.items() if PROJECT in pin.wanted_by)


def pulled_by(name: str, pins: Mapping[str, Pin]) -> tuple[str, ...]:
    """The direct dependencies that pull a package, each over as many steps as it takes."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for wanting in pins[waiting.pop()].wanted_by:
            if wanting not in seen and wanting in pins:
                seen.add(wanting)
                waiting.append(wanting)
    return tuple(found for found in direct(pins) if found in seen)

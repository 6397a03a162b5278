"""Completes a CycloneDX bill of materials that was made from a lock file: `sbom.py LOCK SBOM`.

The tool that makes it sees a list; the lock's comments say who wants whom, which becomes the graph. Packages are
referred to by what they are, not by where some index keeps them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lock_graph import PROJECT, Pin, read_lock

_ROOT = "root-component"


def completed(bill: dict[str, Any], pins: dict[str, Pin]) -> dict[str, Any]:
    """The bill with the graph of dependencies.

    Raises:
        ValueError: It does not list exactly what the lock pins.
    """
    listed = {(component["name"], component["version"]): component for component in bill["components"]}
    pinned = {(pin.name, version): marker for pin in pins.values() for version, marker in pin.versions}
    if listed.keys() != pinned.keys():
        raise ValueError(f"bill and lock differ: {sorted(listed.keys() ^ pinned.keys())}")
    for key, component in listed.items():
        component.pop("description", None)  # the lock's own line again
        component["bom-ref"] = component["purl"]
        if pinned[key]:
            component["properties"] = [{"name": "ragguard:marker", "value": pinned[key]}]
        for reference in component.get("externalReferences", ()):
            reference["url"] = component["purl"]
    for tool in bill["metadata"].get("tools", {}).get("components", ()):
        tool.pop("externalReferences", None)
    return {**bill, "dependencies": _graph(pins, {key: str(found["purl"]) for key, found in listed.items()})}


def _graph(pins: dict[str, Pin], purls: dict[tuple[str, str], str]) -> list[dict[str, Any]]:
    """Who wants whom; where a package is pinned in several versions, each is wanted somewhere."""
    refs = {name: [purls[name, version] for version, _ in pin.versions] for name, pin in pins.items()}
    wants: dict[str, list[str]] = {_ROOT: [], **{ref: [] for many in refs.values() for ref in many}}
    for name, pin in pins.items():
        for wanting in pin.wanted_by:
            for ref in [_ROOT] if wanting == PROJECT else refs[wanting]:
                wants[ref] += refs[name]
    return [{"ref": ref, "dependsOn": sorted(wanted)} if wanted else {"ref": ref} for ref, wanted in wants.items()]


if __name__ == "__main__":
    lock, path = Path(sys.argv[1]), Path(sys.argv[2])
    whole = completed(json.loads(path.read_bytes()), read_lock(lock.read_text(encoding="utf-8")))
    path.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

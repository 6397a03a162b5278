"""Copies one package's pin with its hashes out of a lock file: `lock_one.py NAME FROM TO`."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def pin_of(name: str, lock: str) -> str:
    """Returns the lines of a package's pin without comments.

    Raises:
        ValueError: The lock file does not pin it.
    """
    found = re.search(rf"^{re.escape(name)}==.*?(?=^\S|\Z)", lock, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"{name} is not pinned")
    lines = [line for line in found.group().splitlines() if line and not line.lstrip().startswith("#")]
    return "\n".join([*lines[:-1], lines[-1].rstrip(" \\")]) + "\n"


if __name__ == "__main__":
    name, source, target = sys.argv[1:]
    Path(target).write_text(pin_of(name, Path(source).read_text(encoding="utf-8")), encoding="utf-8")

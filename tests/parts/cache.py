"""Where the heavy real parts live, and whether a test may use one.

`scripts/fetch_parts.py` brings the parts; a test asks `need("seaweedfs")` and gets the path of the part's program, or is
skipped with the reason. A part named in `RAGGUARD_REQUIRE` fails the test instead: CI must not go green because a part is gone.
"""

import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CACHE_VARIABLE: Final = "RAGGUARD_PARTS_DIR"
REQUIRE_VARIABLE: Final = "RAGGUARD_REQUIRE"
MARKER: Final = "ready.json"


class PartMissingError(Exception):
    """The part cannot be used here; the message says why and what mends it."""


@dataclass(frozen=True)
class Part:
    """What makes a part usable.

    Attributes:
        programs: Names looked up on PATH, the first found counts; empty for a part that lives in the cache folder.
        companions: Further programs that must all be there.
        modules: Python packages that the tests of this part import themselves.
    """

    programs: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


PARTS: Final[Mapping[str, Part]] = {
    "seaweedfs": Part(modules=("obstore",)),
    "bigquery": Part(modules=("google.cloud.bigquery",)),
    "spark": Part(programs=("java",), modules=("pyspark",)),
    "chromium": Part(
        programs=("chromium", "chromium-browser", "google-chrome"), companions=("chromedriver",), modules=("selenium",)
    ),
    "buildah": Part(programs=("buildah",)),
    "debootstrap": Part(programs=("debootstrap",)),
}


def cache_dir() -> Path:
    """The folder of the fetched parts, `RAGGUARD_PARTS_DIR` or `~/.cache/ragguard-parts`."""
    return Path(os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "ragguard-parts").absolute()


def required() -> frozenset[str]:
    """The parts that must be here, from `RAGGUARD_REQUIRE`.

    Raises:
        ValueError: A name is not a part's; a misspelt one would otherwise require nothing.
    """
    names = frozenset(name.strip() for name in os.environ.get(REQUIRE_VARIABLE, "").split(",") if name.strip())
    if unknown := sorted(names - PARTS.keys()):
        raise ValueError(f"{REQUIRE_VARIABLE}: no such part: {', '.join(unknown)}; parts: {', '.join(PARTS)}")
    return names


def write_marker(folder: Path, program: Path, recipe: str) -> None:
    """Declare a part complete. Called last, and atomic: a part without its marker is not there."""
    draft = folder / f"{MARKER}.{os.getpid()}"
    draft.write_text(json.dumps({"program": str(program), "recipe": recipe}), encoding="utf-8")
    draft.replace(folder / MARKER)


def read_marker(folder: Path, recipe: str | None = None) -> Path | None:
    """The program of a complete part, None where it is absent, broken or (with `recipe`) made by another recipe."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        program = Path(marker["program"])
        current = recipe is None or marker["recipe"] == recipe
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return program if current and os.access(program, os.X_OK) else None


def find_program(part: str, *, companion: str | None = None) -> Path | None:
    """The first of a system part's programs, on PATH or in the administrator's folders; Java also under JAVA_HOME.

    With `companion`, that program instead.
    """
    folders = [os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"]
    if part == "spark" and (home := os.environ.get("JAVA_HOME")):
        folders.insert(0, str(Path(home) / "bin"))
    found = (
        shutil.which(name, path=os.pathsep.join(folders))
        for name in ([companion] if companion else PARTS[part].programs)
    )
    return next((Path(path) for path in found if path), None)


def locate(part: str) -> Path:
    """The path of a part's program.

    Raises:
        PartMissingError: It is not here, or a Python package that its tests import is not.
        KeyError: There is no part of that name.
    """
    wanted = PARTS[part]
    program = find_program(part) if wanted.programs else read_marker(cache_dir() / part)
    if program is None:
        where = f"none of {', '.join(wanted.programs)} on PATH" if wanted.programs else f"not in {cache_dir()}"
        raise PartMissingError(f"part {part}: {where}; run: python scripts/fetch_parts.py {part}")
    for companion in wanted.companions:
        if find_program(part, companion=companion) is None:
            raise PartMissingError(f"part {part}: no {companion} on PATH; run: python scripts/fetch_parts.py {part}")
    for module in wanted.modules:
        if not _importable(module):
            raise PartMissingError(f"part {part}: the Python package {module} is not installed in this environment")
    return program


def need(part: str) -> Path:
    """The path of a part's program; else skip the test, or fail it where `RAGGUARD_REQUIRE` names the part."""
    import pytest  # here, so that the fetch script runs before anything is installed

    try:
        return locate(part)
    except PartMissingError as error:
        if part in required():
            pytest.fail(f"{error} ({REQUIRE_VARIABLE} names it)", pytrace=False)
        pytest.skip(str(error))


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is absent
        return False

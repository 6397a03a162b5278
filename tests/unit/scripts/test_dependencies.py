"""docs/dependencies.md tells of every dependency, the locks hold hashes and no index, and the bill of materials is whole."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
dependencies = importlib.import_module("dependencies")
lock_graph = importlib.import_module("lock_graph")
sbom = importlib.import_module("sbom")
sys.path.remove(str(ROOT / "scripts"))

DOC = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_NAME = re.compile(r"[A-Za-z0-9_-]+")

SMALL = """\
click==8.5.1 \\
    --hash=sha256:00
    # via
    #   ragguard (pyproject.toml)
    #   litellm
litellm==1.0 \\
    --hash=sha256:00
    # via ragguard (pyproject.toml)
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:00
    # via ragguard (pyproject.toml)
numpy==2.5.1 ; python_full_version >= '3.12' \\
    --hash=sha256:00
    # via ragguard (pyproject.toml)
openai==3.0 \\
    --hash=sha256:00
    # via litellm
sniffio==1.3 ; sys_platform == 'win32' \\
    --hash=sha256:00
    # via openai
"""


def names(requirements: list[str]) -> list[str]:
    return [found[0] for one in requirements if (found := _NAME.match(one)) is not None]


def rows(heading: str) -> list[list[str]]:
    section = DOC.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return [
        [cell.strip(" `") for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]


def test_every_dependency_is_told_with_its_licence_its_use_and_the_loss() -> None:
    assert [row[0] for row in rows("Core")] == names(PROJECT["dependencies"])
    wanted = {
        (name, extra)
        for extra, found in PROJECT["optional-dependencies"].items()
        for name in names(found)
        if extra != "all"
    }
    assert {(row[0], row[1]) for row in rows("Extras")} == wanted
    for row in (*rows("Core"), *rows("Extras")):
        assert all(cell for cell in row), row


def test_the_transitive_ones_are_those_of_the_lock() -> None:
    assert dependencies.document(DOC, LOCK) == DOC, "run: make lock, or python scripts/dependencies.py"


def test_every_pin_of_the_lock_is_read_and_pulled_by_a_direct_dependency() -> None:
    pins = lock_graph.read_lock(LOCK)
    assert sum(len(pin.versions) for pin in pins.values()) == len(re.findall(r"^[A-Za-z0-9].*==", LOCK, re.MULTILINE))
    assert set(lock_graph.direct(pins)) >= {name.lower() for name in names(PROJECT["dependencies"])}
    for name, pin in pins.items():
        assert set(pin.wanted_by) <= {*pins, "ragguard"}, name
        assert name in lock_graph.direct(pins) or lock_graph.pulled_by(name, pins), name


def test_who_wants_whom() -> None:
    pins = lock_graph.read_lock(SMALL)
    assert lock_graph.direct(pins) == ("click", "litellm", "numpy")
    assert lock_graph.pulled_by("sniffio", pins) == ("litellm",)
    assert lock_graph.pulled_by("click", pins) == ("litellm",)
    assert pins["numpy"].versions == (
        ("2.4.6", "python_full_version < '3.12'"),
        ("2.5.1", "python_full_version >= '3.12'"),
    )
    table = dependencies.table(SMALL)
    assert "2 packages, pulled by 3 direct ones" in table
    assert "| `sniffio` | 1.3 | `litellm` | `openai` | `sys_platform == 'win32'` |" in table
    with pytest.raises(ValueError, match="who wants it"):
        lock_graph.read_lock("a==1 \\\n    --hash=sha256:00\n")


def bill(*components: tuple[str, str]) -> dict[str, Any]:
    return {
        "components": [
            {
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "bom-ref": f"requirements-L{number}",
                "externalReferences": [{"type": "distribution", "url": f"https://index.example/{name}", "hashes": []}],
            }
            for number, (name, version) in enumerate(components)
        ],
        "dependencies": [],
        "metadata": {
            "tools": {"components": [{"name": "t", "externalReferences": [{"url": "https://index.example"}]}]}
        },
    }


def test_the_bill_of_materials_has_the_graph_and_names_no_index() -> None:
    pins = lock_graph.read_lock(SMALL)
    listed = [(name, version) for name, pin in pins.items() for version, _ in pin.versions]
    whole = sbom.completed(bill(*listed), pins)
    graph = {entry["ref"]: entry.get("dependsOn") for entry in whole["dependencies"]}
    assert graph["root-component"] == [
        "pkg:pypi/click@8.5.1", "pkg:pypi/litellm@1.0", "pkg:pypi/numpy@2.4.6", "pkg:pypi/numpy@2.5.1",
    ]  # fmt: skip
    assert graph["pkg:pypi/litellm@1.0"] == ["pkg:pypi/click@8.5.1", "pkg:pypi/openai@3.0"]
    assert graph["pkg:pypi/sniffio@1.3"] is None
    assert set(graph) == {"root-component", *(component["bom-ref"] for component in whole["components"])}
    assert "index.example" not in str(whole)
    with pytest.raises(ValueError, match="sniffio"):
        sbom.completed(bill(*listed[:-1]), pins)


@pytest.mark.parametrize("path", sorted(ROOT.glob("requirements*.lock")), ids=lambda path: path.name)
def test_every_pin_has_hashes_and_no_lock_names_an_index(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = [block for block in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE) if block.strip()]
    assert blocks
    for block in blocks:
        assert "==" in block.splitlines()[0], block[:80]
        assert "--hash=sha256:" in block, block[:80]
    assert "://" not in text
    assert "--index" not in text

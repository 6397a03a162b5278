"""Compares what is rendered with a golden file, which changes only on purpose: RAGGUARD_UPDATE_GOLDEN=1 rewrites it."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
UPDATE = "RAGGUARD_UPDATE_GOLDEN"


def assert_golden(text: str, name: str, folder: Path = FOLDER) -> None:
    path = folder / name
    if os.environ.get(UPDATE) == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
    assert path.exists(), f"{path} is missing: look at the output, then run the test with {UPDATE}=1"
    assert text == path.read_bytes().decode("utf-8"), f"{path} differs: if that is meant, run the test with {UPDATE}=1"

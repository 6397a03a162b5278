"""The action's image, built and run as GitHub's runner does, by the script that `make image-test` runs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.parts.cache import need, required

ROOT = Path(__file__).parents[2]


def test_the_image_builds_small_and_runs_the_quickstart() -> None:
    for part in ("buildah", "debootstrap"):
        need(part)
    if os.geteuid() != 0:
        reason = "building without a daemon needs root"
        if "buildah" in required():
            pytest.fail(reason)
        pytest.skip(reason)
    done = subprocess.run(
        [ROOT / "scripts" / "image_test.sh"], capture_output=True, text=True, timeout=2400, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    assert done.stdout.rstrip().endswith("image test: passed")

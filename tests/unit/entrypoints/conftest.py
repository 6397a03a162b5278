"""What the tests of the action share: a small GitHub, a runner, and the process as it was before."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.action_runner import Runner
from tests.parts.github_code import GitHubWithCode, github_with_code


@pytest.fixture
def github() -> Iterator[GitHubWithCode]:
    with github_with_code() as server:
        yield server


@pytest.fixture
def runner(tmp_path: Path, github: GitHubWithCode) -> Iterator[Runner]:
    """A step changes the working folder and the handling of signals, as is right for a process of its own."""
    folder, handler = Path.cwd(), signal.getsignal(signal.SIGTERM)
    yield Runner(tmp_path, github.url)
    os.chdir(folder)
    signal.signal(signal.SIGTERM, handler)

"""What the attacks share: a small GitHub and a runner, as the tests of the action have them, and one hostile job."""

from collections.abc import Iterator

import pytest

from tests.attacks.hostile_job import Told, hostile_job
from tests.unit.entrypoints.conftest import github, runner

__all__ = ["github", "runner", "told"]


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """What a worse pull request with hostile data told."""
    with hostile_job(tmp_path_factory.mktemp("hostile")) as found:
        assert found.exit_code == 1
        assert len(found.comments) == 2, "a comment and an issue"
        yield found

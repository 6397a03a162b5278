"""What the attacks share: a small GitHub and a runner, as the tests of the action have them."""

from tests.unit.entrypoints.conftest import github, runner

__all__ = ["github", "runner"]

"""Suites that every implementation of a port must pass."""

import pytest

pytest.register_assert_rewrite("tests.contracts.stores")

"""Tests against real parts; run by `pytest -m real tests/real`."""

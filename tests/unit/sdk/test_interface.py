"""What `import ragguard` gives, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ragguard


def test_importing_ragguard_or_its_pytest_plugin_loads_nothing_heavy() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import ragguard, ragguard.pytest_plugin; dir(ragguard); "
        "print(sorted(name for name in set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['ragguard', 'ragguard.pytest_plugin']"


def test_evaluating_offline_does_not_load_litellm() -> None:
    code = (
        "import sys, ragguard; "
        "ragguard.evaluate({'question': 'q?', 'answer': 'a.', 'contexts': ['a.']}, judge='offline', "
        "metrics='faithfulness'); print('litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", ragguard.__all__)
def test_every_name_of_the_interface_is_there(name: str) -> None:
    assert getattr(ragguard, name) is not None
    assert name in dir(ragguard)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        ragguard.evalute  # type: ignore[attr-defined]  # noqa: B018

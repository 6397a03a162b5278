"""Runs the properties for longer, each time with new examples: `python -m tests.fuzz.long --minutes 5 [WORDS]`.

A property that fails is shown with its smallest example and left out from there on. Exits with 1 if any failed.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import signal
import sys
import time
import traceback
from types import FrameType

import tests.conftest
import tests.fuzz
from tests.fuzz.harness import PROPERTIES, Property

_SECONDS = 120
"""What one round of examples may take before it counts as an endless loop."""


class EndlessError(BaseException):
    """A round did not come to its end; no product code catches it."""


def _endless(_signal: int, _frame: FrameType | None) -> None:
    raise EndlessError(f"no end in {_SECONDS} s")


def load() -> list[Property]:
    """All properties."""
    for module in pkgutil.iter_modules(tests.fuzz.__path__):
        if module.name.startswith("test_"):
            importlib.import_module(f"tests.fuzz.{module.name}")
    return PROPERTIES


def try_once(tried: Property, examples: int) -> str | None:
    """Tries a property on new examples; gives what went wrong."""
    signal.alarm(_SECONDS)
    try:
        tried.test(max_examples=examples, derandomize=False)()
    except (Exception, EndlessError) as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
        return "".join(traceback.format_exception(error))
    finally:
        signal.alarm(0)
    return None


def main(minutes: float, words: list[str], examples: int) -> int:
    """Goes round the properties until the time is over; returns the exit code."""
    signal.signal(signal.SIGALRM, _endless)
    going = [one for one in load() if not words or any(word in one.name for word in words)]
    counts = dict.fromkeys((one.name for one in going), 0)
    failed = 0
    end = time.monotonic() + minutes * 60
    while going and time.monotonic() < end:
        for tried in [*going]:
            wrong = try_once(tried, examples)
            counts[tried.name] += examples
            if wrong is not None:
                failed += 1
                going.remove(tried)
                print(f"=== {tried.name}\n{wrong}", flush=True)
            if time.monotonic() > end:
                break
    for name, count in counts.items():
        print(f"{count:>8,} examples at most  {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--examples", type=int, default=40, help="examples a round")
    parser.add_argument("words", nargs="*", help="only properties whose name holds one of them")
    arguments = parser.parse_args()
    sys.exit(main(arguments.minutes, arguments.words, arguments.examples))

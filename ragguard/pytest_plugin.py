"""A pytest plugin: the fixture `ragguard_gate` evaluates samples and fails the test, showing the samples to blame.

Nothing of ragguard is imported before a test uses the fixture.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ragguard.sdk.evaluation import Evaluation


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that stores baselines."""
    parser.getgroup("ragguard").addoption(
        "--ragguard-accept",
        action="store_true",
        help="Store what ragguard_gate evaluates as the new baseline, where it reaches its minima.",
    )


class Gate:
    """What the fixture gives: call it with samples and what must hold."""

    def __init__(self, folder: Path, *, accept: bool) -> None:
        self._folder = folder
        self._accept = accept

    def __call__(
        self,
        samples: object,
        answers: object = None,
        *,
        minima: Mapping[str, float] | None = None,
        baseline: str | Path | None = None,
        tolerance: float = 0.02,
        show: int = 10,
        **settings: Any,
    ) -> Evaluation:
        """Evaluates samples and fails the test where something does not hold.

        Args:
            samples: See `ragguard.evaluate`.
            answers: See `ragguard.evaluate`.
            minima: By metric, the least mean, a fraction.
            baseline: Folder of a stored evaluation, relative to pytest's root; `--ragguard-accept` writes it. A folder
                that is not there fails the test.
            tolerance: The largest drop against the baseline that is tolerated.
            show: How many samples the message shows.
            settings: Further arguments of `ragguard.evaluate`: metrics, judge, embedder …

        Returns:
            The evaluation, for further assertions.
        """
        __tracebackhide__ = True
        from ragguard.sdk.evaluating import evaluate
        from ragguard.sdk.gate import problems_of

        evaluation = evaluate(samples, answers, **settings)
        told = problems_of(
            evaluation,
            minima or {},
            None if baseline is None else self._folder / baseline,
            tolerance=tolerance,
            accept=self._accept,
            most=show,
        )
        if told is not None:
            pytest.fail(told, pytrace=False)
        return evaluation


@pytest.fixture
def ragguard_gate(request: pytest.FixtureRequest) -> Gate:
    """Evaluates samples; fails the test where a minimum or a stored baseline does not hold, and shows the samples."""
    return Gate(request.config.rootpath, accept=bool(request.config.getoption("--ragguard-accept")))

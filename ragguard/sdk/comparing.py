"""`compare`: the gate on two runs, offline."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragguard.adapters.runfiles import read_run
from ragguard.app.offline_compare import SavedRun, compare_saved
from ragguard.core.policy import GatePolicy
from ragguard.core.report import Report
from ragguard.core.runs import Cause, MetricSummary, Outcome, RegressedSample
from ragguard.errors import UserInputError
from ragguard.sdk.evaluation import Evaluation

Run = Evaluation | str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The gate's verdict on a candidate; true where it would let the candidate pass.

    Attributes:
        report: All that the reports are made of.
    """

    report: Report = field(repr=False)

    @property
    def outcome(self) -> Outcome:
        """`passed`, `warned`, `inconclusive`, `not_comparable`, `failed` or `error`."""
        return self.report.head.outcome

    @property
    def passed(self) -> bool:
        """Whether the command would exit with 0."""
        return self.report.exit_code == 0

    @property
    def exit_code(self) -> int:
        """What the command would exit with."""
        return int(self.report.exit_code)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, the worst first."""
        return self.report.head.reasons

    @property
    def metrics(self) -> dict[str, MetricSummary]:
        """Means, change, interval and outcome of each metric."""
        return self.report.head.metrics

    @property
    def regressed(self) -> tuple[RegressedSample, ...]:
        """The samples that fell most, the worst first, each with its cause."""
        return self.report.head.comparison.regressed

    @property
    def causes(self) -> dict[Cause, int]:
        """How many samples fell by which cause."""
        return self.report.head.comparison.causes

    def to_dict(self) -> dict[str, Any]:
        """The run's head with the verdict, as JSON values."""
        return self.report.head.model_dump(mode="json")

    def to_markdown(self) -> str:
        """The report, as `ragguard run` writes it."""
        from ragguard.adapters.renderers.markdown import render_markdown

        return render_markdown(self.report)

    def __bool__(self) -> bool:
        return self.passed

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def compare(
    base: Run, candidate: Run, *, tolerance: float | None = None, minima: Mapping[str, float] | None = None
) -> Comparison:
    """Compares two runs; nothing is judged again, so one look decides.

    Args:
        base: The baseline: an evaluation, or the path or URL of a saved run (its run.json, or that file's folder).
        candidate: The run to judge.
        tolerance: The largest drop that is tolerated, a fraction; default the candidate's own setting, else 0.02.
        minima: Floors of the metrics' means, by metric.

    Raises:
        RunFileError: A saved run cannot be read, or the runs have no sample in common.
        UserInputError: Tolerance or minima are wrong.
    """
    saved = [_saved(run) for run in (base, candidate)]
    policy = GatePolicy.model_validate(saved[1].head.policy)
    if tolerance is not None:
        _check_fraction("tolerance", tolerance)
        policy = policy.model_copy(update={"regression_tolerance": float(tolerance), "tolerance": {}})
    if minima is not None:
        for metric, floor in minima.items():
            if metric not in saved[1].head.metrics:
                raise UserInputError(f"compare(): minima: the candidate has no metric {metric}")
            _check_fraction(f"minima[{metric!r}]", floor)
        policy = policy.model_copy(update={"slo_minima": {name: float(floor) for name, floor in minima.items()}})
    return Comparison(compare_saved(saved[0], saved[1], policy))


def _saved(run: Run) -> SavedRun:
    if isinstance(run, Evaluation):
        return SavedRun(run.head, lambda: iter(run.records))
    if isinstance(run, str | os.PathLike):
        read = read_run(Path(run) if isinstance(run, os.PathLike) else run)
        return SavedRun(read.head, read.results)
    raise UserInputError(
        f"compare(): a run is a {type(run).__name__}", mend="give an Evaluation, or the path of a saved run"
    )


def _check_fraction(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise UserInputError(f"compare(): {name} is {value}", mend="give a fraction in [0, 1]")

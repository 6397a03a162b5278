"""Small runs that end somehow: what came of them, asserted field by field against a line of the table of faults."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.app.pipeline import run_pipeline
from ragguard.core.report import Report
from ragguard.errors import RagguardError
from tests.fakes import fast_time
from tests.fakes.small_runs import SmallRuns
from tests.faults.fault import Fault

NO_RUN = "-"


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        text: What it says: reasons, notices and failures of its run, or the error with its mend.
        report: None where it ended by an error.
        output: The folder of its files.
    """

    outcome: str
    exit_code: int
    text: str
    report: Report | None
    output: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The records of samples.jsonl."""
        text = (self.output / "samples.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def files(self) -> set[str]:
        """Names of the files that were written."""
        return {path.name for path in self.output.iterdir()} if self.output.exists() else set()

    @property
    def usage(self) -> Any:
        """What the run took."""
        assert self.report is not None, self.text
        return self.report.head.usage


class FaultRuns(SmallRuns):
    """Runs in one folder, in fast time."""

    def __init__(self, folder: Path, n: int = 6, *, pace: float = 20) -> None:
        super().__init__(folder, n)
        self.pace = pace

    def end(self, config: str, *, overrides: Mapping[str, object] | None = None, **changes: object) -> Ended:
        """Does the next run, whatever comes of it."""
        try:
            request = self.request(config=config, overrides=overrides, **changes)
            report = fast_time.run(run_pipeline(request), self.pace)
        except RagguardError as error:
            return Ended(NO_RUN, int(error.exit_code), str(error), None, self.output(f"run-{self.count}"))
        head = report.head
        failures = [score.reason for result in report.results() for score in result.scores if score.reason]
        said = (*head.reasons, *head.notices, *failures, *(str(metric.reason) for metric in head.metrics.values()))
        return Ended(head.outcome, int(report.exit_code), "\n".join(said), report, request.output)

    @property
    def comparable(self) -> list[str]:
        """The runs in the store that a later one may be compared with."""
        store = DirectoryStore(uri=str(self.folder / "store"))
        heads = store.heads("small", limit=100)
        return [head.run_id for head in heads if head.outcome in {"passed", "warned"}]


def expect(fault: Fault, ended: Ended) -> None:
    """Asserts outcome, exit code and words; what is kept is asserted by whoever knows it."""
    assert (ended.outcome, ended.exit_code) == (fault.outcome, fault.exit_code), ended.text
    assert re.search(fault.says, ended.text), ended.text
    told = [ended.text]
    told += [(ended.output / name).read_text(encoding="utf-8") for name in ended.files & {"report.md", "run.json"}]
    assert not any("Traceback (most recent call last)" in text for text in told)


def expect_error_kept(ended: Ended, runs: FaultRuns) -> None:
    """A run that could not do its work: its files say so, and it is nothing to compare with."""
    assert ended.files >= {"run.json", "samples.jsonl", "report.md", "report.json"}
    head = json.loads((ended.output / "run.json").read_text(encoding="utf-8"))
    assert head["outcome"] == ended.outcome
    assert head["run_id"] not in runs.comparable


def expect_nothing_kept(ended: Ended, runs: FaultRuns) -> None:
    """Nothing was begun: no file looks like a run's."""
    assert "run.json" not in ended.files
    assert runs.comparable == []


def expect_whole(ended: Ended, runs: FaultRuns) -> None:
    """The fault was overcome: every sample is scored, and the run is stored."""
    assert ended.report is not None
    assert all(metric.n_scored == runs.n for metric in ended.report.head.metrics.values())
    assert ended.report.head.run_id in runs.comparable

"""What is never taken for a pass: a run that broke off, a store that is gone, a sample that was never evaluated."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.app.baselines import last_accepted
from ragguard.app.context import RunContext
from ragguard.app.ledger import Ledger, Traits, asked_samples
from ragguard.app.progress import Silent
from ragguard.core.baseline import Baseline
from ragguard.core.runs import Fingerprint, RunHead
from ragguard.core.samples import Sample, sample_digest
from ragguard.core.scores import SampleResult, Score
from ragguard.errors import ExitCode, StoreError
from tests.fakes.small_runs import CONFIG, SmallRuns

OUTAGE = """
from typing import ClassVar, Literal
from ragguard.core.metrics.base import Metric
from ragguard.errors import JudgeError

class LateOutage(Metric):
    type: Literal["metric_of_an_outage:LateOutage"] = "metric_of_an_outage:LateOutage"
    needs: ClassVar[tuple[str, ...]] = ("answer",)

    async def score(self, sample, answer, tools):
        if sample.id >= "s029":
            raise JudgeError("the judge is gone")
        return self.scored(1.0)
"""


@pytest.fixture
def runs(tmp_path: Path) -> SmallRuns:
    return SmallRuns(tmp_path)


def test_an_outage_at_the_last_sample_is_an_error_and_is_not_stored(
    runs: SmallRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs.folder / "metric_of_an_outage.py").write_text(OUTAGE, encoding="utf-8")
    monkeypatch.chdir(runs.folder)
    monkeypatch.syspath_prepend(runs.folder)
    config = CONFIG.replace("[faithfulness, context_relevance]", "[metric_of_an_outage:LateOutage]")
    report = runs.run(config=config + "gate: {min_coverage: 0.0}\nexecutor: {concurrency: 1}\n")
    assert report.head.outcome == "error"
    assert "the judge is gone" in report.head.reasons[0]
    assert report.exit_code == ExitCode.OUTSIDE_WORLD
    assert DirectoryStore(uri=str(runs.folder / "store")).heads("small") == []


class _TakesTheStoreAway(Silent):
    def __init__(self, store: Path) -> None:
        self.said: list[str] = []
        self._store = store

    def stop(self) -> None:
        shutil.rmtree(self._store, ignore_errors=True)
        self._store.write_text("a file where the store's folder should be", encoding="utf-8")

    def say(self, message: str) -> None:
        self.said.append(message)


def test_a_run_that_cannot_be_stored_is_no_success_and_stays_in_the_output_folder(runs: SmallRuns) -> None:
    (runs.folder / "store").mkdir()
    progress = _TakesTheStoreAway(runs.folder / "store")
    report = runs.run(progress=progress)
    assert report.head.outcome == "warned"
    assert report.exit_code == ExitCode.OUTSIDE_WORLD
    assert "could not be stored" in report.head.notices[-1]
    assert "baseline push" in progress.said[-1]
    assert (runs.output("run-1") / "run.json").is_file()


class _NoHeads(DirectoryStore):
    def heads(self, *_: object, **__: object) -> list[RunHead]:
        raise StoreError("the store cannot be read: timed out")


def test_heads_that_cannot_be_read_are_not_an_empty_store(tmp_path: Path) -> None:
    context = RunContext(run_id="r", now=datetime(2026, 3, 1, tzinfo=UTC), base_branches=("main",))
    with pytest.raises(StoreError, match="timed out"):
        last_accepted(_NoHeads(uri=str(tmp_path)), "small", context, carry_over=True)


def test_a_sample_that_was_never_evaluated_counts_as_failed() -> None:
    samples = [Sample(id=id_, question=f"{id_}?") for id_ in ("a", "b", "c")]
    ledger = Ledger(
        asked=asked_samples(samples),
        traits={"m": Traits("higher", "mean")},
        fingerprints={"m": Fingerprint(metric="x")},
        baseline=Baseline(),
        would_select=lambda _id, _tags: True,
    )
    assert (ledger.evidence()["m"].n_failed, ledger.evidence()["m"].candidate_values.size) == (3, 0)
    scores = (Score(metric="m", status="scored", value=1.0),)
    digest = sample_digest(samples[0])
    ledger.add(SampleResult(id="a", sample_digest=digest, passages_digest="p", answer_digest="x", scores=scores))
    found = ledger.evidence()["m"]
    assert (found.n_failed, found.n_not_applicable, found.candidate_values.tolist()) == (2, 0, [1.0])

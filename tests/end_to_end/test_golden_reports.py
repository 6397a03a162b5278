"""The reports of real runs through the whole pipeline, as files that change only on purpose.

Other golden files render reports that were built by hand; these show what a run puts into one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ragguard.core.runs import Outcome
from tests.fakes.small_runs import CONFIG, SmallRuns
from tests.unit.adapters.renderers.golden import assert_golden

GOLDEN = Path(__file__).parent / "golden"
RUN = CONFIG.replace("[faithfulness, context_relevance]", "[faithfulness, context_recall, context_precision]") + (
    "reporting: {format: [markdown, json, summary]}\n"
)
WRONG: dict[Outcome, int] = {"passed": 0, "inconclusive": 2, "failed": 9}
"""How many of thirty answers are wrong: two are beyond the tolerance, but noise may explain them."""


def normalised(text: str, folder: Path) -> str:
    """Without what differs from machine to machine, or with each version of a metric or prompt."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"\b[0-9a-f]{64}\b", "<digest>", text)
    return re.sub(r'("(?:python|ragguard)": )"[^"]+"', r'\1"<version>"', text)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> SmallRuns:
    made = SmallRuns(tmp_path_factory.mktemp("golden"))
    made.run(config=RUN)
    for outcome, wrong in WRONG.items():
        report = made.run(wrong=wrong, config=RUN, event="workflow_dispatch", baseline_run_id="run-1")
        assert report.head.outcome == outcome
    return made


@pytest.mark.parametrize("name", ["report.md", "report.json", "summary.json"])
@pytest.mark.parametrize("outcome", WRONG)
def test_a_real_runs_reports(runs: SmallRuns, outcome: Outcome, name: str) -> None:
    output = runs.output(f"run-{2 + list(WRONG).index(outcome)}")
    text = (output / name).read_text(encoding="utf-8")
    assert_golden(normalised(text, runs.folder), f"{outcome}.{name}", GOLDEN)


@pytest.mark.parametrize("outcome", WRONG)
def test_the_calls_of_all_tasks_are_the_runs_calls(runs: SmallRuns, outcome: Outcome) -> None:
    output = runs.output(f"run-{2 + list(WRONG).index(outcome)}")
    document = json.loads((output / "report.json").read_text(encoding="utf-8"))
    tasks = {task["task"]: task for task in document["judge_tasks"]}
    assert tasks["reference"]["metrics"] == ["context_recall", "context_precision"]
    assert (tasks["reference"]["shared"], tasks["claims"]["shared"]) == (True, False)
    for count in ("calls", "carried_calls", "look_calls"):
        assert sum(task["usage"][count] for task in tasks.values()) == document["usage"][count]
    assert tasks["reference"]["usage"]["carried_calls"] == 30  # one for each sample, not one for each metric

"""The commands as a person uses them: what they say, write and exit with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ragguard.adapters.renderers import FORMATS
from tests.end_to_end.conftest import Command


def run_id_of(folder: Path, name: str) -> str:
    return str(json.loads((folder / name / "run.json").read_text(encoding="utf-8"))["run_id"])


def test_a_good_run_then_a_bad_one(ragguard: Command, folder: Path) -> None:
    first = ragguard("run", "--answers", "good.jsonl", "--output", "out/good")
    assert first.code == 0
    assert "no baseline yet" in first.out
    second = ragguard("run", "--answers", "bad.jsonl", "--output", "out/bad")
    assert second.code == 1
    assert "FAILED" in second.out
    assert "s000  faithfulness 1.00 -> 0.00  cause: generation" in second.out
    assert "not a faithfulness judge" in second.out
    assert (folder / "out" / "bad" / "report.md").is_file()


def test_help_names_every_command_and_exit_code(ragguard: Command) -> None:
    said = ragguard("--help")
    for word in ("run", "validate", "compare", "report", "explain", "history", "baseline", "schema", "Exit codes"):
        assert word in said.out


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ragguard", "--help"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "click" in imported
    heavy = {
        "litellm",
        "google",
        "boto3",
        "botocore",
        "scipy",
        "numpy",
        "openai",
        "httpx",
        "jinja2",
        "pydantic",
        "obstore",
    }
    assert not imported & heavy


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rnu"], "no command `rnu`; did you mean `run`?"),
        (["run", "--colour"], "No such option"),
        (["run", "--config", "nowhere.yaml"], "nowhere.yaml: no such file"),
        (["run", "--answers", "nowhere.jsonl"], "nowhere.jsonl"),
        (["run", "--dataset", "nowhere.jsonl", "--answers", "good.jsonl"], "nowhere.jsonl"),
        (["run", "--sample-budget", "0"], "--sample-budget"),
        (["run", "--answers", "good.jsonl", "--shard", "5/3"], "5/3"),
        (["run"], "have no recorded answer"),
        (["run", "--answers", "good.jsonl", "--baseline", "no-such-run"], "no-such-run"),
        (["compare", "a.json", "b.json"], "a.json"),
        (["report", "nowhere/run.json"], "nowhere/run.json"),
        (["baseline", "pin", "no-such-run"], "no-such-run"),
        (["explain", "nowhere/run.json", "x"], "nowhere/run.json"),
    ],
)
def test_a_wrong_argument_is_told_without_a_traceback(ragguard: Command, arguments: list[str], message: str) -> None:
    said = ragguard(*arguments)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err


def test_validate_estimates_and_calls_nobody(ragguard: Command) -> None:
    said = ragguard("validate", "--answers", "good.jsonl")
    assert said.code == 0
    assert "30 of 30 samples selected" in said.out
    assert "judge calls: 60" in said.out
    assert "cost: 0 USD" in said.out


def test_validate_names_a_missing_key_and_an_unknown_price(
    ragguard: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    text = (folder / "ragguard.yaml").read_text(encoding="utf-8")
    (folder / "ragguard.yaml").write_text(
        text.replace("model: offline", "model: openai/no-such-model"), encoding="utf-8"
    )
    said = ragguard("validate", "--answers", "good.jsonl")
    assert said.code == 0
    assert "cost: unknown" in said.out
    assert "OPENAI_API_KEY is not set" in said.out


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("{type: python, callable: 'their_app_x:answer'}", "there is no module `their_app_x`"),
        ("{type: command, command: [no-such-program-x]}", "`no-such-program-x` is not found"),
    ],
)
def test_validate_finds_out_that_the_app_is_not_there(ragguard: Command, folder: Path, target: str, says: str) -> None:
    config = folder / "ragguard.yaml"
    text = config.read_text(encoding="utf-8").replace("golden.jsonl}", f"golden.jsonl, target: {target}}}")
    config.write_text(text, encoding="utf-8")
    said = ragguard("validate")
    assert (said.code, says in said.err) == (2, True)
    assert ragguard("validate", "--config-only").code == 0


def test_validate_names_what_the_app_needs_and_does_not_run_it(ragguard: Command, folder: Path) -> None:
    config = folder / "ragguard.yaml"
    target = "{type: command, command: [touch, ran], pass_env: [THEIR_KEY_X]}"
    text = config.read_text(encoding="utf-8").replace("golden.jsonl}", f"golden.jsonl, target: {target}}}")
    config.write_text(text, encoding="utf-8")
    said = ragguard("validate")
    assert said.code == 0
    assert "target: command, not asked yet" in said.out
    assert "missing: the environment variable THEIR_KEY_X is not set" in said.out
    assert not (folder / "ran").exists()


def test_a_latency_that_nobody_measured_says_who_must_bring_it(ragguard: Command, folder: Path) -> None:
    config = folder / "ragguard.yaml"
    text = config.read_text(encoding="utf-8").replace("context_relevance]", "context_relevance, latency, cost]")
    config.write_text(text, encoding="utf-8")
    said = ragguard("run", "--answers", "good.jsonl")
    assert "no answer of 30 samples came with its latency: http and python targets are timed" in said.out
    assert "no answer of 30 samples came with its cost" in said.out
    assert "! WARNED" in said.out


def test_compare_judges_two_saved_runs_offline(ragguard: Command, folder: Path) -> None:
    ragguard("run", "--answers", "good.jsonl", "--output", "good", "--sink", "store-1")
    ragguard("run", "--answers", "bad.jsonl", "--output", "bad", "--sink", "store-2")
    worse = ragguard("compare", "good/run.json", "bad/run.json", "--output", "cmp")
    assert worse.code == 1
    assert "s000" in worse.out
    assert (folder / "cmp" / "report.md").is_file()
    assert "first looks alone" not in worse.out
    ragguard("run", "--answers", "bad.jsonl", "--output", "looked", "--sink", "store-1")
    assert "Compared by the first looks alone" in ragguard("compare", "good/run.json", "looked/run.json").out
    assert ragguard("compare", "good/run.json", "good/run.json").code == 0
    assert ragguard("compare", "good/run.json", "bad/run.json", "--tolerance", "0.5").code == 0


@pytest.mark.parametrize("format_", ["markdown", "json", "html", "junit", "csv", "summary"])
def test_report_renders_a_saved_run_again(ragguard: Command, folder: Path, format_: str) -> None:
    ragguard("run", "--answers", "good.jsonl", "--output", "good")
    said = ragguard("report", "good/run.json", "--format", format_, "--output", f"again.{format_}")
    assert said.code == 0
    assert "faithfulness" in (folder / f"again.{format_}").read_text(encoding="utf-8")


def test_help_of_report_names_every_format(ragguard: Command) -> None:
    said = ragguard("report", "--help").out.replace("\n", " ")
    assert all(f"{name}" in said for name in FORMATS)


def test_report_suggests_the_format_that_is_meant(ragguard: Command) -> None:
    ragguard("run", "--answers", "good.jsonl", "--output", "good")
    said = ragguard("report", "good/run.json", "--format", "markdwn")
    assert (said.code, "did you mean `markdown`?" in said.err) == (2, True)


def test_explain_shows_claims_before_and_after(ragguard: Command) -> None:
    ragguard("run", "--answers", "good.jsonl", "--output", "good")
    ragguard("run", "--answers", "bad.jsonl", "--output", "bad")
    said = ragguard("explain", "bad/run.json", "s001")
    assert said.code == 0
    assert "Học phí khóa 1 là bao nhiêu?" in said.out
    assert "before ✓ supported: Học phí khóa 1 là 101 nghìn đồng." in said.out
    assert "✗ absent: Học phí khóa 1 là 9001 nghìn đồng." in said.out
    assert "judged again" in said.out
    missing = ragguard("explain", "bad/run.json", "s0001")
    assert (missing.code, "did you mean" in missing.err) == (2, True)


def test_a_run_can_be_promoted_pinned_and_rejected(ragguard: Command, folder: Path) -> None:
    ragguard("run", "--answers", "good.jsonl", "--output", "good")
    ragguard("run", "--answers", "bad.jsonl", "--output", "bad")
    good, bad = run_id_of(folder, "good"), run_id_of(folder, "bad")
    assert ragguard("baseline", "promote", bad).code == 0
    shown = ragguard("baseline", "show").out
    assert bad in shown
    assert good not in shown  # an intended change starts the pool anew
    assert ragguard("run", "--answers", "bad.jsonl", "--output", "again").code == 0
    assert ragguard("baseline", "pin", good).code == 0
    assert f"pinned: {good}" in ragguard("baseline", "show").out
    pinned = ragguard("run", "--answers", "bad.jsonl", "--output", "third")
    assert pinned.code == 1
    assert "pinned" in pinned.out
    assert ragguard("baseline", "unpin", good).code == 0
    assert ragguard("baseline", "reject", bad).code == 0
    assert bad not in ragguard("baseline", "show").out.replace(f"pinned: {bad}", "")


def test_recorded_answers_cannot_build_a_pool(ragguard: Command) -> None:
    said = ragguard("baseline", "build", "--answers", "good.jsonl", "--runs", "3")
    assert said.code == 2
    assert "count as one baseline run" in said.err


def test_a_live_target_builds_a_pool(ragguard: Command, folder: Path) -> None:
    (folder / "my_app.py").write_text(
        "import itertools\ncount = itertools.count()\n"
        "def answer(question):\n    return f'{question} The course ' + 'indeed ' * next(count) + 'is open.'\n",
        encoding="utf-8",
    )
    text = (folder / "ragguard.yaml").read_text(encoding="utf-8")
    target = "pipeline: {dataset: golden.jsonl, target: {type: python, callable: 'my_app:answer'}}"
    (folder / "ragguard.yaml").write_text(text.replace("pipeline: {dataset: golden.jsonl}", target), encoding="utf-8")
    assert ragguard("baseline", "build", "--runs", "3", "--quiet").code == 0
    shown = ragguard("baseline", "show").out
    assert "compared with 3 run(s)" in shown


def test_a_run_of_other_questions_is_built_only_with_a_word_and_can_be_promoted(
    ragguard: Command, folder: Path
) -> None:
    assert ragguard("run", "--answers", "good.jsonl", "--output", "first").code == 0
    for name in ("golden.jsonl", "good.jsonl"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace('"id": "', '"id": "new-'), encoding="utf-8")
    said = ragguard("baseline", "build", "--answers", "good.jsonl", "--runs", "1", "--output", "built", "--quiet")
    assert said.code == 3
    assert "are paired" in said.out
    (run_json,) = folder.glob("built/*/run.json")
    assert f"`ragguard baseline promote {run_json.parent.name}` makes it one" in said.out
    assert ragguard("baseline", "promote", run_json.parent.name).code == 0
    following = ragguard("run", "--answers", "good.jsonl", "--output", "next")
    assert following.code == 0
    assert f"PASSED  suite small against {run_json.parent.name}" in following.out


def test_a_run_that_could_not_be_stored_is_pushed_later(ragguard: Command, folder: Path) -> None:
    ragguard("run", "--answers", "good.jsonl", "--output", "good", "--sink", "elsewhere")
    assert "no accepted run" in ragguard("baseline", "show").out
    assert ragguard("baseline", "push", "good/run.json").code == 0
    assert run_id_of(folder, "good") in ragguard("baseline", "show").out
    assert ragguard("baseline", "push", "good/run.json").code == 0


def test_history_as_table_json_and_page(ragguard: Command, folder: Path) -> None:
    assert "no run of suite small is stored yet" in ragguard("history").out
    ragguard("run", "--answers", "good.jsonl", "--output", "good")
    ragguard("run", "--answers", "bad.jsonl", "--output", "bad")
    table = ragguard("history").out
    assert run_id_of(folder, "bad") in table
    assert "█" in table
    runs = ragguard("history", "--json").json["runs"]
    assert isinstance(runs, list)
    assert [run["accepted"] for run in runs] == [True, False]
    assert "wrote history.html" in ragguard("history", "--html", "history.html").err
    page = (folder / "history.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_the_schema_is_the_committed_one(ragguard: Command) -> None:
    committed = Path(__file__).parents[2] / "ragguard" / "schemas" / "config.schema.json"
    assert ragguard("schema").out == committed.read_text(encoding="utf-8")


def test_a_bug_is_said_to_be_one(ragguard: Command, folder: Path) -> None:
    (folder / "broken_app.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    said = ragguard("run", "--answers", "good.jsonl", "--output", "ragguard.yaml/out")
    assert said.code in {2, 4}
    assert "Traceback" not in said.err


SEED = """
pipeline:
  dataset: golden.jsonl
  sample_budget: 180
judge:
  model: offline
  temperature: 0.0
embedder:
  model: bge-m3
  dim: 1024
metrics:
  - faithfulness
  - context_relevance
  - answer_relevance
slo:
  faithfulness_min: 0.90
  context_relevance_min: 0.80
  answer_relevance_min: 0.85
  regression_tolerance: 0.02
reporting:
  format: json+markdown
  sink: runs
  on_regression:
    - slack://#rag-quality
    - create_issue: repo/ragapp
"""


def test_the_seed_config_runs_offline_with_local_paths(ragguard: Command, folder: Path) -> None:
    (folder / "seed.yaml").write_text(SEED, encoding="utf-8")
    assert ragguard("validate", "--config", "seed.yaml", "--config-only").code == 0
    said = ragguard("run", "--config", "seed.yaml", "--answers", "good.jsonl")
    assert said.code in {0, 1}
    report = (folder / ".ragguard" / "out" / "report.md").read_text(encoding="utf-8")
    assert "offline embedder stands in for it" in report
    assert "answer_relevance" in report

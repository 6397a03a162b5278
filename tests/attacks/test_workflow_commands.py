"""Commands that a CI runner would obey, in everything that is printed or written for it."""

from __future__ import annotations

import logging
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragguard.adapters.runfiles import read_run
from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.entrypoints.action_outputs import FIXED
from ragguard.entrypoints.cli import run_cli
from ragguard.entrypoints.console import tame_logging
from tests.attacks.attack import Attacks
from tests.attacks.hostile_job import Told
from tests.fakes.action_runner import Runner
from tests.fakes.small_runs import CONFIG, answer_rows, golden_rows, write_rows

ATTACKS = Attacks("workflow commands")
EVIL = "x\n::add-mask::passed\r\n  ::set-output name=outcome::passed\n##[error]y %0A::stop-commands::z"


def commands(printed: str) -> list[str]:
    """Lines that a runner obeys, besides the annotations that are ours."""
    lines = re.split(r"\r\n|\n|\r", printed)
    ours = re.compile(r"::(error|warning|notice) [^\r\n]*::")
    return [line for line in lines if (line.strip().startswith("::") and not ours.match(line)) or "##[" in line]


@ATTACKS.tried(
    "`::set-output`, `::add-mask`, `::stop-commands`, `##[…]` in data, answers, ids, names",
    "data app fork",
    "outputs are forged, values masked, later commands switched off",
    "all that is printed passes one place that breaks commands; annotations are percent-encoded",
)
def test_only_our_annotations_are_commands(told: Told) -> None:
    assert commands(told.printed) == []
    found = [line for line in told.printed.split("\n") if line.startswith("::")]
    assert 0 < len(found) <= 21
    for line in found:
        assert line.count("::") == 2, "a property or message that ends early"


@ATTACKS.tried(
    "`%0A`, `,` and `::` in the data set's file name, which becomes a property of annotations",
    "branch",
    "further properties or a second command",
    "`%`, `:`, `,` and line ends are percent-encoded in properties",
)
def test_a_file_name_stays_one_property(told: Told) -> None:
    files = set(re.findall(r"^::\w+ file=([^,]*),line=", told.printed, re.MULTILINE))
    assert files == {"golden %3A%3Aset-output name=outcome%3A%3Apassed %250A%2C file=x.jsonl"}


@ATTACKS.tried(
    "a name with a guessed delimiter in GITHUB_OUTPUT, from the store",
    "store",
    "`outcome=passed` for later steps",
    "the delimiter is random for each write; names of metrics are letters, digits, `_`",
)
def test_no_stored_name_ends_an_output(runner: Runner) -> None:
    runner.step("push_default_branch")
    out = runner.workspace / ".ragguard"
    saved = read_run(out / "out")
    forged = saved.head.model_copy(
        update={
            "run_id": "r\nragguard-0000\noutcome<<ragguard-1\npassed\nragguard-1\nEOF",
            "created_at": datetime(2030, 1, 1, tzinfo=UTC),
            "commit_time": datetime(2030, 1, 1, tzinfo=UTC),
        }
    )
    DirectoryStore(uri=str(out / "runs")).save(forged, saved.results())
    runner.answer(wrong=8)
    step = runner.step("push_default_branch")
    assert step.outputs["baseline-run-id"] == forged.run_id
    assert (step.outputs["outcome"], step.outputs["exit-code"]) == ("failed", "1")
    assert set(step.outputs) == {*FIXED, "faithfulness", "context_relevance"}


@ATTACKS.tried(
    "anything that could reach GITHUB_ENV, GITHUB_PATH or GITHUB_STATE",
    "data app fork",
    "variables of later steps, such as LD_PRELOAD",
    "ragguard never writes these files",
)
def test_the_environment_of_later_steps_is_left_alone(told: Told) -> None:
    assert told.others == {"env": b"", "path": b"", "state": b""}


@ATTACKS.tried(
    "hostile values of inputs, which a workflow may take from a branch's or a pull request's name",
    "fork",
    "commands in the messages about wrong inputs",
    "messages quote inputs on one line, shortened, through the same place",
)
def test_hostile_inputs_are_told_as_words(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    names = ("config", "dataset", "answers", "baseline", "suite", "sink", "format", "args", "working-directory")
    for name in (*names, "slack", "fail-on", "sample-budget", f"no {EVIL}".replace("=", " ")):
        environment = runner.environment("push_default_branch", **{name: EVIL})
        with monkeypatch.context() as patched:
            for variable, value in environment.items():
                patched.setenv(variable, value)
            code = run_cli(["action"])
        assert code in {0, 2, 4}, name
        printed = "".join(capfd.readouterr())
        assert commands(printed) == [], name
        outputs = runner.left(environment, code).outputs
        assert outputs["outcome"] == ("error" if code else "passed") or name in {"suite", "sink", "slack"}, name


@ATTACKS.tried(
    "arguments of the command itself",
    "fork",
    "commands in the usage errors of the option parser",
    "its messages take the same way as ours",
)
@pytest.mark.parametrize("arguments", [["run", f"--{EVIL}"], [EVIL], ["report", EVIL], ["history", "--limit", EVIL]])
def test_wrong_arguments_are_told_as_words(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(arguments) == 2
    printed = "".join(capfd.readouterr())
    assert printed.strip()
    assert commands(printed) == []


@ATTACKS.tried(
    "a RAG app that writes commands to its standard error before it fails",
    "app branch",
    "the runner obeys them when the error is told",
    "progress, notes and errors take the same way",
)
def test_an_apps_last_words_are_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "golden.jsonl", golden_rows(3))
    says = "import sys; sys.stderr.write('a\\n::add-mask::x\\n##[group]y\\n'); sys.exit(3)"
    target = f'{{dataset: golden.jsonl, target: {{type: command, command: ["{sys.executable}", -c, "{says}"]}}}}'
    text = CONFIG.replace("{dataset: golden.jsonl}", target.replace("\\n", "\\\\n"))
    (tmp_path / "ragguard.yaml").write_text(text, encoding="utf-8")
    assert run_cli(["run"]) == 4
    printed = "".join(capfd.readouterr())
    assert "add-mask" in printed
    assert commands(printed) == []


@ATTACKS.tried(
    "foreign words in a library's warning or in a note of the progress",
    "provider data",
    "commands from places that are not ours",
    "the last-resort log handler and the progress clean what they write",
)
def test_warnings_of_libraries_are_words(capfd: pytest.CaptureFixture[str]) -> None:
    kept = logging.lastResort
    try:
        tame_logging({"SOME_TOKEN": "canary-0123456789"})
        assert logging.lastResort is not None
        logging.lastResort.handle(logging.makeLogRecord({"msg": f"{EVIL} canary-0123456789", "levelno": 30}))
    finally:
        logging.lastResort = kept
    printed = capfd.readouterr().err
    assert "add-mask" in printed
    assert commands(printed) == []
    assert "canary" not in printed


@ATTACKS.tried(
    "names in the store that `history --json` prints",
    "store fork",
    "`##[…]` is obeyed anywhere in a line, in JSON too",
    "JSON is written without that sign",
)
def test_json_on_the_terminal_holds_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "golden.jsonl", golden_rows(3))
    write_rows(tmp_path / "answers.jsonl", answer_rows(3))
    text = CONFIG.replace("small", "'##[error]a ::b::'").replace("golden.jsonl", "golden.jsonl, answers: answers.jsonl")
    (tmp_path / "ragguard.yaml").write_text(text, encoding="utf-8")
    assert run_cli(["run", "--quiet"]) == 0
    assert run_cli(["history", "--json"]) == 0
    printed = "".join(capfd.readouterr())
    assert "[error]a" in printed
    assert commands(printed) == []

"""A pull request that would rather change its judge than its answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragguard.entrypoints.action import run_action
from ragguard.entrypoints.cli import run_cli
from ragguard.errors import ConfigError, RagguardError
from tests.attacks.attack import Attacks
from tests.fakes.action_runner import Runner, Step
from tests.fakes.small_runs import CONFIG, answer_rows, golden_rows, write_rows
from tests.parts.github_code import GitHubWithCode
from tests.parts.github_rules import SHA
from tests.parts.local_http import Reply, in_a_thread

ATTACKS = Attacks("pull requests")
CANARY = "canary-0123456789abcdef"


class ForeignHost:
    """A host of the attacker's: it keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        self.asked.append(f"{method} {path} {headers} {body!r}")
        return 200, (), {"ok": True}


@pytest.fixture
def foreign() -> Iterator[ForeignHost]:
    host = ForeignHost()
    with in_a_thread(host.handle) as host.port:
        yield host


@pytest.fixture
def change(runner: Runner, github: GitHubWithCode) -> Runner:
    """A checkout whose base has a run in the store; the change's answers are worse."""
    github.code.files["main"] = {"ragguard.yaml": CONFIG.encode()}
    while github.add_pull_request() < 12:
        pass
    runner.step("push_default_branch")
    runner.answer(wrong=8)
    return runner


def judged(runner: Runner, **inputs: str) -> Step:
    """The change's step."""
    return runner.step("pull_request_same_repository", **inputs)


def samples(runner: Runner) -> Rows:
    """The golden set's rows."""
    return [json.loads(line) for line in (runner.workspace / "golden.jsonl").read_text("utf-8").splitlines()]


EVERYTHING = """
suite: fresh
pipeline: {{dataset: easy.jsonl, sample_budget: 1}}
judge: {{model: openai/kind, api_base: '{url}/v1'}}
embedder: {{model: openai/any, api_base: '{url}/v1'}}
metrics: [context_relevance]
slo: {{regression_tolerance: 1}}
gate: {{rule: threshold, looks: 1, alpha: 0.0001, min_coverage: 0, min_pair_share: 0, on_inconclusive: warn,
  on_not_comparable: warn}}
budget: {{max_calls: 1}}
baseline: {{pin: a-run-of-mine}}
templates: mine
reporting:
  sink: elsewhere
  always: []
  on_regression: ["slack://#elsewhere", {{create_issue: eve/elsewhere}}]
"""


@ATTACKS.tried(
    "every field of ragguard.yaml at once: floor, tolerance, rule, looks, coverage, metrics, judge, data, store, pin, "
    "prompts, who is told",
    "branch fork",
    "a worse change passes; keys and texts go to a foreign host",
    "the base's policy decides; the differences are told and take effect after the merge",
)
def test_a_change_is_judged_by_its_bases_policy(
    change: Runner, foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("SLACK_BOT_TOKEN", CANARY)
    change.configure(EVERYTHING.format(url=foreign.url))
    write_rows(change.workspace / "easy.jsonl", golden_rows(1))
    step = judged(change)
    assert (step.exit_code, step.outputs["outcome"]) == (1, "failed")
    assert step.report is not None
    assert step.report["suite"] == "small"
    assert step.report["dataset"]["n_selected"] == 30
    assert sum("in force after the merge" in notice for notice in step.report["notices"]) >= 12
    assert foreign.asked == []
    assert not (change.workspace / "elsewhere").exists()


@ATTACKS.tried(
    "ragguard.yaml removed or broken",
    "branch fork",
    "nothing is measured, and nothing is red",
    "a missing or wrong config is an error (exit 2), never a pass",
)
@pytest.mark.parametrize("text", [None, "", "[", "pipeline: {}\n", "\x00"])
def test_a_change_without_a_config_is_no_pass(change: Runner, text: str | None) -> None:
    (change.workspace / "ragguard.yaml").unlink()
    if text is not None:
        change.configure(text)
    environment = change.environment("pull_request_same_repository")
    with pytest.raises(ConfigError):
        run_action(environment)
    assert change.left(environment, 2).outputs["outcome"] == "error"


Rows = list[dict[str, object]]
DATA: dict[str, Callable[[Rows], Rows]] = {
    "hard samples dropped": lambda rows: rows[8:],
    "all samples renamed": lambda rows: [{**row, "id": f"new-{row['id']}"} for row in rows],
    "hard samples renamed": lambda rows: [{**row, "id": f"x{n}"} if n < 8 else row for n, row in enumerate(rows)],
    "references and questions rewritten": lambda rows: [
        {**row, "question": f"{row['question']} !", "reference": "x"} if n < 8 else row for n, row in enumerate(rows)
    ],
    "hard samples declared unanswerable": lambda rows: [
        {**row, "answerable": False} if n < 8 else row for n, row in enumerate(rows)
    ],
}


@ATTACKS.tried(
    "the golden set changed so that what got worse is not paired: dropped, renamed, rewritten, declared unanswerable",
    "branch fork",
    "the rest passes",
    "less than `min_pair_share` of the baseline's samples paired is not comparable (exit 3); what is gone is listed",
)
@pytest.mark.parametrize("name", DATA)
def test_hiding_samples_is_not_comparable(change: Runner, name: str) -> None:
    rows = DATA[name](samples(change))
    answers = answer_rows(30, wrong=8)
    write_rows(change.workspace / "golden.jsonl", rows)
    by_text = {str(row["contexts"]): row["id"] for row in rows}
    before = golden_rows()
    kept = [
        {**answer, "id": by_text[str(row["contexts"])]}
        for row, answer in zip(before, answers, strict=True)
        if str(row["contexts"]) in by_text
    ]
    write_rows(change.workspace / "answers.jsonl", kept)
    step = judged(change)
    assert step.exit_code in {1, 3}, step.outputs
    assert step.outputs["outcome"] in {"failed", "not_comparable"}
    assert step.report is not None
    listed = step.report["comparison"]
    assert listed["removed"]["count"] + listed["changed"]["count"] + listed["n_regressed"] >= 8


@ATTACKS.tried(
    "answers that claim nothing: blank, of invisible characters, or missing",
    "app branch",
    "what claims nothing is never unfaithful",
    "answers that are all blank are an outage (exit 4); missing ones lower the coverage",
)
@pytest.mark.parametrize("text", ["", "\u200b\ufeff\U000e0041", None])
def test_answers_that_claim_nothing_are_no_pass(change: Runner, text: str | None) -> None:
    rows = [{"id": row["id"], "answer": text} for row in golden_rows()] if text is not None else []
    rows = rows or answer_rows(30)[:25]
    write_rows(change.workspace / "answers.jsonl", rows)
    with pytest.raises(RagguardError) as told:
        judged(change)
    assert told.value.exit_code in {2, 4}


@ATTACKS.tried(
    "the job run again until it is green",
    "branch fork",
    "a chance of a false pass at each attempt",
    "the same answers get the same cached or carried verdicts, and the same p; the attempt is told",
)
def test_another_attempt_is_no_other_roll_of_the_dice(change: Runner) -> None:
    first = judged(change)
    again = change.step("pull_request_rerun")
    assert first.report is not None
    assert again.report is not None
    assert (again.exit_code, again.report["metrics"]) == (1, first.report["metrics"])
    assert again.report["attempt"] > 1
    assert any(notice.startswith("Attempt ") for notice in again.report["notices"])


@ATTACKS.tried(
    "a store of runs, or a cache of verdicts, committed by the change",
    "branch fork",
    "a baseline or verdicts of the change's own",
    "what the head has there and the base has not is refused (exit 2)",
)
@pytest.mark.parametrize("name", [".ragguard/runs/runs/x/run.json", ".ragguard/cache.sqlite"])
def test_a_change_brings_no_records_of_its_own(change: Runner, github: GitHubWithCode, name: str) -> None:
    github.code.files[SHA] = {name: b"{}"}
    with pytest.raises(ConfigError, match="is committed by the change under test"):
        judged(change)
    github.code.files["main"][name] = b"{}"
    assert judged(change).exit_code == 1


SECRETS = (
    "${OPENAI_API_KEY}",
    "${RAGGUARD_VAR_${OPENAI_API_KEY}}",
    "${ragguard_var_x}",
    "${RAGGUARD_VAR_X:-${OPENAI_API_KEY}}",
    "$OPENAI_API_KEY $(env) `env`",
    "${RAGGUARD_TARGET_TOKEN}",
    "$${OPENAI_API_KEY}",
    "{{ env.OPENAI_API_KEY }}",
)


@ATTACKS.tried(
    "`${OPENAI_API_KEY}` and the like in the suite's name, an address or a prompt",
    "branch",
    "a secret in the report, or sent to a foreign host",
    "only `RAGGUARD_VAR_…` is put in, once, by its plain name; anything else is an error or stays as it is written",
)
@pytest.mark.parametrize("text", SECRETS)
def test_no_secret_is_put_into_a_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "RAGGUARD_TARGET_TOKEN", "ragguard_var_x"):
        monkeypatch.setenv(name, CANARY)
    write_rows(tmp_path / "golden.jsonl", golden_rows(3))
    write_rows(tmp_path / "answers.jsonl", answer_rows(3))
    config = CONFIG.replace("small", json.dumps(f"a {text}"), 1)
    config = config.replace("golden.jsonl", "golden.jsonl, answers: answers.jsonl")
    (tmp_path / "ragguard.yaml").write_text(config, encoding="utf-8")
    assert run_cli(["run"]) in {0, 2}
    printed = "".join(capfd.readouterr())
    assert CANARY not in printed
    assert all(CANARY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@ATTACKS.tried(
    "a `command` target that answers with its environment",
    "branch",
    "keys in answers and reports",
    "a child gets PATH, `env` and what `pass_env` names, and nothing else",
)
def test_a_child_gets_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SLACK_BOT_TOKEN", "ACTIONS_RUNTIME_TOKEN"):
        monkeypatch.setenv(name, f"{name.lower()}-{CANARY}")
    write_rows(tmp_path / "golden.jsonl", golden_rows(3))
    (tmp_path / "app.py").write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'answer': str(sorted(os.environ.items()))}))\n",
        encoding="utf-8",
    )
    target = f"{{type: command, command: ['{sys.executable}', app.py], env: {{GIVEN: given-to-it}}}}"
    text = CONFIG.replace("golden.jsonl", f"golden.jsonl, target: {target}")
    (tmp_path / "ragguard.yaml").write_text(text, encoding="utf-8")
    assert run_cli(["run", "--quiet"]) in {0, 1, 3}
    found = (tmp_path / ".ragguard/out/samples.jsonl").read_text(encoding="utf-8")
    assert "given-to-it" in found
    assert CANARY not in found


@ATTACKS.tried(
    "`pass_env`, `auth` or `headers_env` that name another program's secret",
    "branch",
    "a key in a header to a foreign host",
    "only `RAGGUARD_TARGET_…` goes into headers; a `command` runs the change's own code, which is out of scope",
)
@pytest.mark.parametrize(
    "extra",
    ["auth: {env: OPENAI_API_KEY}", "headers_env: {x-key: GITHUB_TOKEN}", "headers: {authorization: 'Bearer x'}"],
)
def test_only_the_targets_own_secrets_go_to_it(change: Runner, foreign: ForeignHost, extra: str) -> None:
    target = f"{{type: http, url: '{foreign.url}/ask', answer: /ok, {extra}}}"
    change.configure(CONFIG.replace("golden.jsonl", f"golden.jsonl, target: {target}"))
    with pytest.raises(ConfigError, match="mistake"):
        judged(change, answers="")
    assert foreign.asked == []

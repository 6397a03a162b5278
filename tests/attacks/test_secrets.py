"""Canary keys in the environment of whole runs, and servers that send back what they were sent."""

from __future__ import annotations

import json
import pickle
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragguard.adapters.embedders.litellm import LiteLLMEmbedder
from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.adapters.notifiers.base import Secrets
from ragguard.adapters.targets.http import HttpTarget
from ragguard.entrypoints.cli import run_cli
from tests.attacks.attack import Attacks
from tests.fakes.small_runs import CONFIG, answer_rows, golden_rows, write_rows
from tests.parts.local_http import Reply, in_a_thread

ATTACKS = Attacks("secrets")
CANARY = "canary7"
NAMES = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "RAGGUARD_TARGET_TOKEN",
    "SLACK_BOT_TOKEN",
    "GITHUB_TOKEN",
    "RAGGUARD_ISSUE_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "HF_TOKEN",
    "DATABASE_PASSWORD",
)


class Echo:
    """Answers every request with its own headers and body, in the status that is wanted."""

    def __init__(self) -> None:
        self.status = 400
        self.asked = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        self.asked += 1
        said = f"{method} {path} {headers} {body.decode('utf-8', 'replace')[:500]}"
        if path.endswith("/chat/completions") and self.status == 200:
            message = {"role": "assistant", "content": said}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            return 200, (), {"id": "x", "object": "chat.completion", "created": 1, "model": said, "choices": [choice],
                             "usage": usage}  # fmt: skip
        error = {"message": said, "type": said, "code": said, "param": None}
        return self.status, (), {"error": error, "message": said, "ok": False}


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    with in_a_thread(server.handle) as server.port:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echo: Echo) -> Path:
    """A working folder, with canaries in the environment and all services at the echo."""
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        monkeypatch.setenv(name, f"{CANARY}{name.lower().replace('_', '')}0123456789")
    monkeypatch.setenv("SLACK_WEBHOOK_URL", f"{echo.url}/services/{CANARY}webhook0123456789")
    monkeypatch.setenv("SLACK_API_URL", f"{echo.url}/api/")
    monkeypatch.setenv("GITHUB_API_URL", echo.url)
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/tutor")
    monkeypatch.setenv("CI", "true")
    write_rows(tmp_path / "golden.jsonl", golden_rows(2))
    write_rows(tmp_path / "answers.jsonl", answer_rows(2))
    return tmp_path


def configured(folder: Path, old: str = "", new: str = "", more: str = "") -> None:
    """Writes a config with recorded answers."""
    text = CONFIG.replace("golden.jsonl", "golden.jsonl, answers: answers.jsonl").replace(old, new, 1)
    assert new in text
    (folder / "ragguard.yaml").write_text(text + more, encoding="utf-8")


def leaks(folder: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Where a canary is: in what was printed, and in which files; SQLite's are looked through by rows too."""
    found = [f"printed: {line}" for line in "".join(capfd.readouterr()).splitlines() if CANARY in line]
    for path in folder.rglob("*"):
        if path.is_file() and CANARY.encode() in path.read_bytes():
            found.append(str(path.relative_to(folder)))
        if path.suffix == ".sqlite":
            with sqlite3.connect(path) as db:
                found += [f"row: {row}" for row in db.execute("SELECT * FROM judgments") if CANARY in str(row)]
            db.close()
    return found


@ATTACKS.tried(
    "a judge's server that quotes the Authorization header, in errors and in replies",
    "provider",
    "the key in logs, reports, run.json, caches",
    "foreign words are cleaned of keys where they come in, and once more where they are told",
)
@pytest.mark.parametrize("status", [401, 400, 500, 200])
def test_no_key_of_the_judge_is_told(folder: Path, echo: Echo, capfd: pytest.CaptureFixture[str], status: int) -> None:
    echo.status = status
    judge = f"model: openai/judge, api_base: '{echo.url}/v1', call_deadline: 1, timeout: 1, concurrency: 1"
    configured(folder, "model: offline", judge, "reporting: {format: json+markdown+html+junit+csv}\n")
    assert run_cli(["run"]) == 4
    assert echo.asked
    assert leaks(folder, capfd) == []


@ATTACKS.tried(
    "an embedder's server that does",
    "provider",
    "the key in logs and reports",
    "as for the judge",
)
def test_no_key_of_the_embedder_is_told(folder: Path, echo: Echo, capfd: pytest.CaptureFixture[str]) -> None:
    embedder = f"{{model: openai/any, api_base: '{echo.url}/v1', attempts: 1, timeout: 1}}"
    configured(folder, "{type: offline, backend: ngrams}", embedder)
    text = (folder / "ragguard.yaml").read_text(encoding="utf-8")
    (folder / "ragguard.yaml").write_text(text.replace("context_relevance", "answer_relevance"), encoding="utf-8")
    assert run_cli(["run"]) == 4
    assert echo.asked
    assert leaks(folder, capfd) == []


@ATTACKS.tried(
    "a RAG app that sends its token back, in errors and in answers",
    "app",
    "the token in answers, reports, stored runs",
    "the target's own secrets are blotted out of its errors; a reply that holds one is refused",
)
@pytest.mark.parametrize("status", [401, 500, 200])
def test_no_token_of_the_target_is_told(
    folder: Path, echo: Echo, capfd: pytest.CaptureFixture[str], status: int
) -> None:
    echo.status = status
    target = f"type: http, url: '{echo.url}/ask', answer: /message, retries: 0, auth: {{env: RAGGUARD_TARGET_TOKEN}}"
    configured(folder, "answers: answers.jsonl", f"target: {{{target}}}")
    assert run_cli(["run"]) in {0, 3, 4}
    assert echo.asked
    assert leaks(folder, capfd) == []


@ATTACKS.tried(
    "a Slack or GitHub that quotes the token it was sent",
    "provider",
    "the token in `deliveries` of report.json and in the log",
    "what a delivery says is cleaned of all secrets of the environment",
)
def test_no_token_of_a_channel_is_told(folder: Path, echo: Echo, capfd: pytest.CaptureFixture[str]) -> None:
    told = "{type: slack, channel: '#x'}, slack-webhook, {type: github-issue, repository: acme/tutor}"
    configured(folder, more=f"slo: {{faithfulness_min: 1.0}}\nreporting: {{on_regression: [{told}]}}\n")
    text = (folder / "ragguard.yaml").read_text(encoding="utf-8").replace("slo: {regression_tolerance: 0.02}\n", "", 1)
    (folder / "ragguard.yaml").write_text(text, encoding="utf-8")
    write_rows(folder / "answers.jsonl", answer_rows(2, wrong=2))
    assert run_cli(["run", "--notify"]) in {1, 3}
    assert echo.asked
    deliveries = json.loads((folder / ".ragguard/out/report.json").read_bytes())["deliveries"]
    assert [sent["ok"] for sent in deliveries if sent["notifier"] != "job-summary"] == [False] * 3
    assert leaks(folder, capfd) == []


CODE = """
import os
from ragguard import Metric

class Broken(Metric):
    type: str = "broken"
    @property
    def id(self): return "broken"
    async def score(self, sample, answer, tools):
        raise {error}(str(sorted(os.environ.items())))
"""


@ATTACKS.tried(
    "an own metric, an app's function or a bug that raises with the whole environment in its words",
    "branch app",
    "keys in failures, in the crash's message (exit 70) and its traceback",
    "whatever is printed is cleaned of the environment's secrets, tracebacks too",
)
@pytest.mark.parametrize("debug", ["", "1"])
@pytest.mark.parametrize("kind", ["metric", "import", "target", "crash"])
def test_no_traceback_tells_a_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], kind: str, debug: str
) -> None:
    monkeypatch.setenv("RAGGUARD_DEBUG", debug)
    name = f"own_{kind}{debug}"
    raising = "raise RuntimeError(str(sorted(os.environ.items())))\n"
    if kind == "metric":
        (folder / f"{name}.py").write_text(CODE.format(error="ValueError"), encoding="utf-8")
        configured(folder, "context_relevance", f"'{name}:Broken'")
    elif kind == "import":
        (folder / f"{name}.py").write_text(f"import os\n{raising}", encoding="utf-8")
        configured(folder, "context_relevance", f"'{name}:Broken'")
    elif kind == "target":
        (folder / f"{name}.py").write_text(f"import os\ndef ask(question):\n    {raising}", encoding="utf-8")
        configured(folder, "answers: answers.jsonl", f"target: {{type: python, callable: '{name}:ask'}}")
    else:
        import ragguard.entrypoints.commands.schema as command

        def crash(*_: object, **__: object) -> None:
            import os

            raise ZeroDivisionError(str(sorted(os.environ.items())))

        monkeypatch.setattr(command.schema, "callback", crash)
        assert run_cli(["schema"]) == 70
        assert leaks(folder, capfd) == []
        return
    assert run_cli(["run"]) in {0, 1, 2, 3, 4}
    sys.modules.pop(name, None)
    (folder / f"{name}.py").unlink()
    assert leaks(folder, capfd) == []


@ATTACKS.tried(
    "help, schema, validate, a dry run, a wrong option",
    "branch",
    "keys in a log that everybody reads",
    "settings name variables, never their values",
)
def test_no_command_tells_a_key(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    target = "{type: http, url: 'https://app.example/ask', answer: /a, auth: {env: RAGGUARD_TARGET_TOKEN}}"
    configured(folder, "answers: answers.jsonl", f"target: {target}")
    for arguments in (["--help"], ["run", "--help"], ["schema"], ["validate"], ["run", "--dry-run"], ["run", "--x"]):
        run_cli(arguments)
    assert leaks(folder, capfd) == []


@ATTACKS.tried(
    "settings that are shown, dumped or sent to a cluster",
    "store branch",
    "keys in a repr, a stored config or a pickled task",
    "keys are read from the environment when they are needed; what must be kept is a secret that does not show",
)
def test_no_object_shows_a_key(folder: Path) -> None:
    import os

    key = os.environ["RAGGUARD_TARGET_TOKEN"]
    target = HttpTarget.model_validate(
        {"url": "https://app.example/ask", "answer": "/a", "auth": {"env": "RAGGUARD_TARGET_TOKEN"}}
    ).with_environment(os.environ)
    judge, embedder = LiteLLMJudge(model="openai/x"), LiteLLMEmbedder(model="openai/x")
    secrets = Secrets.of_environment(os.environ)
    assert secrets.github_token is not None
    for shown in (repr(target), target.model_dump_json(), repr(judge), repr(embedder), repr(secrets.github_token)):
        assert CANARY not in shown
    for settings in (judge, embedder):
        assert CANARY.encode() not in pickle.dumps(settings)
    assert key.startswith(CANARY)


@ATTACKS.tried(
    "a `.env` in the checkout that sets the address of the provider",
    "branch fork",
    "the key goes to a foreign host",
    "no `.env` is read, by us or by LiteLLM",
)
def test_no_env_file_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from ragguard.adapters.litellm_clients import litellm_module

    litellm_module()
    assert os.environ["LITELLM_MODE"] == "PRODUCTION"

"""The action as a process of its own that is told to stop: the check is closed, what was judged is kept, in time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.action_runner import Runner
from tests.fakes.small_runs import CONFIG
from tests.parts.github_code import GitHubWithCode

_UNTIL = 40
_KILLED_AFTER = 7.0
"""Seconds after which GitHub asks less politely; the rest is the test's own patience."""

SLOW = """
import json, sys, time
for number, line in enumerate(sys.stdin):
    if number == 3:
        time.sleep(600)
    print(json.dumps({"id": json.loads(line)["id"], "answer": "x"}), flush=True)
"""


@pytest.mark.parametrize("order", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_step_closes_its_check_and_says_so(
    runner: Runner, github: GitHubWithCode, order: signal.Signals
) -> None:
    (runner.workspace / "slow.py").write_text(SLOW, encoding="utf-8")
    target = f"{{dataset: golden.jsonl, target: {{type: command, command: ['{sys.executable}', slow.py]}}}}"
    text = CONFIG.replace("{dataset: golden.jsonl}", target)
    runner.configure(text)
    github.code.files["main"] = {"ragguard.yaml": text.encode()}
    environment = {"PATH": os.environ["PATH"], **runner.environment("pull_request_same_repository", answers="")}
    program = "from ragguard.entrypoints.cli import main; main(['action'])"
    process = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    checks = github.repositories["acme/tutor"].checks
    deadline = time.monotonic() + _UNTIL
    while not checks and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [check["status"] for check in checks] == ["in_progress"], process.communicate()
    process.send_signal(order)
    out, err = process.communicate(timeout=_KILLED_AFTER + _UNTIL)
    assert process.returncode == 130, (out, err)
    assert [(check["status"], check.get("conclusion")) for check in checks] == [("completed", "cancelled")]
    outputs = runner.left(environment, 130).outputs
    assert (outputs["outcome"], outputs["exit-code"]) == ("error", "130")

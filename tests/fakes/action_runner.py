"""A step of a workflow as the runner starts it: a checkout, the event's payload, the variables, the files it reads."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragguard.entrypoints.action import run_action
from tests.fakes.small_runs import CONFIG, answer_rows, golden_rows, write_rows

PAYLOADS = Path(__file__).parents[1] / "payloads"


@dataclass
class Step:
    """What a step left behind."""

    exit_code: int
    outputs: dict[str, str]
    summary: str
    report: dict[str, Any] | None


class Runner:
    """Runs steps in one checkout, which holds a small golden set and its answers."""

    def __init__(self, folder: Path, api: str = "http://127.0.0.1:9") -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.files = folder / "file_commands"
        self.files.mkdir()
        self.api = api
        self.count = 0
        write_rows(self.workspace / "golden.jsonl", golden_rows())
        self.answer()
        self.configure(CONFIG)

    def configure(self, text: str) -> None:
        """Writes the checkout's ragguard.yaml."""
        (self.workspace / "ragguard.yaml").write_text(text, encoding="utf-8")

    def answer(self, wrong: int = 0) -> None:
        """Writes the answers, so many of them wrong."""
        write_rows(self.workspace / "answers.jsonl", answer_rows(wrong=wrong))

    def environment(self, event: str, **inputs: str) -> dict[str, str]:
        """The variables of a step on one of the payloads of tests/payloads."""
        self.count += 1
        case = json.loads((PAYLOADS / f"{event}.json").read_text(encoding="utf-8"))
        payload = self.files / f"event-{self.count}.json"
        payload.write_text(json.dumps(case["payload"]), encoding="utf-8")
        for name in ("output", "summary"):
            (self.files / f"{name}-{self.count}").touch()
        given = {"github-token": "token", "answers": "answers.jsonl", **inputs}
        return {
            **case["environment"],
            "GITHUB_RUN_ID": str(9000 + self.count),
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(self.files / f"output-{self.count}"),
            "GITHUB_STEP_SUMMARY": str(self.files / f"summary-{self.count}"),
            "GITHUB_API_URL": self.api,
            **{f"INPUT_{name.replace('_', '-').upper()}": value for name, value in given.items()},
        }

    def step(self, event: str, **inputs: str) -> Step:
        """Runs a step; what it raises, the caller sees."""
        environment = self.environment(event, **inputs)
        return self.left(environment, run_action(environment))

    def left(self, environment: dict[str, str], exit_code: int) -> Step:
        """What a step left behind."""
        summary = Path(environment["GITHUB_STEP_SUMMARY"])
        outputs = read_outputs(Path(environment["GITHUB_OUTPUT"]))
        report = self.workspace / outputs["report-json"] if outputs.get("report-json") else None
        return Step(
            exit_code,
            outputs,
            summary.read_text(encoding="utf-8") if summary.exists() else "",
            json.loads(report.read_bytes()) if report else None,
        )


def read_outputs(path: Path) -> dict[str, str]:
    """Reads a file of outputs as the runner does; the last of a name counts."""
    text = path.read_text(encoding="utf-8")
    return {found[1]: found[3] for found in re.finditer(r"(?ms)^([^\n<]+)<<([^\n]+)\n(.*?)\n\2$", text)}

"""What the action gives to later steps: outputs in the runner's form, and files that belong to the runner's user."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragguard.core.report import Report

FIXED = (
    "outcome",
    "exit-code",
    "run-id",
    "baseline-run-id",
    "report-markdown",
    "report-json",
    "report-html",
    "cost-usd",
    "metrics",
)
"""The outputs that every run has, empty where unknown; besides them there is one for each metric."""
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_FILES = {"report-markdown": ("markdown", "report.md"), "report-json": ("json", "report.json"),
          "report-html": ("html", "report.html")}  # fmt: skip


def output_name(metric: str) -> str:
    """The output of a metric: `ndcg_at_10`, `latency_at_p95`, `audit_citation_accuracy`."""
    return _NOT_IN_A_NAME.sub("_", metric.replace("@", "_at_"))


def report_outputs(report: Report, folder: Path, formats: Sequence[str]) -> dict[str, str]:
    """The outputs of a run.

    Args:
        report: The run.
        folder: Where its files are, as the host of the runner names it: from the checkout's root.
        formats: The files that were written.
    """
    head = report.head
    cost = head.usage.cost_usd
    means = {name: metric.mean for name, metric in head.metrics.items()}
    files = {
        output: (folder / name).as_posix() if format_ in formats else ""
        for output, (format_, name) in _FILES.items()
    }  # fmt: skip
    return {
        **{output_name(name): "" if mean is None else repr(mean) for name, mean in means.items()},
        **files,
        "outcome": head.outcome,
        "exit-code": str(int(report.exit_code)),
        "run-id": head.run_id,
        "baseline-run-id": report.baseline_run_id or "",
        "cost-usd": "" if cost is None else repr(cost),
        "metrics": json.dumps(means, ensure_ascii=True, allow_nan=False),
    }


def error_outputs(exit_code: int) -> dict[str, str]:
    """The outputs of a step that ended without a report."""
    return {**dict.fromkeys(FIXED, ""), "outcome": "error", "exit-code": str(int(exit_code)), "metrics": "{}"}


def output_lines(outputs: Mapping[str, str], delimiter: str) -> str:
    """Outputs as the runner reads them.

    Args:
        outputs: By name.
        delimiter: What no value can know: random.
    """
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in outputs.items())


def write_outputs(environment: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Appends outputs to the runner's file, where there is one."""
    path = environment.get("GITHUB_OUTPUT")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(output_lines(outputs, f"ragguard-{secrets.token_hex(16)}"))


def give_back(workspace: Path, folders: Iterable[Path]) -> None:
    """Makes what root wrote belong to the workspace's owner, so that later steps and checkouts can change it."""
    if os.geteuid() != 0:
        return
    owner = workspace.stat()
    for folder in {folder.resolve() for folder in folders}:
        if folder.is_relative_to(workspace) and folder != workspace:
            for path in (folder, *folder.rglob("*")) if folder.is_dir() else ():
                os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)

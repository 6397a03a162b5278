"""report.json for dashboards and scripts: the run's head, the samples that fell, and what was sent where."""

from __future__ import annotations

import json
import re

from pydantic import BaseModel

from ragguard.core.report import Report, judge_tasks
from ragguard.core.runs import JudgeTask, RegressedSample, RunHead
from ragguard.core.samples import Record
from ragguard.core.text import without_lone_surrogates

_UNSEEN = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class DeliveryRecord(Record):
    """What became of one notification."""

    notifier: str
    ok: bool
    detail: str = ""


class ReportDocument(RunHead):
    """report.json: run.json, and what a reader of the decision needs besides.

    Attributes:
        baseline_run_id: The newest baseline run; None where there is none.
        regressed_samples: The samples that fell most, the worst first.
        judge_tasks: What the judge calls took, by task, each with the metrics it was made for; a call that several
            metrics share is counted once.
        deliveries: What was sent where.
        exit_code: What the command exits with.
    """

    baseline_run_id: str | None = None
    regressed_samples: tuple[RegressedSample, ...] = ()
    judge_tasks: tuple[JudgeTask, ...] = ()
    deliveries: tuple[DeliveryRecord, ...] = ()
    exit_code: int = 0


def report_document(report: Report) -> ReportDocument:
    """The record that report.json holds."""
    return ReportDocument(
        **{name: value for name, value in dict(report.head).items() if name != "exit_code"},
        baseline_run_id=report.baseline_run_id,
        regressed_samples=tuple(detail.entry for detail in report.regressed),
        judge_tasks=judge_tasks(report.head),
        deliveries=tuple(
            DeliveryRecord(notifier=sent.notifier, ok=sent.ok, detail=sent.detail) for sent in report.deliveries
        ),
        exit_code=report.exit_code,
    )


def render_json(report: Report) -> str:
    """report.json as text."""
    return record_text(report_document(report))


def record_text(record: BaseModel) -> str:
    """A record as indented JSON in its own letters, no NaN, harmless in a CI log."""
    return json_text(record.model_dump(mode="json"), indent=2) + "\n"


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON that can always be written as UTF-8, and is harmless where it is printed.

    It forms no workflow command, and holds no character that a terminal acts on or that turns the reading direction.
    """
    separators = None if indent is not None else (",", ":")
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    # JSON writes the same strings another way. `##[` is a command anywhere in a line of a CI log.
    text = str(without_lone_surrogates(text)).replace("##[", "#\\u0023[")
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)

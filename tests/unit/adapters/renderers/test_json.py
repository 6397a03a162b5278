import json

import pytest

from ragguard.adapters.renderers.json import ReportDocument, json_text, record_text, render_json
from ragguard.adapters.renderers.schemas import DOCUMENTS, FOLDER, document_schema
from ragguard.core.report import Delivery
from ragguard.core.runs import OUTCOMES, Fingerprint, Outcome, Usage
from tests.fakes.hostile import HOSTILE
from tests.fakes.report_texts import Language
from tests.fakes.reports import BASELINE_RUN, make_report
from tests.unit.adapters.renderers.golden import assert_golden
from tests.unit.adapters.renderers.reading import commands, controls


def schema_problems(name: str, document: object) -> list[str]:
    from jsonschema import Draft202012Validator

    return [error.message for error in Draft202012Validator(document_schema(name)).iter_errors(document)]


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
def test_golden(language: Language) -> None:
    assert_golden(render_json(make_report("failed", language)), f"report.{language}.json")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_is_the_head_and_what_was_decided_and_keeps_to_its_schema(outcome: Outcome) -> None:
    report = make_report(outcome)
    document = json.loads(render_json(report))
    head = report.head.model_dump(mode="json")
    assert {key: document[key] for key in head} == head
    assert document["baseline_run_id"] == (BASELINE_RUN if outcome != "warned" else None)
    assert document["exit_code"] == report.exit_code
    assert schema_problems("report", document) == []
    assert schema_problems("run", head) == []


def test_regressed_samples_have_their_six_facts() -> None:
    first = json.loads(render_json(make_report("failed")))["regressed_samples"][0]
    assert {key: first[key] for key in ("id", "metric", "before", "after", "cause", "confirmed")} == {
        "id": "refund-01", "metric": "faithfulness", "before": 1.0, "after": 0.0, "cause": "generation",
        "confirmed": True,
    }  # fmt: skip


def test_judge_calls_stand_once_a_task_with_the_metrics_that_share_them() -> None:
    fingerprints = {
        name: Fingerprint(judge="j", prompts={task: "d"}, metric="m")
        for name, task in (
            ("context_recall", "reference"),
            ("faithfulness", "claims"),
            ("context_precision", "reference"),
        )
    }
    usage = {"claims": Usage(calls=4, tokens=9), "reference": Usage(calls=2, cost_usd=0.25), "gone": Usage(calls=1)}
    report = make_report("passed", fingerprints=fingerprints, usage_by_task=usage)
    tasks = json.loads(render_json(report))["judge_tasks"]
    assert [(task["task"], task["metrics"], task["shared"]) for task in tasks] == [
        ("reference", ["context_recall", "context_precision"], True),
        ("claims", ["faithfulness"], False),
        ("gone", [], False),
    ]
    assert [(task["usage"]["calls"], task["usage"]["tokens"], task["usage"]["cost_usd"]) for task in tasks] == [
        (2, None, 0.25), (4, 9, None), (1, None, None),
    ]  # fmt: skip


def test_deliveries_are_kept() -> None:
    from dataclasses import replace

    report = replace(make_report(), deliveries=(Delivery("slack", ok=False, detail="no such channel"),))
    assert json.loads(render_json(report))["deliveries"] == [
        {"notifier": "slack", "ok": False, "detail": "no such channel"}
    ]


def test_schema_refuses_what_is_no_report() -> None:
    document = json.loads(render_json(make_report()))
    assert schema_problems("report", {**document, "outcome": "good"})
    assert schema_problems("report", {key: value for key, value in document.items() if key != "metrics"})
    assert schema_problems("report", {**document, "surprise": 1})


@pytest.mark.parametrize("name", DOCUMENTS)
def test_committed_schemas_are_in_step(name: str) -> None:
    assert_golden(record_text_of(document_schema(name)), f"{name}.schema.json", FOLDER)


def record_text_of(value: object) -> str:
    return json_text(value, indent=2) + "\n"


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_comes_back_as_it_was(hostile: str) -> None:
    report = make_report("failed", text=lambda text: f"{hostile} {text} {hostile}")
    text = render_json(report)
    assert commands(text) == []
    assert [found for found in controls(text) if found < " "] == []
    assert text.encode("utf-8")
    assert ReportDocument.model_validate_json(text).regressed_samples[0].id == report.regressed[0].entry.id


def test_own_letters_and_no_nan() -> None:
    assert "第三周" in record_text(make_report("failed", "zh").regressed[0].after.sample)  # type: ignore[union-attr, arg-type]
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"mean": float("nan")})


@pytest.mark.parametrize(
    "text", ["\x1b[31m", "a\x7fb", "\x9b1m", "\u202eabc\u202c", "\u2066x\u2069", "\u2028", "##[error]x"]
)
def test_what_a_terminal_or_a_runner_would_obey_is_written_another_way(text: str) -> None:
    written = render_json(make_report("failed", notices=(text,)))
    assert text not in written
    assert controls(written) == commands(written) == []
    assert json.loads(written)["notices"] == [text]

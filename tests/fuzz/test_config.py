"""ragguard.yaml: whatever stands in it, it is a config or an error that says what is wrong; a run under it fails closed."""

from __future__ import annotations

import asyncio
from typing import Any

import yaml
from hypothesis import assume
from hypothesis import strategies as st

from ragguard.app.config import Config
from ragguard.app.pipeline import run_pipeline
from ragguard.app.read_config import parse_config, read_config
from ragguard.core.metrics.base import Metric
from tests.fakes.small_runs import SmallRuns
from tests.fuzz.harness import attempt, fuzzed, no_nan, scratch, strict_json
from tests.fuzz.mutations import broken, broken_bytes

WHOLE: list[dict[str, Any]] = [
    {
        "suite": "small",
        "pipeline": {
            "dataset": "golden.jsonl",
            "sample_budget": 4,
            "filter": {"tags": ["en"]},
            "fields": {"question": "question"},
        },
        "judge": {"model": "offline"},
        "embedder": {"type": "offline", "backend": "ngrams"},
        "metrics": ["faithfulness", {"type": "context_relevance", "threshold": 7, "scale": 10}, "latency@p95"],
        "slo": {"faithfulness_min": 0.5, "regression_tolerance": 0.02},
        "gate": {"looks": 2, "alpha": 0.05, "min_coverage": 0.5, "tolerance": {"faithfulness": 0.1}},
        "baseline": {"pin": None},
        "budget": {"max_calls": 100, "max_usd": 1.5},
        "cache": {"enabled": False},
        "reporting": {"format": "json+markdown", "sink": "file://store"},
    },
    {
        "pipeline": {"dataset": "s3://bucket/key", "answers": "answers.jsonl"},
        "judges": [{"model": "gpt-4o", "temperature": 0.0, "rpm": 60}, {"model": "claude-sonnet-4-5"}],
        "embedder": {"model": "bge-m3", "dim": 1024, "api_base": "http://127.0.0.1:9"},
        "metrics": [{"type": "rubric", "name": "tone", "criterion": "Is it polite?"}, "ndcg@10"],
        "reporting": {
            "format": ["json"],
            "sink": "bigquery://project.dataset.table",
            "on_regression": ["slack://#channel", {"create_issue": "owner/repo"}],
        },
        "executor": {"type": "local", "concurrency": 4},
    },
]


def no_module(name: str) -> type[Metric]:
    """Stands in for the import of modules that an example names."""
    raise ValueError(f"no module {name}")


def read(text: str) -> Config | None:
    """The config, or None where it is refused with words."""
    return attempt(lambda: parse_config(text, "ragguard.yaml", {"RAGGUARD_VAR_X": "x"}, {}, no_module))


def sound(config: Config | None) -> None:
    """A config that was accepted is JSON with numbers in it that are numbers."""
    if config is not None:
        strict_json(config.model_dump_json())
        no_nan(str(config.gate.model_dump(mode="json")))


def written(tree: Any) -> str:
    """YAML of a broken config; what YAML cannot hold is no example."""
    try:
        return yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)
    except yaml.YAMLError:
        assume(False)
        raise


@fuzzed(70, tree=broken(st.sampled_from(WHOLE)))
def test_a_broken_config_is_a_config_or_refused(tree: Any) -> None:
    sound(read(written(tree)))


@fuzzed(
    60, data=st.one_of(st.binary(max_size=60), broken_bytes(st.sampled_from([written(one).encode() for one in WHOLE])))
)
def test_a_file_of_any_bytes_is_a_config_or_refused(data: bytes) -> None:
    with scratch() as folder:
        path = folder / "ragguard.yaml"
        path.write_bytes(data)
        sound(attempt(lambda: read_config(path, {}, {}, no_module)))


@fuzzed(60, text=st.text(alphabet=st.sampled_from("abc:-[]{}&*!|>'\"#%@`?,<~\n \t01é学\u2028\x00"), max_size=60))
def test_any_text_is_a_config_or_refused(text: str) -> None:
    sound(read(text))


@fuzzed(12, tree=broken(st.sampled_from(WHOLE[:1]), most=2))
def test_a_run_under_a_broken_config_never_passes_without_scores(tree: Any) -> None:
    config = read(written(tree))
    if config is None or config.judges or config.pipeline.target is not None or config.executor.type != "local":
        return
    if any(part is None or part.type != "offline" for part in (config.judge, config.embedder)):
        return
    told = ("on_regression", "on_recovery", "on_error", "always")
    with scratch() as folder:
        runs = SmallRuns(folder, n=4)
        overrides = {f"reporting.{name}": [] for name in told} | {"templates": None}
        request = runs.request(config=written(tree), overrides=overrides)
        report = attempt(lambda: asyncio.run(run_pipeline(request)), {2, 4})
        if report is None:
            return
        head = report.head
        scored = sum(metric.n_scored for metric in head.metrics.values())
        if head.outcome in {"passed", "warned"} or report.exit_code == 0:
            assert scored > 0, head.reasons
        for path in (request.output / "run.json", *request.output.glob("*.json")):
            strict_json(path.read_bytes())
        for line in (request.output / "samples.jsonl").read_bytes().splitlines():
            strict_json(line)

"""Every mistake in a config is told with its line, its field and its mend, and ends with exit code 2."""

from __future__ import annotations

import pytest

from ragguard.app.read_config import parse_config
from ragguard.errors import ConfigError, ExitCode

GOOD = "pipeline:\n  dataset: golden.jsonl\njudge:\n  model: offline\n"

MISTAKES = {
    "nothing": ("", "c.yaml: not a mapping of sections"),
    "a list": ("- a\n- b\n", "c.yaml: not a mapping of sections"),
    "no data set": ("judge: {model: offline}\n", "c.yaml:1: pipeline: is missing"),
    "empty pipeline": ("pipeline: {}\n", "c.yaml:1: pipeline.dataset: is missing"),
    "blank data set": ("pipeline: {dataset: ''}\n", "pipeline.dataset: string should have at least 1 character"),
    "data set is a number": (
        "pipeline: {dataset: 5}\n",
        "pipeline.dataset: YAML reads this as a number, and a text is meant: put it into quotes",
    ),
    "misspelt section": (GOOD + "reprting: {}\n", "c.yaml:5: reprting: unknown field; did you mean `reporting`?"),
    "misspelt field": (GOOD + "  temprature: 0\n", "c.yaml:5: judge.temprature: unknown field"),
    "misspelt pipeline field": (
        "pipeline:\n  dataset: a\n  sample_bugdet: 5\n",
        "c.yaml:3: pipeline.sample_bugdet: unknown field; did you mean `sample_budget`?",
    ),
    "budget of nothing": (
        "pipeline: {dataset: a, sample_budget: 0}\n",
        "pipeline.sample_budget: input should be greater than or equal to 1 (got 0)",
    ),
    "suite is a date": (
        GOOD + "suite: 2001-01-01\n",
        "c.yaml:5: suite: YAML reads this as a date, and a text is meant",
    ),
    "suite is a number": (GOOD + "suite: 2001\n", "c.yaml:5: suite: YAML reads this as a number, and a text is meant"),
    "suite is a word for true": (GOOD + "suite: yes\n", "suite: YAML reads this as true or false, and a text is meant"),
    "a vote of one": (
        "pipeline: {dataset: a}\njudge: {model: openai/x}\nvote: majority\n",
        "c.yaml:3: vote: one judge that is asked once has nothing to vote on",
    ),
    "a vote that there is not": (GOOD + "vote: median\n", "c.yaml:5: vote: input should be 'mean' or 'majority'"),
    "no metrics": (GOOD + "metrics: []\n", "c.yaml:5: metrics:"),
    "unknown metric": (GOOD + "metrics: [faithfulnes]\n", "did you mean"),
    "metric twice": (GOOD + "metrics: [faithfulness, faithfulness]\n", "c.yaml:5: metrics: faithfulness stands twice"),
    "strictness too high": (
        GOOD + "metrics:\n  - {type: answer_relevance, strictness: 9}\n",
        "strictness",
    ),
    "threshold over its scale": (
        GOOD + "metrics:\n  - {type: faithfulness, threshold: 7}\n",
        "threshold 7 is above its scale 1",
    ),
    "floor of a metric that is not there": (
        GOOD + "metrics: [faithfulness]\nslo:\n  context_relevance_min: 0.8\n",
        "c.yaml:7: slo.context_relevance_min: the metric context_relevance is not configured",
    ),
    "floor misspelt": (
        GOOD + "slo:\n  faithfullness_min: 0.8\n",
        "slo.faithfullness_min: the metric faithfullness is not configured (did you mean `faithfulness`?)",
    ),
    "floor in percent": (
        GOOD + "slo: {faithfulness_min: 90}\n",
        "slo.faithfulness_min: 90 is no fraction in [0, 1]; write 0.9 for 90 %",
    ),
    "slo field that is no floor": (GOOD + "slo: {faithfulness: 0.9}\n", "neither `regression_tolerance` nor"),
    "tolerance in percent": (
        GOOD + "slo: {regression_tolerance: 2}\n",
        "slo.regression_tolerance: input should be less",
    ),
    "negative tolerance": (
        GOOD + "slo: {regression_tolerance: -0.1}\n",
        "slo.regression_tolerance: input should be greater",
    ),
    "tolerance in the wrong section": (
        GOOD + "gate: {regression_tolerance: 0.1}\n",
        "gate.regression_tolerance: belongs into the section `slo`",
    ),
    "tolerance of an unknown metric": (
        GOOD + "gate: {tolerance: {recall: 0.1}}\n",
        "gate.tolerance.recall: the metric recall is not configured",
    ),
    "too many looks": (GOOD + "gate: {looks: 9}\n", "gate.looks: input should be less than or equal to 3 (got 9)"),
    "unknown rule": (
        GOOD + "gate: {rule: vibes}\n",
        "gate.rule: input should be 'staged' or 'threshold' (got 'vibes')",
    ),
    "unknown format": (
        GOOD + "reporting: {format: json+markdwn}\n",
        "unknown format `markdwn`; did you mean `markdown`?",
    ),
    "judge and panel": (
        GOOD + "judges: [{model: offline}]\n",
        "judges: `judge` and `judges` both stand; keep one of the two",
    ),
    "not YAML": ("pipeline: [\n", "c.yaml:2: not valid YAML"),
    "a tab": ("pipeline:\n\tdataset: a\n", "c.yaml:2: not valid YAML"),
    "a Python tag": ("pipeline: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
    "field twice": ("pipeline: {dataset: a}\npipeline: {dataset: b}\n", "c.yaml:2: pipeline: stands twice"),
    "foreign variable": (
        "pipeline: {dataset: '${AWS_SECRET_ACCESS_KEY}'}\n",
        "${AWS_SECRET_ACCESS_KEY} is not a RAGGUARD_VAR_… variable",
    ),
    "variable not set": ("pipeline: {dataset: '${RAGGUARD_VAR_X}'}\n", "the variable RAGGUARD_VAR_X is not set"),
    "aliases that explode": (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{n}: &{n} [{', '.join([f'*{p}'] * 10)}]\n" for p, n in ["ab", "bc", "cd", "de", "ef"]),
        "more than 50,000 values",
    ),
    "infinite weight": (GOOD + "metrics:\n  - {type: faithfulness, weight: .inf}\n", "weight"),
    "suite without a name": (GOOD + "suite: ''\n", "suite: string should have at least 1 character"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told(name: str) -> None:
    text, message = MISTAKES[name]
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "c.yaml", {})
    assert message in str(caught.value)
    assert "Traceback" not in str(caught.value)
    assert caught.value.exit_code == ExitCode.USER_INPUT


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = "suit: a\npipeline:\n  dataset: a\n  answer: b\njudge:\n  model: offline\n  key: c\n"
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "c.yaml", {})
    lines = [detail.partition(": ")[0] for detail in caught.value.details]
    assert lines == ["c.yaml:1", "c.yaml:4", "c.yaml:7"]
    assert caught.value.message == "c.yaml: 3 mistakes"


def test_the_seed_config_loads_to_the_letter() -> None:
    text = """
pipeline:
  dataset: s3://ai-edu/evals/rag-golden-v3.jsonl  # 180 samples
  sample_budget: 180

judge:
  model: anthropic/claude-opus-4.7
  temperature: 0.0

embedder:
  model: bge-m3               # multilingual
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
  sink: bigquery://ai.evals.rag_runs
  on_regression:
    - slack://#rag-quality
    - create_issue: repo/ragapp
"""
    config = parse_config(text, "ragguard.yaml", {})
    assert config.pipeline.sample_budget == 180
    assert config.judge is not None
    assert config.judge.model == "anthropic/claude-opus-4.7"
    assert config.slo.minima == {"faithfulness": 0.9, "context_relevance": 0.8, "answer_relevance": 0.85}
    assert [metric.id for metric in config.metrics] == ["faithfulness", "context_relevance", "answer_relevance"]
    assert config.reporting.sink.type == "bigquery"
    assert config.reporting.format == ("json", "markdown")


def test_a_variable_is_put_in_and_an_escaped_one_stays() -> None:
    text = "pipeline: {dataset: '${RAGGUARD_VAR_DATA}/g.jsonl'}\nsuite: '$${RAGGUARD_VAR_DATA}'\n"
    config = parse_config(text, "c.yaml", {"RAGGUARD_VAR_DATA": "dữ-liệu/数据"})
    assert config.pipeline.dataset == "dữ-liệu/数据/g.jsonl"
    assert config.suite == "${RAGGUARD_VAR_DATA}"


def test_an_override_wins_over_the_file() -> None:
    config = parse_config(GOOD, "c.yaml", {}, {"pipeline.dataset": "other.jsonl", "reporting.sink": "file://there"})
    assert config.pipeline.dataset == "other.jsonl"
    assert config.reporting.sink.type == "directory"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]\n" + GOOD, "nested too deeply"),
        ("pipeline: &a {dataset: g.jsonl, fields: *a}\n", "nested too deeply"),
        (GOOD + "suite: 2001-13-41\n", "put texts that look like dates or numbers into quotes"),
        (GOOD + "suite: !!int 'x'\n", "put texts that look like dates or numbers into quotes"),
        (GOOD + f"slo: {{faithfulness_min: {'9' * 5000}}}\n", "no date or number"),
    ],
)
def test_a_value_that_yaml_cannot_read_is_the_users_mistake(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "c.yaml", {})
    assert message in str(caught.value)

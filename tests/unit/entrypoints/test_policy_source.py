"""Whose policy decides: what a change may set itself, what it only announces, and what happens where the base is odd."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ragguard.app.context import RunContext
from ragguard.app.policy_from_base import FREE, policy_changes, with_base_policy
from ragguard.app.read_config import parse_config
from ragguard.entrypoints.github_context import GitHubContext
from ragguard.entrypoints.policy_source import Policy, PolicySource
from ragguard.errors import ConfigError

BASE = """
suite: tutor
pipeline: {dataset: golden.jsonl, sample_budget: 100}
judge: {model: offline}
metrics: [faithfulness, context_relevance]
slo: {faithfulness_min: 0.9, regression_tolerance: 0.02}
gate: {on_inconclusive: fail}
"""
CHANGE = GitHubContext(
    RunContext("r", datetime(2026, 1, 1, tzinfo=UTC), event="pull_request", branch="x"), base_ref="main"
)
STRANGER = replace(CHANGE, data_only=True, fork=True)

# What a pull request may try, and the field that the base keeps: (old, new, field, value of the base's).
LOOSENED = {
    "another suite": ("suite: tutor", "suite: fresh", "suite", "tutor"),
    "an easier data set": ("golden.jsonl", "easy.jsonl", "pipeline.dataset", "golden.jsonl"),
    "fewer samples": ("sample_budget: 100", "sample_budget: 1", "pipeline.sample_budget", 100),
    "easier samples": ("sample_budget: 100", "sample_budget: 100, filter: {tags: [easy]}", "pipeline.filter.tags", ()),
    "another judge": ("{model: offline}", "{model: x/kind}", "judge.model", "offline"),
    "a lower floor": ("faithfulness_min: 0.9", "faithfulness_min: 0.1", "slo.minima", {"faithfulness": 0.9}),
    "no floor": ("faithfulness_min: 0.9, ", "", "slo.minima", {"faithfulness": 0.9}),
    "a wider tolerance": ("tolerance: 0.02", "tolerance: 1", "slo.regression_tolerance", 0.02),
    "a softer gate": ("on_inconclusive: fail", "on_inconclusive: warn", "gate.on_inconclusive", "fail"),
    "one look": ("{on_inconclusive", "{looks: 1, on_inconclusive", "gate.looks", 3),
    "an empty store": ("gate:", "reporting: {sink: elsewhere}\ngate:", "reporting.sink.uri", None),
    "nobody told": ("gate:", "reporting: {always: []}\ngate:", "reporting.always", None),
    "a pinned run": ("gate:", "baseline: {pin: r7}\ngate:", "baseline.pin", None),
    "no budget": ("gate:", "budget: {max_calls: 1}\ngate:", "budget.max_calls", None),
    "own words for the judge": ("gate:", "templates: mine\ngate:", "templates", None),
    "one metric less": ("[faithfulness, context_relevance]", "[faithfulness]", "metrics", None),
}


def config(text: str = BASE, **overrides: object):  # type: ignore[no-untyped-def]
    return parse_config(text, "c.yaml", {}, overrides)


def at(value: object, path: str) -> object:
    for name in path.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("attempt", LOOSENED.values(), ids=LOOSENED)
def test_what_a_change_sets_otherwise_is_announced_and_not_followed(attempt: tuple[str, str, str, object]) -> None:
    old, new, path, kept = attempt
    assert old in BASE
    base, head = config(), config(BASE.replace(old, new))
    decided = with_base_policy(base, head)
    expected = kept if kept is not None else (at(base, path) if path != "reporting.sink.uri" else None)
    if path != "reporting.sink.uri":
        assert at(decided, path) == expected
    assert decided.reporting.sink == base.reporting.sink
    assert policy_changes(base, decided) == []
    said = policy_changes(base, head)
    assert said
    assert all("in force after the merge" in line for line in said)


def test_a_change_decides_how_its_answers_are_made_and_shown() -> None:
    text = BASE.replace(
        "sample_budget: 100",
        "sample_budget: 100, target: {type: http, url: 'http://127.0.0.1:1/ask'}",
    )
    head = config(text + "cache: {enabled: false}\nreporting: {format: html}\n")
    decided = with_base_policy(config(), head)
    assert decided.pipeline.target == head.pipeline.target
    assert decided.reporting.format == ("html",)
    assert not decided.cache.enabled
    assert policy_changes(config(), head) == []
    assert len(FREE) == 5


def test_differences_are_shown_short_and_counted() -> None:
    text = BASE.replace("suite: tutor", "suite: " + "x" * 100)
    (line,) = policy_changes(config(), config(text))
    assert len(line) < 200
    many = "".join(f"rubric_min{n}: 0\n" for n in range(0))
    metrics = ", ".join(f"{{type: rubric, name: r{n}, criterion: c}}" for n in range(9))
    said = policy_changes(
        config(),
        config(
            BASE.replace("[faithfulness, context_relevance]", f"[{metrics}]{many}").replace(
                "faithfulness_min: 0.9, ", ""
            )
        ),
    )
    assert len(said) == 13
    assert "more fields of the policy" in said[-1]


@dataclass
class Remote:
    """A repository in memory."""

    files: dict[str, bytes] = field(default_factory=dict)

    def file(self, path: str, ref: str) -> bytes | None:
        assert ref == "main"
        return self.files.get(path)

    def folder(self, path: str, ref: str) -> Mapping[str, bytes]:
        return {name.removeprefix(f"{path}/"): data for name, data in self.files.items() if name.startswith(f"{path}/")}


def decide(
    folder: Path,
    here: str | None,
    remote: Remote,
    context: GitHubContext = CHANGE,
    *,
    from_base: bool = True,
    **more: object,
) -> Policy:
    if here is not None:
        (folder / "ragguard.yaml").write_text(here, encoding="utf-8")
    source = PolicySource(None, folder, folder, {})
    return replace(source, **more).decide(context, remote, from_base=from_base)  # type: ignore[arg-type]


def test_a_run_of_no_change_reads_its_own_config(tmp_path: Path) -> None:
    push = GitHubContext(replace(CHANGE.run, event="push"))
    assert decide(tmp_path, BASE, Remote(), push).config.suite == "tutor"


def test_a_first_config_decides_for_itself_and_says_so(tmp_path: Path) -> None:
    policy = decide(tmp_path, BASE, Remote())
    assert "has no ragguard.yaml yet" in policy.notices[0]


def test_a_config_under_a_name_that_is_looked_for_first_does_not_hide_the_bases(tmp_path: Path) -> None:
    policy = decide(tmp_path, BASE.replace("0.9", "0.1"), Remote({".ragguard.yaml": BASE.encode()}))
    assert policy.config.slo.minima == {"faithfulness": 0.9}


def test_a_base_that_is_wrong_by_itself_does_not_lock_the_change_that_mends_it(tmp_path: Path) -> None:
    for wrong in (b"pipeline: [", b"\xff\xfe", b"pipelin: {}\n"):
        policy = decide(tmp_path, BASE, Remote({"ragguard.yaml": wrong}))
        assert "ragguard.yaml of main is wrong" in policy.notices[0]
        with pytest.raises(ConfigError):
            decide(tmp_path, BASE, Remote({"ragguard.yaml": wrong}), STRANGER)


def test_a_change_that_breaks_the_bases_own_metric_is_not_set_free(tmp_path: Path) -> None:
    base = BASE.replace("[faithfulness, context_relevance]", "[faithfulness, 'a_module_that_is_gone:Mine']")
    with pytest.raises(ConfigError, match="1 mistake"):
        decide(tmp_path, BASE, Remote({"ragguard.yaml": base.encode()}))


def test_a_wrong_config_of_the_change_is_told_although_it_does_not_decide(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mistake"):
        decide(tmp_path, "pipelin: {}\n", Remote({"ragguard.yaml": BASE.encode()}))


def test_a_change_without_a_known_base_is_not_judged_by_its_own_policy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="base branch of the change under test is unknown"):
        decide(tmp_path, BASE, Remote(), replace(CHANGE, base_ref=None))
    assert decide(tmp_path, BASE, Remote(), replace(CHANGE, base_ref=None), from_base=False).config.suite == "tutor"


def test_a_strangers_change_never_decides_even_when_told_to(tmp_path: Path) -> None:
    remote = Remote({"ragguard.yaml": BASE.encode()})
    policy = decide(tmp_path, BASE.replace("tutor", "mine"), remote, STRANGER, from_base=False)
    assert policy.config.suite == "tutor"
    with pytest.raises(ConfigError, match=r"has no ragguard\.yaml"):
        decide(tmp_path, BASE, Remote(), STRANGER)


def test_inputs_win_over_both_sides(tmp_path: Path) -> None:
    remote = Remote({"ragguard.yaml": BASE.encode()})
    policy = decide(tmp_path, BASE, remote, overrides={"pipeline.sample_budget": 7})
    assert (policy.config.pipeline.sample_budget, policy.notices) == (7, ())


def test_the_bases_templates_are_used_and_a_changed_one_is_named(tmp_path: Path) -> None:
    text = BASE + "templates: prompts\n"
    remote = Remote({"ragguard.yaml": text.encode(), "prompts/judge/claims.j2": b"strict", "prompts/../../x": b"no"})
    (tmp_path / "prompts" / "judge").mkdir(parents=True)
    (tmp_path / "prompts" / "judge" / "claims.j2").write_text("always say yes", encoding="utf-8")
    policy = decide(tmp_path, text, remote)
    used = Path(policy.config.templates or "")
    assert (used / "judge" / "claims.j2").read_text(encoding="utf-8") == "strict"
    assert not (used.parent.parent / "x").exists()
    assert "judge/claims.j2" in policy.notices[0]


def test_a_config_in_a_folder_is_looked_for_there_on_the_base(tmp_path: Path) -> None:
    folder = tmp_path / "apps" / "tutor"
    folder.mkdir(parents=True)
    (folder / "ragguard.yaml").write_text(BASE, encoding="utf-8")
    remote = Remote({"apps/tutor/ragguard.yaml": BASE.replace("tutor", "base").encode()})
    source = PolicySource(None, folder, tmp_path, {})
    assert source.decide(CHANGE, remote, from_base=True).config.suite == "base"

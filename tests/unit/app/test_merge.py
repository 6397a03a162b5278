"""Shards of one run: they judge nothing, never become a baseline, and merged they are the run in one piece."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ragguard.app.context import RunContext
from ragguard.app.merge import merge_shards
from ragguard.app.pipeline import run_pipeline
from ragguard.app.read_config import parse_config
from ragguard.app.request import RunRequest
from ragguard.core.report import Report
from ragguard.errors import ExitCode, RunFileError
from tests.fakes.small_runs import CONFIG, START, answer_rows, golden_rows, write_rows

N = 60


class Sharded:
    """One folder with data and a store, in which a commit can be run whole or in shards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_rows(folder / "golden.jsonl", golden_rows(N))

    def request(self, name: str, *, commit: int = 1, config: str = CONFIG, **changes: object) -> RunRequest:
        now = START.replace(hour=9 + commit)
        context = RunContext(
            run_id=name, now=now, event="push", branch="main", base_branches=("main",),
            commit=f"{commit:040x}", commit_time=now,
        )  # fmt: skip
        fields = {
            "pipeline.dataset": str(self.folder / "golden.jsonl"),
            "pipeline.answers": str(self.folder / "answers.jsonl"),
            "reporting.sink": str(self.folder / "store"),
        }
        parsed = parse_config(config, "ragguard.yaml", {}, fields)
        request = RunRequest(parsed, context, self.folder, self.folder / "out" / name, clock=lambda: now)
        return replace(request, **changes)  # type: ignore[arg-type]

    def answers(self, wrong: int) -> None:
        write_rows(self.folder / "answers.jsonl", answer_rows(N, wrong))

    def whole(self, name: str, **changes: object) -> Report:
        return asyncio.run(run_pipeline(self.request(name, **changes)))  # type: ignore[arg-type]

    def shards(self, count: int, **changes: object) -> list[str]:
        return [self.shard(f"{number}/{count}", **changes) for number in range(1, count + 1)]

    def shard(self, shard: str, **changes: object) -> str:
        name = f"shard-{shard.replace('/', '-')}"
        asyncio.run(run_pipeline(self.request(name, shard=shard, **changes)))  # type: ignore[arg-type]
        return str(self.folder / "out" / name)

    def merge(self, shards: list[str], name: str = "merged", **changes: object) -> Report:
        return asyncio.run(merge_shards(self.request(name, **changes), shards))  # type: ignore[arg-type]

    def lines(self, name: str) -> list[bytes]:
        return (self.folder / "out" / name / "samples.jsonl").read_bytes().splitlines()


@pytest.fixture
def sharded(tmp_path: Path) -> Sharded:
    runs = Sharded(tmp_path)
    runs.answers(0)
    return runs


def in_two_folders(folder: Path, wrong: int = 0) -> list[Sharded]:
    """The same data and baseline twice, and the next commit's answers."""
    both = []
    for name in ("one", "other"):
        (folder / name).mkdir()
        both.append(Sharded(folder / name))
        both[-1].answers(0)
        both[-1].whole("base")
        both[-1].answers(wrong)
    return both


def heads_without_what_may_differ(*reports: Report) -> list[dict[str, object]]:
    heads = [report.head.model_dump(mode="json") for report in reports]
    for head in heads:
        for field in ("run_id", "execution", "created_at"):
            del head[field]
    return heads


def test_eight_shards_merged_are_the_run_in_one_piece_byte_for_byte(tmp_path: Path) -> None:
    one, eight = in_two_folders(tmp_path, wrong=9)
    whole = one.whole("run", commit=2)
    merged = eight.merge(list(reversed(eight.shards(8, commit=2))), "run", commit=2)
    assert one.lines("run") == eight.lines("run")
    assert whole.head.metrics["faithfulness"].look == 2
    left, right = heads_without_what_may_differ(whole, merged)
    left["dataset"]["uri"] = right["dataset"]["uri"]  # type: ignore[index]
    assert left == right
    assert (whole.exit_code, merged.exit_code) == (ExitCode.REGRESSION, ExitCode.REGRESSION)


def test_a_shard_judges_nothing_and_is_not_stored(sharded: Sharded) -> None:
    sharded.whole("base")
    sharded.answers(60)
    report = asyncio.run(run_pipeline(sharded.request("shard", shard="2/3", commit=2)))
    assert (report.head.outcome, report.exit_code) == ("warned", ExitCode.OK)
    assert report.head.reasons == ("shard 2/3: evaluated, not judged; `ragguard merge` judges the whole run",)
    assert report.head.dataset.selection.shard == "2/3"
    assert report.head.metrics["faithfulness"].mean == 0
    assert report.head.comparison.n_regressed == 0
    assert report.head.usage.look_calls == 0
    assert not list((sharded.folder / "store").glob("runs/shard*"))


def test_the_merged_run_is_stored_and_becomes_the_baseline(sharded: Sharded) -> None:
    sharded.merge(sharded.shards(3))
    assert sharded.whole("next", commit=2).baseline_run_id == "merged"


def test_what_the_shards_judged_again_of_the_baseline_is_not_paid_for_twice(tmp_path: Path) -> None:
    one, two = in_two_folders(tmp_path)
    config = CONFIG.replace("context_relevance]", "{type: answer_relevance, strictness: 2}]")
    shards = two.shards(2, commit=2, config=config)
    of_base = [json.loads(line)["side"] for shard in shards for line in two.lines(Path(shard).name)].count("base")
    assert of_base == N
    whole = one.whole("run", commit=2, config=config)
    merged = two.merge(shards, "run", commit=2, config=config)
    assert merged.head.usage == whole.head.usage
    assert two.lines("run") == one.lines("run")
    assert "answer_relevance" in merged.head.comparison.rescored


def test_a_baseline_that_came_after_the_shards_is_judged_again_by_the_merge(sharded: Sharded) -> None:
    config = CONFIG.replace("context_relevance]", "answer_relevance]")
    shards = sharded.shards(2, commit=3, config=config)
    sharded.whole("base", commit=2)
    merged = sharded.merge(shards, commit=3, config=config)
    assert merged.baseline_run_id == "base"
    assert merged.head.metrics["answer_relevance"].n_pairs == N


def test_shards_that_keep_no_texts_need_the_recorded_answers_for_looks(sharded: Sharded) -> None:
    sharded.whole("base")
    sharded.answers(12)
    config = CONFIG + "reporting: {store_text: false}\n"
    merged = sharded.merge(sharded.shards(2, commit=2, config=config), commit=2, config=config)
    assert merged.exit_code == ExitCode.REGRESSION
    assert merged.head.metrics["faithfulness"].look == 2


def test_a_shard_without_any_sample_of_a_small_set_is_an_error_of_that_shard(sharded: Sharded) -> None:
    """A hash may leave a shard empty: fewer shards are the mend, and a gate never passes what it did not look at."""
    write_rows(sharded.folder / "golden.jsonl", golden_rows(1))
    write_rows(sharded.folder / "answers.jsonl", answer_rows(1))
    failures = 0
    for number in (1, 2):
        try:
            sharded.shard(f"{number}/2")
        except Exception as error:  # noqa: BLE001 - counted
            failures += "none of the 1 samples is selected" in str(error)
    assert failures == 1


def test_what_does_not_belong_together_is_refused(sharded: Sharded) -> None:
    shards = sharded.shards(3)
    with pytest.raises(RunFileError, match="missing: shard 2/3"):
        sharded.merge([shards[0], shards[2]])
    with pytest.raises(RunFileError, match="both shard 1/3"):
        sharded.merge([*shards, shards[0]])
    sharded.whole("whole")
    with pytest.raises(RunFileError, match="is no shard but a whole run"):
        sharded.merge([*shards, str(sharded.folder / "out" / "whole")])
    with pytest.raises(RunFileError, match="one of 3"):
        sharded.merge([*shards, sharded.shard("1/2")])
    with pytest.raises(RunFileError, match="another commit"):
        sharded.merge([*shards[:2], sharded.shard("3/3", commit=2)])


def test_shards_of_another_commit_suite_config_or_data_set_are_refused(sharded: Sharded) -> None:
    shards = sharded.shards(2)
    with pytest.raises(RunFileError, match="commit"):
        sharded.merge(shards, commit=2)
    with pytest.raises(RunFileError, match="suite small, this is other"):
        sharded.merge(shards, config=CONFIG.replace("suite: small", "suite: other"))
    with pytest.raises(RunFileError, match="other metrics"):
        sharded.merge(shards, config=CONFIG.replace("[faithfulness, context_relevance]", "[faithfulness]"))
    rows = golden_rows(N)
    rows[3]["question"] = "Another question?"
    write_rows(sharded.folder / "golden.jsonl", rows)
    with pytest.raises(RunFileError, match="another data set"):
        sharded.merge(shards)


def test_shards_scored_with_other_settings_than_the_configs_are_refused(sharded: Sharded) -> None:
    config = CONFIG.replace("context_relevance]", "{type: answer_relevance, strictness: %d}]")
    shards = sharded.shards(2, config=config % 2)
    with pytest.raises(RunFileError, match="answer_relevance: changed: metric version or settings"):
        sharded.merge(shards, config=config % 3)


def test_a_shard_with_other_metrics_than_the_first_is_refused(sharded: Sharded) -> None:
    one = sharded.shard("1/2")
    two = sharded.shard("2/2", config=CONFIG.replace("[faithfulness, context_relevance]", "[faithfulness]"))
    with pytest.raises(RunFileError, match="another fingerprints of its metrics"):
        sharded.merge([one, two])


def test_a_changed_samples_file_is_found(sharded: Sharded) -> None:
    shards = sharded.shards(2)
    path = Path(shards[1]) / "samples.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[1], lines[0], *lines[2:]]))
    with pytest.raises(RunFileError, match="should be"):
        sharded.merge(shards)
    path.write_bytes(b"".join(lines).replace(b'"value":1.0', b'"value":0.9', 1))
    with pytest.raises(RunFileError, match="was changed after the run"):
        sharded.merge(shards)


def test_a_shard_that_broke_off_is_named(sharded: Sharded) -> None:
    shards = sharded.shards(2)
    path = Path(shards[0]) / "run.json"
    head = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**head, "outcome": "error", "reasons": ["the judge is down"]}), encoding="utf-8")
    with pytest.raises(RunFileError, match="shard 1/2 did not get to its end: the judge is down"):
        sharded.merge(shards)

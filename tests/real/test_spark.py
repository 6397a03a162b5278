"""Real Spark, two workers on this machine: the same run as without it, through killed workers, limits and data frames."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragguard import evaluate
from ragguard.adapters.executors.sessions import open_session
from ragguard.adapters.runfiles import result_line
from ragguard.errors import BudgetError, ConfigError, ExitCode, UserInputError
from tests.fakes.small_runs import CONFIG, SmallRuns, answer_rows, golden_rows
from tests.parts.cache import need
from tests.parts.judge_server import judge_server

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:pyspark.*"),
]
MASTER = "local-cluster[2,1,1024]"
METRICS = ["faithfulness", "context_relevance", "answer_relevance"]
NGRAMS = {"type": "offline", "backend": "ngrams"}
TRIAD = CONFIG.replace("context_relevance]", "context_relevance, answer_relevance]")

KILLER = '''
"""A metric that kills its executor, or its worker process, once."""
import os, signal
from pathlib import Path
from ragguard.core.metrics.base import Metric

def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

class Killer(Metric):
    type: str = "killer"
    once: str
    executor: bool = False

    @property
    def settings_digest(self):
        return "killer"

    async def score(self, sample, answer, tools):
        with open(f"{self.once}.seen", "a", encoding="utf-8") as file:
            file.write(sample.id + "\\n")
        if sample.id == "s090" and not os.path.exists(self.once):
            Path(self.once).touch()
            victim = parent(parent(os.getpid())) if self.executor else os.getpid()
            os.kill(victim, signal.SIGKILL)
        return self.scored(len(answer.text) % 7 / 7)
'''


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """One session for all tests: each takes half a minute to start."""
    need("spark")
    root = Path(__file__).parents[2]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    found = open_session(MASTER, {"spark.sql.shuffle.partitions": "2"})
    yield found
    found.stop()


def spark_config(folder: Path, config: str = TRIAD, **settings: object) -> str:
    executor = {"type": "spark", "master": MASTER, "partitions": 2, "checkpoint": 8, "scratch": str(folder / "scratch")}
    return f"{config}executor: {json.dumps({**executor, **settings})}\n"


def two_folders(tmp_path: Path, n: int) -> tuple[SmallRuns, SmallRuns]:
    for name in ("local", "spark"):
        (tmp_path / name).mkdir()
    return SmallRuns(tmp_path / "local", n), SmallRuns(tmp_path / "spark", n)


def samples(runs: SmallRuns, run_id: str) -> bytes:
    return (runs.output(run_id) / "samples.jsonl").read_bytes()


def test_a_run_on_spark_is_the_local_run_to_the_last_digit(session: Any, tmp_path: Path) -> None:
    local, spark = two_folders(tmp_path, 60)
    for wrong in (0, 8):
        expected = local.run(wrong=wrong, config=TRIAD)
        found = spark.run(wrong=wrong, config=spark_config(tmp_path))
        left, right = (report.head.model_dump(mode="json") for report in (expected, found))
        for head in (left, right):
            head["dataset"].pop("uri")
        assert left == right
    assert found.exit_code == ExitCode.REGRESSION
    assert found.head.metrics["faithfulness"].look == 2
    assert samples(local, "run-2") == samples(spark, "run-2")
    assert [path for path in (tmp_path / "scratch").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("executor", [False, True], ids=["worker process", "executor"])
def test_a_killed_worker_changes_nothing(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, executor: bool
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"killer_{int(executor)}"
    (tmp_path / f"{module}.py").write_text(KILLER, encoding="utf-8")
    local, spark = two_folders(tmp_path, 200)
    (spark.folder / f"{module}.py").write_text(KILLER, encoding="utf-8")
    once = tmp_path / "killed"
    metric = {"type": f"{module}:Killer", "once": str(once), "executor": executor}
    config = CONFIG.replace("[faithfulness, context_relevance]", json.dumps(["faithfulness", metric]))
    seen = Path(f"{once}.seen")
    spark.run(config=spark_config(tmp_path, config, concurrency=4))
    assert once.exists()
    evaluated = seen.read_text(encoding="utf-8").splitlines()
    assert len(set(evaluated)) == 200
    # A killed worker process scores s090 twice. One whose executor is killed may live long enough to write its checkpoint.
    assert 200 + (not executor) <= len(evaluated) <= 200 + 2 * (8 + 4)
    local.run(config=config)
    assert samples(local, "run-1") == samples(spark, "run-1")


def test_a_budget_is_kept_by_all_workers_together(session: Any, tmp_path: Path) -> None:
    _, spark = two_folders(tmp_path, 40)
    with judge_server() as server:
        judge = json.dumps({"model": "openai/judge", "api_base": server.url, "concurrency": 4})
        config = CONFIG.replace("{model: offline}", judge)
        report = spark.run(config=spark_config(tmp_path, config + "budget: {max_calls: 30}\ncache: {enabled: false}\n"))
        assert (report.head.outcome, report.exit_code) == ("error", ExitCode.OUTSIDE_WORLD)
        assert "budget is spent" in report.head.reasons[0]
        assert 0 < server.stats.calls <= 30
        before = server.stats.calls
        report = spark.run(config=spark_config(tmp_path, config + "budget: {max_calls: 85}\n"))
        assert report.head.outcome == "warned"
        assert report.head.usage.calls + report.head.usage.cached_calls == 80
        # What a lane had paid for when its part of the budget was spent is found in the cache by the next round.
        assert report.head.usage.calls <= server.stats.calls - before <= 85


def test_a_judge_that_is_down_is_the_outside_worlds_fault(session: Any, tmp_path: Path) -> None:
    _, spark = two_folders(tmp_path, 30)
    with judge_server(dead_after=0) as server:
        judge = json.dumps({"model": "openai/judge", "api_base": server.url})
        report = spark.run(config=spark_config(tmp_path, CONFIG.replace("{model: offline}", judge)))
    assert report.exit_code == ExitCode.OUTSIDE_WORLD
    assert "openai/judge" in report.head.reasons[0]


def test_a_folder_that_workers_do_not_see_is_named(session: Any, tmp_path: Path) -> None:
    """Workers run in folders of their own: what the driver calls by a relative path they reach by the absolute one."""
    _, spark = two_folders(tmp_path, 6)
    old = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert spark.run(config=spark_config(tmp_path, scratch="relative")).head.outcome == "warned"
    finally:
        os.chdir(old)


def rows(n: int = 60) -> list[dict[str, Any]]:
    return [
        {**golden, "answer": answer["answer"]} for golden, answer in zip(golden_rows(n), answer_rows(n, 7), strict=True)
    ]


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_data_frame_gets_the_scores_that_evaluate_gives(session: Any, tmp_path: Path, kind: str) -> None:
    from ragguard.sdk.spark import evaluate_spark

    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    df = session.read.json(str(path))
    if kind == "parquet":
        df.write.parquet(str(tmp_path / "in.parquet"))
        df = session.read.parquet(str(tmp_path / "in.parquet"))
    found = evaluate_spark(
        df, str(tmp_path / "out"), metrics=METRICS, judge="offline", embedder=NGRAMS, partitions=3, checkpoint=8
    )
    expected = evaluate(rows(), metrics=METRICS, judge="offline", embedder=NGRAMS)
    assert found.summary == expected.summary
    assert (found.n_refused, found.usage.calls) == (0, expected.usage.calls)
    records = {row["id"]: row["record"] for row in found.scores.collect()}
    assert records == {one.id: result_line(one).decode().rstrip("\n") for one in expected.records}
    assert not Path(f"{tmp_path / 'out'}.progress").exists()
    assert "heuristic" in found.notices[0]


def test_a_row_that_cannot_be_read_is_refused_and_the_others_are_scored(session: Any, tmp_path: Path) -> None:
    from ragguard.sdk.spark import evaluate_spark

    df = session.createDataFrame(
        [("a", "What?", "90"), ("b", None, "x"), ("c", "Wo?", None)], ["id", "question", "answer"]
    )
    found = evaluate_spark(df, str(tmp_path / "out"), metrics=["answer_relevance"], judge="offline", embedder=NGRAMS)
    assert found.n_refused == 1
    assert "question" in found.scores.where("refused is not null").first()["refused"]
    assert found.summary.metrics["answer_relevance"].count == 1
    assert found.summary.metrics["answer_relevance"].n_failed == 1
    with pytest.raises(UserInputError, match="there already"):
        evaluate_spark(df, str(tmp_path / "out"), metrics=["answer_relevance"], judge="offline", embedder=NGRAMS)


def test_a_call_that_was_cut_off_is_taken_up_by_the_next_one(session: Any, tmp_path: Path) -> None:
    from ragguard.sdk.spark import evaluate_spark

    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(40)), encoding="utf-8")
    df = session.read.json(str(path))
    with judge_server() as server:
        settings: dict[str, Any] = {
            "metrics": ["faithfulness"],
            "judge": {"model": "openai/judge", "api_base": server.url, "concurrency": 2},
            "cache": False,
            "partitions": 2,
            "checkpoint": 4,
        }
        with pytest.raises(BudgetError, match="the budget is spent"):
            evaluate_spark(df, str(tmp_path / "out"), budget={"max_calls": 24}, **settings)
        first = server.stats.calls
        assert 0 < first <= 24
        found = evaluate_spark(df, str(tmp_path / "out"), **settings)
        assert found.usage.calls + found.usage.cached_calls == 40
        assert found.usage.cached_calls >= 16
        assert server.stats.calls == first + found.usage.calls


def test_settings_that_cannot_be_sent_are_refused_before_anything_is_done(session: Any, tmp_path: Path) -> None:
    from ragguard.sdk.spark import evaluate_spark

    df = session.createDataFrame([("a", "What?", "90")], ["id", "question", "answer"])
    with pytest.raises(ConfigError, match="the settings are wrong"):
        evaluate_spark(df, str(tmp_path / "out"), metrics=["faithfulness"], judge=object())
    with pytest.raises(ConfigError, match="need a judge"):
        evaluate_spark(df, str(tmp_path / "out"), metrics=["faithfulness"])
    with pytest.raises(ConfigError, match="progress"):
        evaluate_spark(df, "hdfs://somewhere/out", metrics=["answer_relevance"], judge="offline", embedder=NGRAMS)


def test_the_workers_run_this_python(session: Any) -> None:
    versions = session.range(2).mapInPandas(_version, "version string").collect()
    assert {row["version"] for row in versions} == {sys.version}


def _version(frames: Any) -> Any:
    import pandas as pd

    for _ in frames:
        yield pd.DataFrame({"version": [sys.version]})


def test_an_interrupted_run_ends_the_spark_job(session: Any, tmp_path: Path) -> None:
    """Cancelling the pipeline cancels the job: the next one gets the workers at once."""
    from ragguard.app.pipeline import run_pipeline

    _, spark = two_folders(tmp_path, 300)
    with judge_server(latency_s=0.5) as server:
        judge = json.dumps({"model": "openai/judge", "api_base": server.url, "concurrency": 2})
        request = spark.request(config=spark_config(tmp_path, CONFIG.replace("{model: offline}", judge)))

        async def story() -> Any:
            task = asyncio.ensure_future(run_pipeline(request))
            while server.stats.calls < 3:  # noqa: ASYNC110 - the server is a thread
                await asyncio.sleep(0.1)
            task.cancel()
            return await task

        report = asyncio.run(story())
        assert report.exit_code == ExitCode.INTERRUPTED
        seen = server.stats.calls
        spark.run(config=spark_config(tmp_path, CONFIG))
        assert server.stats.calls <= seen + 4

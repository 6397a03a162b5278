"""A bench as settings: built again it scores the same, and its parts together keep every limit."""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
from pathlib import Path

import pytest

from ragguard.adapters.executors import LocalExecutor, SparkExecutor
from ragguard.adapters.judges.cached import CachedJudge
from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.app.bench_kit import BenchSettings, Kit
from ragguard.app.config import Config
from ragguard.app.load import build_bench, build_embedder, build_judge
from ragguard.app.own_metrics import load_metric
from ragguard.app.read_config import parse_config
from ragguard.core.elsewhere import Paid
from ragguard.core.evaluation import Bench
from ragguard.errors import BudgetError

CONFIG = """
pipeline: {dataset: golden.jsonl}
judge: {model: openai/judge, api_base: "http://127.0.0.1:9/v1", rpm: 100, tpm: 50001, concurrency: 7}
embedder: {type: offline, backend: ngrams}
metrics: [faithfulness, {type: ndcg, k: 5}, {type: answer_relevance, strictness: 2}]
budget: {max_calls: 50, max_tokens: 1000, max_usd: 2.5}
"""


def parsed(text: str = CONFIG) -> Config:
    return parse_config(text, "ragguard.yaml", {}, {}, load_metric)


def built(config: Config, folder: Path) -> tuple[Bench, Kit]:
    judge = build_judge(config, folder)
    embedder = build_embedder(config, {}, [])
    bench = build_bench(config, judge.judge, embedder)
    return bench, Kit.of(config, bench.metrics, embedder, folder, use_cache=True, ledger=judge.budget)


def fingerprints(bench: Bench) -> dict[str, str]:
    return {metric.id: bench.fingerprint(metric).digest for metric in bench.metrics}


def sent(part: BenchSettings) -> BenchSettings:
    """A part on its way: as plain JSON and as Spark sends it."""
    arrived = BenchSettings.model_validate_json(part.model_dump_json())
    assert arrived.model_dump() == part.model_dump()
    copied: BenchSettings = pickle.loads(pickle.dumps(part))
    assert copied.model_dump() == part.model_dump()
    return arrived


def test_the_parts_of_every_limit_are_the_whole_limit(tmp_path: Path) -> None:
    _, kit = built(parsed(), tmp_path)
    assert kit.most_parts == 7
    parts = [sent(kit.part(number, 7)) for number in range(7)]
    judges = [part.judges[0] for part in parts]
    assert all(isinstance(judge, LiteLLMJudge) for judge in judges)
    for field, whole in (("rpm", 100), ("tpm", 50001), ("concurrency", 7)):
        assert sum(getattr(judge, field) for judge in judges) == whole
    assert sum(part.budget.max_calls or 0 for part in parts) == 50
    assert sum(part.budget.max_tokens or 0 for part in parts) == 1000
    assert sum(part.budget.max_usd or 0 for part in parts) == pytest.approx(2.5)


def test_what_was_paid_is_no_longer_divided(tmp_path: Path) -> None:
    _, kit = built(parsed(), tmp_path)
    kit.book(Paid(calls=45, tokens=400, usd=0.5))
    assert kit.most_parts == 5
    assert kit.part(0, 2).budget.model_dump() == {"max_usd": 1.0, "max_calls": 3, "max_tokens": 300}
    kit.book(Paid(calls=5))
    with pytest.raises(BudgetError, match="max_calls is 50"):
        kit.part(0, 1)


def test_a_part_that_was_tried_before_has_what_that_try_left(tmp_path: Path) -> None:
    _, kit = built(parsed(), tmp_path)
    opened = kit.part(0, 1).open(Paid(calls=49, tokens=10, usd=None))
    assert opened.ledger.budget.model_dump() == {"max_usd": 2.5, "max_calls": 1, "max_tokens": 990}
    assert opened.paid == Paid(calls=49, tokens=10, usd=None)
    with pytest.raises(BudgetError):
        kit.part(0, 1).open(Paid(calls=50))


def test_a_run_without_limits_can_be_divided_at_will(tmp_path: Path) -> None:
    _, kit = built(parsed(CONFIG.replace("openai/judge", "offline").replace("budget:", "cache:").replace(
        "{max_calls: 50, max_tokens: 1000, max_usd: 2.5}", "{enabled: true}")), tmp_path)  # fmt: skip
    assert kit.most_parts is None


def test_built_again_it_has_the_same_fingerprints_and_the_runs_cache(tmp_path: Path) -> None:
    bench, kit = built(parsed(), tmp_path)
    opened = sent(kit.part(0, 1)).open(Paid())
    assert fingerprints(opened.bench) == fingerprints(bench)
    assert isinstance(opened.bench.judge, CachedJudge)
    assert opened.bench.judge._file.path == tmp_path.resolve() / ".ragguard/cache.sqlite"
    asyncio.run(opened.aclose())


def test_elsewhere_the_users_templates_are_there_too(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "templates" / "judge").mkdir(parents=True)
    (folder / "templates" / "judge" / "claims.j2").write_text("Của tôi: {{ lines | length }}", encoding="utf-8")
    bench, kit = built(parsed(CONFIG + "templates: templates\n"), folder)
    part = sent(kit.part(0, 1)).model_copy(update={"folder": "/nowhere/at/all"})
    opened = part.open(Paid())
    assert fingerprints(opened.bench) == fingerprints(bench)
    assert fingerprints(bench) != fingerprints(built(parsed(), folder)[0])
    scratch = Path(opened.templates.name if opened.templates else "")
    assert scratch.is_dir()
    asyncio.run(opened.aclose())
    assert not scratch.exists()


def test_a_metric_of_the_users_own_is_found_in_the_runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_metric_x.py").write_text(
        "from ragguard.core.metrics.base import Metric\n"
        "class Short(Metric):\n"
        "    type: str = 'short'\n"
        "    most: int = 10\n"
        "    async def score(self, sample, answer, tools):\n"
        "        return self.scored(float(len(answer.text) <= self.most))\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    bench, kit = built(parsed(CONFIG.replace("faithfulness,", "{type: 'their_metric_x:Short', most: 3},")), tmp_path)
    monkeypatch.chdir("/")
    sys.modules.pop("their_metric_x")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tmp_path)])
    opened = sent(kit.part(0, 1)).open(Paid())
    assert opened.bench.metrics[0].model_dump()["most"] == 3
    assert fingerprints(opened.bench) == fingerprints(bench)


def test_neither_keys_nor_the_target_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    target = "{type: http, url: 'https://x.example/hidden', headers_env: {Authorization: RAGGUARD_TARGET_KEY}}"
    config = CONFIG.replace("{dataset: golden.jsonl}", f"{{dataset: golden.jsonl, target: {target}}}")
    _, kit = built(parsed(config), tmp_path)
    line = kit.part(0, 1).model_dump_json()
    assert "sk-very" not in line
    assert "hidden" not in line
    assert json.loads(line)["judges"][0]["model"] == "openai/judge"


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("executor: {concurrency: 8}", LocalExecutor),
        ("executor: local", LocalExecutor),
        ("executor: spark", SparkExecutor),
        ("executor: {type: spark, master: 'local-cluster[2,1,1024]', partitions: 4}", SparkExecutor),
    ],
)
def test_the_config_names_the_executor(written: str, kind: type) -> None:
    assert type(parsed(CONFIG + written + "\n").executor) is kind


def test_a_majority_stays_a_majority_elsewhere(tmp_path: Path) -> None:
    asked_twice = CONFIG.replace("judge: {", "judge: {repeats: 2, ")
    bench, kit = built(parsed(asked_twice + "vote: majority\n"), tmp_path)
    opened = sent(kit.part(0, 1)).open(Paid())
    assert (bench.vote, opened.bench.vote) == ("majority", "majority")
    assert fingerprints(opened.bench) == fingerprints(bench)
    assert fingerprints(bench) != fingerprints(built(parsed(asked_twice), tmp_path)[0])

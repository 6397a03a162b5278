"""`evaluate` with a judge and an embedder behind real servers on this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ragguard import aevaluate, evaluate
from ragguard.errors import BudgetError
from tests.parts.embedding_server import embedding_server
from tests.parts.judge_server import judge_server
from tests.parts.processes import HOST, free_ports
from tests.unit.sdk.cases import rows

FIVE = ["faithfulness", "context_relevance", "answer_relevance", "context_recall", "context_precision"]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_the_five_metrics_take_four_calls_a_sample_in_any_kind_of_loop(tmp_path: Path) -> None:
    given = [{**row, "reference": "150.000 đồng"} for row in rows(3)]
    with judge_server() as server, embedding_server() as vectors:
        judge = {"model": "openai/judge", "api_base": server.url}
        embedder = {"model": "vectors", "api_base": vectors.api_base}

        async def notebook() -> list[list[float | None]]:
            inside = evaluate(given, metrics=FIVE, judge=judge, embedder=embedder)
            awaited = await aevaluate(given, metrics=FIVE, judge=judge, embedder=embedder)
            return [[score.score for result in found for score in result] for found in (inside, awaited)]

        inside, awaited = asyncio.run(notebook())
        assert inside == awaited
        assert None not in inside
        assert server.stats.calls == 2 * 3 * 4
        cache = tmp_path / "judgments.sqlite"
        first = evaluate(given, metrics="faithfulness", judge=judge, cache=cache)
        again = evaluate(given, metrics="faithfulness", judge=judge, cache=cache)
        assert server.stats.calls == 24 + 3
        assert (again.usage.calls, again.usage.cached_calls) == (0, 3)
        assert again.faithfulness == first.faithfulness
        assert first.notices == ()


def test_a_budget_stops_before_it_is_passed() -> None:
    with judge_server() as server:
        judge = {"model": "openai/judge", "api_base": server.url}
        with pytest.raises(BudgetError):
            evaluate(rows(5), metrics="faithfulness", judge=judge, budget={"max_calls": 2})
        assert server.stats.calls <= 2


def test_a_fallback_judges_all_where_the_judge_cannot_be_used_and_that_is_said() -> None:
    (port,) = free_ports(1)
    with judge_server() as server:
        judge = {
            "model": "openai/dead", "api_base": f"http://{HOST}:{port}/v1", "timeout": 2,
            "fallbacks": [{"model": "openai/judge", "api_base": server.url}],
        }  # fmt: skip
        evaluation = evaluate(rows(2), metrics="faithfulness", judge=judge)
    assert evaluation.head.judge_models == ("openai/judge",)
    assert "Judged by a fallback" in evaluation.notices[0]


def test_a_panel_votes_and_tells_how_far_its_judges_and_their_repeats_differ() -> None:
    with judge_server() as lenient, judge_server(verdict=lambda *_: "absent") as strict:
        judges = [
            {"model": "openai/a", "api_base": lenient.url, "repeats": 2},
            {"model": "openai/b", "api_base": strict.url},
        ]
        voted = evaluate(rows(2), metrics="faithfulness", judge=judges, vote="majority")
        mean = evaluate(rows(2), metrics="faithfulness", judge=judges)
    assert (voted.faithfulness, mean.faithfulness) == (1.0, pytest.approx(2 / 3))
    assert (voted.head.vote, mean.head.vote) == ("majority", "mean")
    told = voted.head.agreement_by_task["claims"]
    assert (told.disagreement, told.flip_rate, told.n_tied) == (1.0, 0.0, 0)
    assert told.n_voted == told.n_compared == told.n_repeated > 0
    assert mean.head.agreement_by_task["claims"].n_voted == 0
    assert voted.head.usage_by_task["claims"].calls == 6

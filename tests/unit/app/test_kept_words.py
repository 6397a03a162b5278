"""What a failure says is cleaned before it is kept, whoever said it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.fakes.small_runs import CONFIG, SmallRuns

KEY = "8f2e77aa90bc41dd9e"
METRIC = f"""
from ragguard.core.metrics.faithfulness import Faithfulness


class Own(Faithfulness):
    async def score(self, sample, answer, tools):
        raise RuntimeError("401 for {KEY}")
"""


def test_no_file_holds_a_key_that_a_users_own_metric_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "code"), *sys.path])
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "own_metric_that_fails.py").write_text(METRIC, encoding="utf-8")
    runs = SmallRuns(tmp_path, n=3)
    report = runs.run(config=CONFIG.replace("[faithfulness,", "['own_metric_that_fails:Own',"))
    assert report.head.outcome == "error"
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any("RuntimeError: 401 for ***" in text for text in texts)
    assert not any(KEY in text for text in texts)

"""A whole `ragguard run` is killed (SIGKILL) at random moments, and nothing that it leaves behind does harm.

The processes are forked from one that has everything imported, so that the moments fall on the work and not on the
imports. Store and output folder are the same for ten kills in a row: what the killed runs leave there adds up.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ragguard.adapters.runfiles import parse_head, read_run
from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.entrypoints.cli import run_cli
from tests.fakes.small_runs import CONFIG, answer_rows, golden_rows, write_rows
from tests.parts.judge_server import Behaviour, JudgeServer, text_of
from tests.parts.local_http import in_a_thread
from tests.parts.warm_command import Running, Start, warm_command

KILLS = 50
JUDGED_KILLS = 10
CONCURRENCY = 4
A_MOMENT_S = 0.5
"""From a reply that was sent to the judgment that is kept."""
_RUN = ["run", "--answers", "bad.jsonl", "--output", "out"]
_DIFFER = {"run_id", "created_at", "execution", "usage", "usage_by_task", "samples"}
"""What two runs of the same thing may differ in; of the samples file the digest, by its judgments' sources."""
_PAID = {"source", "attempts"}
_REPORTS = "reporting: {format: [json, markdown, html, junit, csv]}\n"


def _prepared(folder: Path, config: str, n: int, wrong: int) -> Path:
    write_rows(folder / "golden.jsonl", golden_rows(n))
    write_rows(folder / "good.jsonl", answer_rows(n))
    rows = answer_rows(n, wrong)
    for row in rows[wrong:]:
        row["answer"] = f"{row['answer']} {row['answer']}"  # said twice: true, but never judged before
    write_rows(folder / "bad.jsonl", rows)
    (folder / "ragguard.yaml").write_text(config, encoding="utf-8")
    return folder


def _settled(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The run in the output folder without what two runs of the same thing may differ in."""
    head = json.loads((folder / "out/run.json").read_bytes())
    lines = (folder / "out/samples.jsonl").read_text("utf-8").splitlines()
    results = [json.loads(line) for line in lines]
    assert len(results) == head["samples"]["count"]
    for result in results:
        result["judgments"] = [{key: one[key] for key in one if key not in _PAID} for one in result["judgments"]]
    return {key: head[key] for key in head if key not in _DIFFER}, results


def _nothing_is_corrupt(folder: Path, since: float = 0) -> None:
    """Every file that has its name is whole; what is not whole is a draft, whose name begins with a dot.

    Args:
        folder: Is looked through.
        since: Files that were last changed before this time were looked at before.
    """
    for path in folder.rglob("*"):
        if path.name.startswith(".") or not path.is_file() or path.stat().st_mtime < since:
            continue
        if path.name == "run.json":
            parse_head(path.read_bytes(), str(path))
        elif path.suffix == ".json":
            json.loads(path.read_bytes())
        elif path.suffix == ".jsonl":
            assert all("id" in json.loads(line) for line in path.read_bytes().splitlines())
    if (folder / "out/run.json").exists():
        assert len(list(read_run(folder / "out").results())) > 0
    cache = folder / ".ragguard/cache.sqlite"
    if cache.exists():
        with closing(sqlite3.connect(cache)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _baseline_is(good: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the good run is a baseline, and the newest runs that the store shows can be read to their end."""
    capsys.readouterr()
    assert run_cli(["baseline", "show"]) == 0
    shown = capsys.readouterr().out
    assert "compared with 1 run(s)" in shown
    assert f"\n  {good}  " in shown
    store = DirectoryStore(uri=str(folder / ".ragguard/runs"))
    for head in store.heads("small", limit=2):
        assert len(list(store.samples(head.run_id))) > 0


def _stage(folder: Path) -> str:
    """How far a killed run has got, by what it left."""
    out, runs = folder / "out", folder / ".ragguard/runs/runs"
    if (folder / "summary.md").exists():
        return "told"
    if (out / "report.json").exists():
        return "reported"
    if (out / "run.json").exists():
        stored = read_run(out).head.run_id
        return "stored" if (runs / stored / "run.json").exists() else "decided"
    return "judging" if (out / ".samples.jsonl.part").exists() else "begun"


def _killed(running: Running, after_s: float) -> bool:
    """Kills a process after a time; False where it has ended before."""
    time.sleep(after_s)
    with suppress(ProcessLookupError):
        running.kill(signal.SIGKILL)
    return running.wait() == -signal.SIGKILL


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    with warm_command("ragguard.adapters.renderers.html", "ragguard.app.letters") as starts:
        yield starts


def test_nothing_half_done_is_ever_a_baseline(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(_prepared(tmp_path, CONFIG + _REPORTS, 40, 12))
    told = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_ACTIONS": "true"}
    assert start(["run", "--answers", "good.jsonl", "--output", "good"], tmp_path).wait() == 0
    good = read_run(tmp_path / "good").head.run_id
    began = time.monotonic()
    assert start(_RUN, tmp_path, told).wait() == 1
    takes = time.monotonic() - began
    expected = _settled(tmp_path)
    assert expected[0]["comparison"]["looks"]
    pristine = Path(shutil.copytree(tmp_path / ".ragguard", tmp_path / "pristine"))

    chance, stages, kills, moments = random.Random(20260401), Counter[str](), 0, 0
    while kills < KILLS:
        for leftover in (tmp_path / "out", tmp_path / "summary.md"):
            shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink(missing_ok=True)
        if kills % 10 == 0:  # what ten kills left is enough; reading ever more runs takes the test's time
            shutil.rmtree(tmp_path / ".ragguard")
            shutil.copytree(pristine, tmp_path / ".ragguard")
        moments += 1
        assert moments < 4 * KILLS, "the run ends before it can be killed"
        after_s = takes * (kills % 10 + chance.random()) / 10  # spread over the run's length, in tenths
        beginning = time.time()
        if not _killed(start(_RUN, tmp_path, told), after_s):
            takes *= 0.95
            continue
        kills += 1
        stages[_stage(tmp_path)] += 1
        _nothing_is_corrupt(tmp_path, beginning)
        _baseline_is(good, tmp_path, capsys)
        again = start(_RUN, tmp_path, told)
        assert again.wait() == 1, again.said
        assert _settled(tmp_path) == expected
    _nothing_is_corrupt(tmp_path)
    with capsys.disabled():
        print(f"\n{kills} kills over {takes:.2f} s: {dict(stages)}")
    assert len(stages) >= 3, stages


@dataclass
class Ledger(JudgeServer):
    """A judge that takes down when each prompt came and was answered."""

    asked: list[tuple[float, str]] = field(default_factory=list)
    answered: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        JudgeServer.__init__(self, Behaviour(latency_s=0.1))

    async def _chat(self, request: dict[str, Any]) -> dict[str, Any]:
        prompt = text_of(request)
        self.asked.append((time.monotonic(), prompt))
        reply = await super()._chat(request)
        self.answered.setdefault(prompt, []).append(time.monotonic())
        return reply

    def counts(self, since: int) -> Counter[str]:
        """How often each prompt was asked from the so-manieth call on."""
        return Counter(prompt for _, prompt in self.asked[since:])

    def open_at(self, moment: float, prompt: str) -> int:
        """How often a prompt was asked before a moment, and not answered well before it; looks ask it twice at once."""
        came = sum(when < moment for when, one in self.asked if one == prompt)
        went = sum(when < moment - A_MOMENT_S for when in self.answered.get(prompt, []))
        return came - went


_JUDGED = f"""
suite: small
pipeline: {{dataset: golden.jsonl}}
judge: {{model: openai/judge, api_base: 'URL', concurrency: {CONCURRENCY}}}
embedder: {{type: offline, backend: ngrams}}
metrics: [faithfulness, context_relevance]
"""


def test_no_call_is_paid_twice_but_those_in_flight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, key = Ledger(), {"OPENAI_API_KEY": "key"}
    with in_a_thread(judge.handle) as judge.port, warm_command("litellm") as start:
        first = _prepared(tmp_path, _JUDGED.replace("URL", judge.url), 40, 12)
        assert start(["run", "--answers", "good.jsonl", "--output", "good"], first, key).wait() == 0
        good = read_run(first / "good").head.run_id
        (first / ".ragguard/cache.sqlite").unlink()
        folders = [Path(shutil.copytree(first, tmp_path / f"copy-{number}")) for number in range(6)]

        since, began = len(judge.asked), time.monotonic()
        assert start(_RUN, first, key).wait() == 1
        takes = time.monotonic() - began
        expected, once = _settled(first), judge.counts(since)
        assert expected[0]["comparison"]["looks"]

        chance, kills, repeats = random.Random(20260402), 0, 0
        for folder in folders:
            monkeypatch.chdir(folder)
            since, moments = len(judge.asked), list[float]()
            while kills < JUDGED_KILLS and _killed(
                running := start(_RUN, folder, key), takes * chance.uniform(0.1, 0.4)
            ):
                moments.append(time.monotonic())
                kills += 1
                _nothing_is_corrupt(folder)
                _baseline_is(good, folder, capsys)
            running = start(_RUN, folder, key)
            assert running.wait() == 1, running.said
            assert _settled(folder) == expected
            repeats += _only_open_calls_are_repeated(judge, since, once, moments)
            if kills >= JUDGED_KILLS:
                break
    assert kills >= JUDGED_KILLS
    with capsys.disabled():
        print(f"\n{kills} kills over {takes:.2f} s, {sum(once.values())} calls a run, {repeats} asked again")


def _only_open_calls_are_repeated(judge: Ledger, since: int, once: Mapping[str, int], moments: list[float]) -> int:
    asked = judge.counts(since)
    assert asked.keys() == once.keys()
    repeated = {prompt: count - once[prompt] for prompt, count in asked.items() if count != once[prompt]}
    for prompt, more in repeated.items():
        assert 0 < more <= sum(judge.open_at(moment, prompt) for moment in moments), prompt
    assert sum(repeated.values()) <= CONCURRENCY * len(moments)
    return sum(repeated.values())

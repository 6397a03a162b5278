"""The process is stopped, killed, cut off from its streams, started without locale or home, or meets another one."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from ragguard.adapters.runfiles import read_run
from ragguard.adapters.stores.directory import DirectoryStore
from ragguard.app.pipeline import run_pipeline
from tests.fakes.small_runs import CONFIG, START, SmallRuns, answer_rows, write_rows
from tests.faults.fault import Fault
from tests.faults.scene import WRONG, Came, N, Scene, hold, is_whole
from tests.parts.warm_command import Start, warm_command

UNSTORED = "what was done in --output; nothing in the store; the next run is whole"
DRAFT = "what was done, whole lines of .samples.jsonl.part; the next run is whole"
NOTHING = "the store as it was; the next run is whole"
STORED = "the run, stored"
BOTH = "both runs, stored"
FIRST = "the first run, stored; nothing of the second"

ALARM = '''
import os, signal, time
from pathlib import Path
from typing import ClassVar, Literal
from ragguard import Metric

class Alarm(Metric):
    """Sends a signal to its own process, or waits for a file, at its n-th answer."""

    type: Literal["alarm"] = "alarm"
    at: int
    what: str
    needs: ClassVar[tuple[str, ...]] = ("answer",)

    async def score(self, sample, answer, tools):
        seen = Path("seen")
        with seen.open("a") as file:
            file.write("x")
        if seen.stat().st_size == self.at:
            if self.what == "wait":
                while not Path("go").exists():
                    time.sleep(0.01)
            else:
                os.kill(os.getpid(), getattr(signal, self.what))
        return self.scored(1.0 if "9" not in answer.text else 0.0)
'''
TARGET = "import os, signal, sys, time; os.kill(os.getppid(), signal.{what}); time.sleep(1); print('{{}}')"


@dataclass(frozen=True)
class Stopped:
    """A fault of a process.

    Attributes:
        what: The signal.
        at: At which answer that is scored; 0: while answers are asked for.
    """

    fault: Fault
    what: str
    at: int


def _fault(name: str, outcome: str, code: int, kept: str, says: str, shown: str = "") -> Fault:
    return Fault("process", name, outcome, code, kept, says, shown)


def _stopped(name: str, at: int, what: str) -> Stopped:
    return Stopped(_fault(name, "error", 130, UNSTORED, "interrupted: what was done is kept"), what, at)


STOPPED = (
    Stopped(_fault("SIGTERM while answers are asked for", "-", 130, NOTHING, "ragguard: interrupted"), "SIGTERM", 0),
    Stopped(_fault("SIGINT while answers are asked for", "-", 130, NOTHING, "ragguard: interrupted"), "SIGINT", 0),
    _stopped("SIGTERM at the first answer that is scored", 1, "SIGTERM"),
    _stopped("SIGTERM in the middle", 10, "SIGTERM"),
    _stopped("SIGINT in the middle", 10, "SIGINT"),
    _stopped("SIGTERM during a look", 24, "SIGTERM"),
    _stopped("SIGINT during a look", 24, "SIGINT"),
    Stopped(_fault("SIGKILL in the middle", "-", -9, NOTHING, "", "—"), "SIGKILL", 10),
    Stopped(_fault("SIGKILL during a look", "-", -9, DRAFT, "", "—"), "SIGKILL", 24),
)


@pytest.fixture
def scene(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene(tmp_path, capsys, monkeypatch)
    made.put_good_run()
    return made


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    with warm_command() as starts:
        yield starts


def _with_alarm(scene: Scene, what: str, at: int) -> None:
    (scene.folder / "alarms.py").write_text(ALARM, encoding="utf-8")
    metrics = f"metrics: [faithfulness, context_relevance, {{type: 'alarms:Alarm', what: {what}, at: {at}}}]"
    config = re.sub("metrics: .*", metrics, CONFIG)
    if at == 0:
        target = f"{{type: command, command: ['{sys.executable}', -c, \"{TARGET.format(what=what)}\"]}}"
        config = config.replace("{dataset: golden.jsonl}", f"{{dataset: golden.jsonl, target: {target}}}")
    (scene.folder / "ragguard.yaml").write_text(config, encoding="utf-8")


def _run(start: Start, scene: Scene, *, answers: bool = True, output: str = "out/x") -> tuple[int, str]:
    arguments = ["run", "--output", output, "--sink", scene.sink, *(("--answers", "bad.jsonl") if answers else ())]
    running = start(arguments, scene.folder)
    return running.wait(), running.said


@pytest.mark.parametrize("stopped", STOPPED, ids=lambda stopped: stopped.fault.name)
def test_stopped(stopped: Stopped, scene: Scene, start: Start) -> None:
    _with_alarm(scene, stopped.what, stopped.at)
    scene.remember()
    code, words = _run(start, scene, answers=stopped.at > 0)
    scene.out = scene.folder / "out/x"
    hold(stopped.fault, Came(scene.outcome(), code, words), scene, KEPT)
    (scene.folder / "ragguard.yaml").write_text(CONFIG, encoding="utf-8")
    again = scene.run(output="out/x")
    assert (again.outcome, again.exit_code) == ("failed", 1), again.words
    assert _is_stored(scene)


def _unstored(scene: Scene) -> bool:
    saved = read_run(scene.out)
    assert all(result.scores for result in saved.results())  # read to its end: digest and count are the head's
    return scene.files() == scene.before and bool((scene.out / "report.md").read_text("utf-8"))


def _draft(scene: Scene) -> bool:
    lines = (scene.out / ".samples.jsonl.part").read_bytes()
    return scene.files() == scene.before and lines.count(b"\n") > 0 and not (scene.out / "run.json").exists()


def _is_stored(scene: Scene) -> bool:
    return is_whole(scene.out) and read_run(scene.out).head.run_id in scene.stored()


def _both(scene: Scene) -> bool:
    ids = {read_run(scene.folder / name).head.run_id for name in ("out/1", "out/2")}
    return ids < set(scene.stored()) and is_whole(scene.folder / "out/1") and is_whole(scene.folder / "out/2")


KEPT = {
    UNSTORED: _unstored,
    DRAFT: _draft,
    NOTHING: lambda scene: scene.files() == scene.before,
    STORED: _is_stored,
    BOTH: _both,
    FIRST: lambda scene: _is_stored(scene) and len(scene.stored()) == 2,
}


# Two at once.

TOGETHER = (
    _fault("two runs in one store at once", "failed", 1, BOTH, "fell by 35.00 points"),
    _fault("a second run into the same --output", "-", 2, FIRST, "another run is writing there"),
)


def test_two_runs_in_one_store_at_once(scene: Scene, start: Start) -> None:
    both = [
        start(["run", "--answers", "bad.jsonl", "--output", f"out/{number}", "--sink", scene.sink], scene.folder)
        for number in (1, 2)
    ]
    for number, running in enumerate(both, 1):
        code = running.wait()
        scene.out = scene.folder / f"out/{number}"
        hold(TOGETHER[0], Came(scene.outcome(), code, running.said), scene, {BOTH: lambda _scene: True})
    assert _both(scene)


def test_two_runs_into_one_output_at_once(scene: Scene, start: Start) -> None:
    _with_alarm(scene, "wait", 5)
    first = start(["run", "--answers", "bad.jsonl", "--output", "out/x", "--sink", scene.sink], scene.folder)
    end = time.monotonic() + 30
    while not (scene.folder / "seen").exists() or (scene.folder / "seen").stat().st_size < 5:
        assert time.monotonic() < end, first.said
        time.sleep(0.02)
    code, words = _run(start, scene)
    (scene.folder / "go").touch()
    assert first.wait() == 1, first.said
    scene.out = scene.folder / "out/x"
    hold(TOGETHER[1], Came("-", code, words), scene, KEPT)


# What a process is born with: these are started anew, since it is the start that is broken.


@dataclass(frozen=True)
class Born:
    """A fault of streams or environment; `shell` puts it around the command."""

    fault: Fault
    shell: str = "{command}"
    environment: Mapping[str, str | None] | None = None


def _failed(name: str, says: str = "fell by 35.00 points", shown: str = "") -> Fault:
    return _fault(name, "failed", 1, STORED, says, shown)


BORN = (
    Born(_failed("nobody reads standard output (`| true`)", "evaluate: 20/20"), "{command} 2>words | true; exit ${{PIPESTATUS[0]}}"),
    Born(_failed("standard output is a full disk", "standard output cannot be written"), "{command} >/dev/full 2>words"),
    Born(_failed("standard input, output and error are closed", "", "—"), "{command} <&- >&- 2>&-"),
    Born(
        _failed("no locale: C, ASCII"),
        "{command} >words 2>&1",
        {"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"},
    ),
)  # fmt: skip


@pytest.mark.parametrize("born", BORN, ids=lambda born: born.fault.name)
def test_born(born: Born, scene: Scene) -> None:
    command = f"'{sys.executable}' -m ragguard run --answers bad.jsonl --output out/x --sink '{scene.sink}'"
    environment = {**os.environ, **(born.environment or {})}
    environment = {name: value for name, value in environment.items() if value is not None}
    done = subprocess.run(
        ["bash", "-c", born.shell.format(command=command)], cwd=scene.folder, env=environment, check=False, timeout=60
    )
    words = scene.folder / "words"
    said = words.read_text(encoding="utf-8") if words.exists() else ""
    scene.out = scene.folder / "out/x"
    hold(born.fault, Came(scene.outcome(), done.returncode, said), scene, KEPT)
    text = (scene.out / "samples.jsonl").read_text(encoding="utf-8")
    assert "Học phí khóa" in text
    assert "门课程的学费是" in text


# What can be told to a process that is forked.

SURROUNDED: tuple[tuple[Fault, dict[str, str | None]], ...] = (
    (_failed("no HOME, USER, LANG and TZ"), dict.fromkeys(("HOME", "USER", "LOGNAME", "LANG", "TZ"))),
    (_failed("a time zone that is none"), {"TZ": "Nowhere/Atlantis"}),
    (_failed("another time zone than the baseline's"), {"TZ": "Asia/Ho_Chi_Minh"}),
)


@pytest.mark.parametrize(("fault", "environment"), SURROUNDED, ids=[fault.name for fault, _ in SURROUNDED])
def test_surrounded(fault: Fault, environment: dict[str, str | None], scene: Scene, start: Start) -> None:
    arguments = ["run", "--output", "out/x", "--sink", scene.sink, "--answers", "bad.jsonl"]
    running = start(arguments, scene.folder, environment)
    code = running.wait()
    scene.out = scene.folder / "out/x"
    hold(fault, Came(scene.outcome(), code, running.said), scene, KEPT)


# The clock.


@dataclass(frozen=True)
class Clock:
    """A fault of the clock: hours from the baseline's to the run's beginning, and from there to its end."""

    fault: Fault
    begins: float
    lasts: float = 0.001


CLOCKS = (
    Clock(_failed("the clock was a day ahead when the baseline was made"), -24),
    Clock(_failed("the clock jumps back an hour in the middle of a run"), 1, -1),
    Clock(_failed("the clock stands at 1970"), -24 * 365.25 * 56),
    Clock(_failed("the clock does not move"), 0, 0),
)


@pytest.mark.parametrize("clock", CLOCKS, ids=lambda clock: clock.fault.name)
def test_clock(clock: Clock, tmp_path: Path) -> None:
    runs = SmallRuns(tmp_path, N)
    assert runs.run().exit_code == 0
    write_rows(tmp_path / "answers.jsonl", answer_rows(N, WRONG))
    request = runs.request()
    begins = START + timedelta(days=1, hours=clock.begins)
    context = replace(request.context, now=begins, commit_time=None)
    report = asyncio.run(
        run_pipeline(replace(request, context=context, clock=lambda: begins + timedelta(hours=clock.lasts)))
    )
    fault = clock.fault
    assert (report.head.outcome, report.exit_code) == (fault.outcome, fault.exit_code)
    assert re.search(fault.says, report.head.reasons[0])
    store = DirectoryStore(uri=str(tmp_path / "store"))
    assert fault.kept == STORED
    assert {head.run_id for head in store.heads("small")} == {"run-1", "run-2"}


FAULTS: tuple[Fault, ...] = (
    *(one.fault for one in STOPPED),
    *TOGETHER,
    *(one.fault for one in BORN),
    *(fault for fault, _ in SURROUNDED),
    *(one.fault for one in CLOCKS),
)

"""The command as a process of its own, forked from one that has everything imported already: a second saved each time.

    with warm_command() as start:
        running = start(["run", "--quiet"], folder)      # a real process: signals reach it, its streams are files
        code = running.wait()                            # -9 where it was killed

`python -m tests.parts.warm_command` is what forks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
_POLL_S = 0.02


@dataclass
class Running:
    """A process that was started.

    Attributes:
        words: The file of what it says on both streams.
    """

    pid: int
    words: Path
    _code: Path

    def wait(self, timeout_s: float = 60) -> int:
        """Its exit code, negative for a signal."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if self._code.exists():
                return int(self._code.read_text())
            time.sleep(_POLL_S)
        raise TimeoutError(f"process {self.pid} has not ended")

    def kill(self, number: int) -> None:
        """Sends it a signal."""
        os.kill(self.pid, number)

    @property
    def said(self) -> str:
        """What it has said so far."""
        return self.words.read_text(encoding="utf-8")


Start = Callable[..., Running]


@contextmanager
def warm_command(*preloaded: str) -> Iterator[Start]:
    """Gives what starts the command: `start(arguments, folder, environment)`; None takes a variable away.

    Args:
        *preloaded: Modules that are imported besides.
    """
    command = [sys.executable, "-m", "tests.parts.warm_command", *preloaded]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    forker = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert forker.stdin is not None
    assert forker.stdout is not None
    sender, receiver = forker.stdin, forker.stdout
    count = 0

    def start(arguments: Sequence[str], folder: Path, environment: Mapping[str, str | None] | None = None) -> Running:
        nonlocal count
        count += 1
        words, code = folder / f"words-{count}.txt", folder / f"code-{count}.txt"
        task = {
            "arguments": list(arguments), "folder": str(folder), "words": str(words), "code": str(code),
            "environment": dict(environment or {}),
        }  # fmt: skip
        sender.write(json.dumps(task) + "\n")
        sender.flush()
        return Running(int(receiver.readline()), words, code)

    try:
        yield start
    finally:
        sender.close()
        forker.wait(timeout=30)
        receiver.close()


def main() -> None:
    """Forks a command for each line of standard input; a second fork waits for its end and writes it down."""
    for module in ("ragguard.app.pipeline", "ragguard.entrypoints.commands.run", *sys.argv[1:]):
        import_module(module)
    for line in sys.stdin:
        task = json.loads(line)
        reader, writer = os.pipe()
        if (waiter := os.fork()) == 0:
            os.close(reader)
            _wait_for(task, writer)
        os.close(writer)
        print(int(os.read(reader, 32)), flush=True)
        os.close(reader)
    while waiter:
        try:
            os.wait()
        except ChildProcessError:
            return


def _wait_for(task: dict[str, object], writer: int) -> None:
    pid = os.fork()
    if pid == 0:
        _become(task)
    os.write(writer, str(pid).encode())
    _, status = os.waitpid(pid, 0)
    code = Path(str(task["code"]))
    draft = code.with_suffix(".part")
    draft.write_text(str(os.waitstatus_to_exitcode(status)))
    draft.replace(code)
    os._exit(0)


def _become(task: dict[str, object]) -> None:
    from ragguard.entrypoints.cli import main as command

    os.chdir(str(task["folder"]))
    for name, value in task["environment"].items():  # type: ignore[attr-defined]
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    time.tzset()
    words = os.open(str(task["words"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, number in ((nothing, 0), (words, 1), (words, 2)):
        os.dup2(source, number)
    try:
        command(task["arguments"])  # type: ignore[arg-type]
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    os._exit(99)


if __name__ == "__main__":
    main()

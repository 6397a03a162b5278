"""A virtual environment of its own for each peer, installed by name and kept between runs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_INSTALL_S = 900
_IMPORT_S = 300


@dataclass(frozen=True)
class Tool:
    """A tool to measure.

    Attributes:
        name: Its name in the table.
        package: Its name in the index; empty for ragguard, which runs where this runs.
        module: What is imported to see whether it works.
        mends: What is installed besides where it does not import as it comes.
    """

    name: str
    package: str = ""
    module: str = ""
    mends: tuple[str, ...] = ()

    @property
    def script(self) -> Path:
        """Its runner."""
        return Path(__file__).with_name(f"{self.name}_run.py")


TOOLS = (
    Tool("ragguard"),
    # Releases from 0.4 on lack a module that ragas 0.4.3 imports.
    Tool("ragas", "ragas", "ragas", ("langchain-community<0.4",)),
    Tool("deepeval", "deepeval", "deepeval"),
    Tool("dingo", "dingo-python", "dingo.exec"),
)


@dataclass(frozen=True)
class Ready:
    """A tool that can be run.

    Attributes:
        tool: Which.
        python: Its interpreter.
        note: What had to be mended; empty for nothing.
    """

    tool: Tool
    python: str
    note: str = ""


class NotReadyError(Exception):
    """A tool could not be installed or imported; the message says why."""


def bench_folder() -> Path:
    """Where environments are kept: RAGGUARD_BENCH_DIR, else a folder in the user's cache."""
    return Path(os.environ.get("RAGGUARD_BENCH_DIR") or Path.home() / ".cache" / "ragguard-bench")


def ready(tool: Tool) -> Ready:
    """Installs a tool where that has not been done.

    Raises:
        NotReadyError: It cannot be installed, or not be imported.
    """
    if not tool.package:
        return Ready(tool, sys.executable)
    home = bench_folder() / tool.package
    python = home / "bin" / "python"
    mended = home / "mended.txt"
    if not (home / "installed.txt").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.parent.mkdir(parents=True, exist_ok=True)
        _make(home)
        _install(python, [tool.package])
        problem = _import_problem(python, tool.module)
        if problem and tool.mends:
            _install(python, tool.mends)
            mended.write_text(f"as installed it does not import ({problem}); mended by {', '.join(tool.mends)}")
            problem = _import_problem(python, tool.module)
        if problem:
            raise NotReadyError(f"{tool.package} does not import: {problem}")
        (home / "installed.txt").touch()
    return Ready(tool, str(python), mended.read_text() if mended.exists() else "")


def _uv() -> str | None:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def _make(home: Path) -> None:
    uv = _uv()
    _done(
        [uv, "venv", "--quiet", "--python", sys.executable, str(home)]
        if uv
        else [sys.executable, "-m", "venv", str(home)]
    )


def _install(python: Path, packages: Sequence[str]) -> None:
    uv = _uv()
    start = (
        [uv, "pip", "install", "--quiet", "--python", str(python)]
        if uv
        else [str(python), "-m", "pip", "install", "--quiet"]
    )
    _done([*start, *packages])


def _done(command: Sequence[str]) -> None:
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotReadyError(f"{' '.join(command)} took more than {_INSTALL_S} s") from error
    if found.returncode:
        raise NotReadyError(f"{' '.join(command)}: {_last_line(found.stderr)}")


def _import_problem(python: Path, module: str) -> str:
    """Why a module does not import; empty if it does."""
    command = [str(python), "-c", f"import {module}"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=_IMPORT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"no end after {_IMPORT_S} s"
    return _last_line(found.stderr) if found.returncode else ""


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1][:300]

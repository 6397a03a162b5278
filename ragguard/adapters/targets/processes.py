"""A child process with all that it starts: its own group, only the environment it is given, ended for certain."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

_READ_BYTES: Final = 2**16
_STDERR_KEPT: Final = 4096
_POLITE_S: Final = 1.0
_POLL_S: Final = 0.02
_STDERR_WAIT_S: Final = 1.0


@dataclass
class ChildGroup:
    """A running command.

    Attributes:
        process: The command itself, with its pipes.
        transport: What closes the pipes, even those that a stray grandchild holds open.
        stderr_tail: The last 4 kB that it wrote to stderr.
    """

    process: Process
    transport: asyncio.SubprocessTransport
    stderr_tail: bytearray = field(default_factory=bytearray)
    _stderr: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, command: Sequence[str], environment: Mapping[str, str]) -> ChildGroup:
        """Starts a command in a process group of its own.

        Raises:
            OSError: It cannot be started.
        """
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=_READ_BYTES, loop=loop),
            *command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=dict(environment),
            start_new_session=True,
        )
        child = cls(Process(transport, protocol, loop), transport)
        child._stderr = asyncio.create_task(child._keep_stderr())
        return child

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self.process.returncode

    async def feed(self, rows: Sequence[bytes]) -> None:
        """Writes rows to stdin and closes it; a command that does not read them all is no error here."""
        stdin = self.process.stdin
        if stdin is None:
            return
        with suppress(ConnectionError):
            for row in rows:
                stdin.write(row)
                await stdin.drain()
        stdin.close()

    async def read(self) -> bytes:
        """Returns the next bytes of stdout; none at its end."""
        stdout = self.process.stdout
        return b"" if stdout is None else await stdout.read(_READ_BYTES)

    async def end(self) -> None:
        """Ends the whole group: politely, then for certain; returns when the command is gone."""
        try:
            if self.returncode is None:
                self._signal(signal.SIGTERM)
                await self._exited(_POLITE_S)
        finally:
            # Whatever it left behind in its group goes too, even when we are hurried.
            self._signal(signal.SIGKILL)
        if self._stderr is not None:
            await asyncio.wait([self._stderr], timeout=_STDERR_WAIT_S)
            self._stderr.cancel()
            await asyncio.gather(self._stderr, return_exceptions=True)
        self.transport.close()
        await self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    async def _exited(self, seconds: float) -> None:
        # Process.wait() also waits for the pipes, which a grandchild may hold open.
        for _ in range(int(seconds / _POLL_S)):
            if self.returncode is not None:
                return
            await asyncio.sleep(_POLL_S)

    async def _keep_stderr(self) -> None:
        stderr = self.process.stderr
        while stderr is not None and (chunk := await stderr.read(_READ_BYTES)):
            self.stderr_tail += chunk
            del self.stderr_tail[:-_STDERR_KEPT]

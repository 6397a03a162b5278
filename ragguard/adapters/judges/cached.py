"""A judge that remembers: accepted judgments are kept in one SQLite file, so that nothing is paid for twice.

Several processes may use the file at once. Values are JSON. A file or an entry that cannot be used costs calls, never
the run: it is put aside, and said.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from pydantic import ValidationError

from ragguard.adapters.judges.replies import Accepted, check
from ragguard.core.ports import Judge
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key
from ragguard.core.tasks import Task

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS judgments (
    key TEXT PRIMARY KEY, task TEXT NOT NULL, value TEXT NOT NULL, made REAL NOT NULL, used REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS by_use ON judgments (used);
"""
_LONGEST_VALUE = 10_000_000
"""Bytes of a judgment; what is longer was not written by us."""
_OBJECTS = "SELECT type, name, sql FROM sqlite_master"
_DAY_S = 86_400.0
_BUSY_S = 30.0
_TOUCH_AFTER_S = 3_600.0
_EVICT_EVERY = 200
_MEGABYTE = 1_000_000


class JudgmentFile:
    """The file: judgments by key, bounded in size and age.

    Args:
        path: The SQLite file; made with its folders where it is not there.
        ttl_days: Older entries are not used; None for no limit.
        max_mb: Megabytes of judgments that are kept, the last used ones.
        now: Seconds since the epoch.

    Attributes:
        notices: What a reader must know: a file that was put aside, a disk that is full.
    """

    def __init__(
        self, path: Path, *, ttl_days: float | None, max_mb: float, now: Callable[[], float] = time.time
    ) -> None:
        self.path = path
        self.notices: list[str] = []
        self._ttl_s = None if ttl_days is None else ttl_days * _DAY_S
        self._max_bytes = int(max_mb * _MEGABYTE)
        self._now = now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._opened: int | None = None
        self._off = False
        self._written = 0

    def get(self, key: str) -> str | None:
        """The JSON of a judgment, or None."""
        row = self._do(
            lambda db: db.execute("SELECT value, made, used FROM judgments WHERE key = ?", (key,)).fetchone()
        )
        if row is None:
            return None
        value, made, used = row
        now = self._now()
        if self._ttl_s is not None and now - made > self._ttl_s:
            return None
        if now - used > _TOUCH_AFTER_S:
            self._do(lambda db: db.execute("UPDATE judgments SET used = ? WHERE key = ?", (now, key)))
        return str(value)

    def put(self, key: str, task: str, value: str) -> None:
        """Keeps a judgment, and now and then drops the ones that were not used for longest."""
        now = self._now()
        row = (key, task, value, now, now)
        self._do(lambda db: db.execute("INSERT OR REPLACE INTO judgments VALUES (?, ?, ?, ?, ?)", row))
        self._written += 1
        if self._written % _EVICT_EVERY == 1:
            self._do(self._evict)

    def drop(self, key: str) -> None:
        """Forgets a judgment."""
        self._do(lambda db: db.execute("DELETE FROM judgments WHERE key = ?", (key,)))

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        with self._lock:
            self._disconnect()

    def _evict(self, db: sqlite3.Connection) -> None:
        if self._ttl_s is not None:
            db.execute("DELETE FROM judgments WHERE made < ?", (self._now() - self._ttl_s,))
        while _bytes_in_use(db) > self._max_bytes:
            (count,) = db.execute("SELECT COUNT(*) FROM judgments").fetchone()
            oldest = "SELECT key FROM judgments ORDER BY used, key LIMIT ?"
            db.execute(f"DELETE FROM judgments WHERE key IN ({oldest})", (count // 10 + 1,))  # noqa: S608
            if count <= 1:
                return

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Works on the file; whatever is wrong with it, the answer is None and the reason is said."""
        with self._lock:
            for last in (False, True):
                if self._off:
                    return None
                try:
                    return work(self._connected())
                except sqlite3.OperationalError as error:
                    self._give_up(f"the cache {self.path} cannot be used ({error}); going on without it")
                except sqlite3.DatabaseError as error:
                    self._put_aside(error, give_up=last)
                except OSError as error:
                    self._give_up(f"the cache {self.path} cannot be used ({error.strerror}); going on without it")
        return None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._connection = db
            self._opened = _inode(self.path)
            db.execute("PRAGMA trusted_schema = OFF")
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            _refuse_foreign_schema(db)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing; a power cut at most a few calls
            db.executescript(_SCHEMA)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _put_aside(self, error: sqlite3.DatabaseError, *, give_up: bool) -> None:
        self._disconnect()
        if _inode(self.path) != self._opened:  # another process was faster
            return
        aside = self.path.with_name(f"{self.path.name}.broken-{int(self._now())}")
        with contextlib.suppress(FileNotFoundError):
            self.path.replace(aside)
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self._say(f"the cache {self.path} was broken ({error}) and was moved to {aside.name}")
        if give_up:
            self._give_up(f"the cache {self.path} cannot be used; going on without it")

    def _give_up(self, notice: str) -> None:
        self._disconnect()
        self._off = True
        self._say(notice)

    def _say(self, notice: str) -> None:
        self.notices.append(notice)
        _LOG.warning("%s", notice)


class CachedJudge:
    """A judge whose accepted judgments are kept in a file, and taken from it.

    Args:
        judge: Who is asked where the file holds no answer.
        path: The file.
        ttl_days: Older judgments are not used; None for no limit.
        max_mb: Megabytes of judgments that are kept.
        now: Seconds since the epoch.

    Attributes:
        hits: Judgments taken from the file.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        path: Path,
        ttl_days: float | None = 30,
        max_mb: float = 512,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._judge = judge
        self._file = JudgmentFile(path, ttl_days=ttl_days, max_mb=max_mb, now=now)
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.hits = 0

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader must know of the cache: empty when all is well."""
        return tuple(self._file.notices)

    @property
    def fingerprint(self) -> str:
        """The judge's own."""
        return self._judge.fingerprint

    @property
    def models(self) -> tuple[str, ...]:
        """The judge's own."""
        return self._judge.models

    def prompt_digest(self, task: str) -> str:
        """The judge's own."""
        return self._judge.prompt_digest(task)

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        """The judge's own."""
        return self._judge.requests(task, repeat, session)

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        """Takes the judgment from the file, or asks for it and keeps it if it was accepted.

        Raises:
            JudgeError: The judge as a whole cannot be used.
            BudgetError: The budget is spent.
        """
        key = judgment_key(request)
        lock = self._asking.setdefault(key, asyncio.Lock())
        async with lock:  # the same question, asked twice at once, is paid for once
            known = self._known(key, task)  # a read takes less than handing it to a thread would
            if known is not None:
                self.hits += 1
                return known
            judgment = await self._judge.ask(task, request)
            if judgment.status == "ok":
                await asyncio.to_thread(self._file.put, key, request.task, judgment.model_dump_json())
            return judgment

    async def aclose(self) -> None:
        """Frees the judge's connections and closes the file."""
        await self._judge.aclose()
        self._file.close()

    def _known(self, key: str, task: Task) -> Judgment | None:
        value = self._file.get(key)
        if value is None:
            return None
        try:
            judgment = Judgment.model_validate_json(value)
        except ValidationError:
            judgment = None
        if judgment is None or judgment.key != key or judgment.status != "ok" or not _answers(judgment, task):
            self._file.drop(key)
            return None
        return judgment.model_copy(update={"source": "cached", "attempts": 0})


def _refuse_foreign_schema(db: sqlite3.Connection) -> None:
    """Makes sure that the file holds our table and nothing that runs by itself: no view, no trigger, no other column.

    Raises:
        sqlite3.OperationalError: It holds something else, and is left as it is.
    """
    with contextlib.closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(_SCHEMA)
        expected = set(ours.execute(_OBJECTS))
    if found := set(db.execute(_OBJECTS)) - expected:
        kinds = ", ".join(sorted({str(kind)[:20] for kind, _, _ in found}))
        raise sqlite3.OperationalError(f"it was made by somebody else: {kinds}")


def _inode(path: Path) -> int | None:
    with contextlib.suppress(OSError):
        return path.stat().st_ino
    return None


def _bytes_in_use(db: sqlite3.Connection) -> int:
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _answers(judgment: Judgment, task: Task) -> bool:
    """Whether a kept judgment answers what is asked: the file is as little to be trusted as a judge."""
    return check(judgment.output, task) == Accepted(judgment.output)

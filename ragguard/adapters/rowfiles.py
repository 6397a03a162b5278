"""Files of rows (data sets, answers): streamed, with every bad row named by file, line and field."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from ragguard.adapters.addresses import Access, redacted
from ragguard.adapters.objects import read_lines
from ragguard.core.fields import Problem
from ragguard.core.row_values import RowError
from ragguard.core.rows import parse_row
from ragguard.errors import DatasetError

MAX_DETAILS = 20

T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"
_JSON_LINES = "ragguard reads JSON Lines, one object a line"
_FOREIGN = (
    ((b"\xff\xfe", b"\xfe\xff"), "is UTF-16", "save it as UTF-8"),
    (
        (b"PAR1",),
        "is a Parquet file",
        f"{_JSON_LINES}: pandas.read_parquet(…).to_json(…, orient='records', lines=True)",
    ),
    ((b"PK\x03\x04",), "is a ZIP file or a spreadsheet", f"{_JSON_LINES}; unpack it, or export it as JSON Lines"),
    ((b"BZh", b"\xfd7zXZ"), "is packed by bzip2 or xz", "pack it by gzip or zstd, or unpack it"),
    ((b"version https://git-lfs",), "is a Git LFS pointer, not the data", "run: git lfs pull"),
    ((b"<",), "is a web page or XML", f"{_JSON_LINES}; an address behind a login gives its login page"),
)


class RowFile:
    """One pass over a file of rows: gives the rows, collects what is wrong, digests what was read.

    Attributes:
        name: The file's address as shown in errors.
        rows: How many rows were read, bad ones too.
    """

    def __init__(self, uri: str, access: Access) -> None:
        self.name = redacted(uri)
        self.rows = 0
        self._uri, self._access = uri, access
        self._problems: list[str] = []
        self._more = 0
        self._sha256 = hashlib.sha256()

    @property
    def digest(self) -> str:
        """SHA-256 of the lines that were read: the same whether packed or not, with LF or CRLF, with blank lines."""
        return self._sha256.hexdigest()

    def read(self, convert: Callable[[object, int], T]) -> Iterator[tuple[int, T]]:
        """Yields each good row's line and what `convert(row, line)` makes of it; bad rows are noted.

        Raises:
            DatasetError: The file as a whole is of another kind.
        """
        for number, line in read_lines(self._uri, self._access):
            line = line.removeprefix(_BOM)  # noqa: PLW2901 - files put together by `cat` have one in the middle
            if not line.strip():
                continue
            if self.rows == 0:
                self._refuse_other_kinds(line)
            self.rows += 1
            self._sha256.update(line + b"\n")
            try:
                yield number, convert(parse_row(_decoded(line)), number)
            except RowError as error:
                for problem in error.problems:
                    self.note(number, problem)

    def note(self, line: int | None, problem: Problem) -> None:
        """Notes a problem; only the first ones are kept, the rest counted."""
        if len(self._problems) < MAX_DETAILS:
            self._problems.append(f"{self.name}{f':{line}' if line else ''}: {problem}")
        else:
            self._more += 1

    def finish(self, what: str) -> None:
        """Ends the pass.

        Raises:
            DatasetError: Something was noted, or there were no rows.
        """
        if self._problems:
            count = len(self._problems) + self._more
            details = [*self._problems, *([f"and {self._more} more"] if self._more else [])]
            raise DatasetError(
                f"{self.name}: {count} {'problem' if count == 1 else 'problems'} in the {what}",
                mend="correct the rows named above",
                details=details,
            )
        if self.rows == 0:
            raise DatasetError(
                f"{self.name}: the {what} holds no rows", mend=f"{_JSON_LINES}; see whether it was written"
            )

    def _refuse_other_kinds(self, line: bytes) -> None:
        start = line.lstrip()
        for magics, what, mend in _FOREIGN:
            if start.startswith(magics):
                raise DatasetError(f"{self.name}: {what}", mend=mend)
        if start.startswith(b"["):
            raise DatasetError(
                f"{self.name}: is a JSON array", mend=f"{_JSON_LINES}: jq -c '.[]' in.json > out.jsonl makes it"
            )
        if start.strip() == b"{":
            raise DatasetError(
                f"{self.name}: its first object is spread over several lines",
                mend=f"{_JSON_LINES}: jq -c . in.json > out.jsonl makes it",
            )
        if not start.startswith((b"{", b'"')) and (b"," in start or b"\t" in start or b";" in start):
            raise DatasetError(
                f"{self.name}: looks like a table (CSV), not JSON",
                mend=f"{_JSON_LINES}: pandas.read_csv(…).to_json(…, orient='records', lines=True, force_ascii=False)",
            )


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        text = f"is not UTF-8 at byte {error.start + 1} (0x{line[error.start]:02x}); save the file as UTF-8"
        raise RowError([Problem("", text)]) from None

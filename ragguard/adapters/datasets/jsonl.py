"""Golden samples from a JSON Lines file, plain or packed, on this machine, in a bucket or on the web."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ragguard.adapters.addresses import Access
from ragguard.adapters.rowfiles import RowFile
from ragguard.adapters.spooled import sample_spool
from ragguard.core.fields import Problem, shown, shown_name
from ragguard.core.rows import RowReader
from ragguard.core.samples import Sample


@dataclass(frozen=True)
class LoadedDataset:
    """A data set, read.

    Attributes:
        uri: Its address, without secrets.
        samples: All samples in file order, each read from disk when it is asked for.
        by_id: The same by id.
        digest: SHA-256 of its rows as they were written.
    """

    uri: str
    samples: Sequence[Sample]
    by_id: Mapping[str, Sample]
    digest: str

    @property
    def n_total(self) -> int:
        """How many samples it holds."""
        return len(self.samples)


class JsonlDataset(BaseModel):
    """A data set in a JSON Lines file.

    Attributes:
        uri: Path or URL (file, s3, gs, az, https); gzip and zstd are unpacked.
        fields: Our field -> the file's column; null where the file has no such field.
        access: What may be reached, and how patiently.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["jsonl"] = "jsonl"
    uri: str = Field(min_length=1)
    fields: dict[str, str | None] = Field(default_factory=dict)
    access: Access = Access()

    def load(self) -> Iterator[Sample]:
        """Yields the samples in file order, once the whole file was found good.

        Raises:
            As `read`.
        """
        return iter(self.read().samples)

    def read(self) -> LoadedDataset:
        """Reads the whole file in one pass.

        Raises:
            ConfigError: The address cannot be used, or the mapping is wrong.
            ObjectNotFoundError: There is no such file.
            ObjectError: It cannot be read.
            DatasetError: Rows are wrong or repeated, or there are none; `details` names up to 20.
        """
        reader, file = RowReader(self.fields), RowFile(self.uri, self.access)
        unseen = dict(reader.mapped)
        samples = sample_spool()

        def convert(row: object, line: int) -> tuple[Sample, bool]:
            if unseen and isinstance(row, dict):
                for field in [field for field, column in unseen.items() if column in row]:
                    del unseen[field]
            sample = reader.sample(row, line)
            return sample, reader.has_id(row)

        for line, (sample, own_id) in file.read(convert):
            if (first := samples.get(sample.id)) is not None:
                file.note(line, _repeated(sample, first.line, own_id=own_id))
            else:
                samples[sample.id] = sample
        if file.rows:
            for field, column in unseen.items():
                text = f"no row has {shown_name(column)}; correct the column's name, or remove the mapping"
                file.note(None, Problem(f"pipeline.fields.{field}", text))
        file.finish("data set")
        return LoadedDataset(uri=file.name, samples=samples.sequence(), by_id=samples, digest=file.digest)


def _repeated(sample: Sample, first_line: int, *, own_id: bool) -> Problem:
    if own_id:
        return Problem("id", f"{shown(sample.id)} stands already in line {first_line}; give each sample its own id")
    text = f"has the question and history of line {first_line}; remove one of them, or give both an id"
    return Problem("question", text)

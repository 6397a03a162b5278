"""Which samples a run takes: by tags, budget and shard, chosen by a hash of the id and never by place in the file."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

from ragguard.core.runs import Selection
from ragguard.core.samples import Sample
from ragguard.errors import ConfigError

_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclass(frozen=True)
class Chosen:
    """What was chosen, and enough to say of any other id whether it would have been.

    Attributes:
        samples: The chosen samples in the data set's order.
        selection: How they were chosen.
        cutoff: Place of the last id that the budget let in; None where the budget holds them all.
    """

    samples: Sequence[Sample]
    selection: Selection
    cutoff: str | None = None

    def would_take(self, id_: str, tags: Sequence[str] = ()) -> bool:
        """Says whether a sample of the baseline would be in this run, so that its absence counts."""
        return selects(id_, tags, self.selection, self.cutoff)


def select(samples: Iterable[Sample], selection: Selection) -> Chosen:
    """Chooses samples: those with a tag of the filter, of these as many as the budget allows, of these one shard.

    A larger budget takes all that a smaller one takes; moving rows changes nothing, and an added row displaces at most
    one. The shards of a run share nothing and together are the run.

    Args:
        samples: The data set.
        selection: `tags` keeps samples that have at least one of them; `shard` is "k/n" with 1 <= k <= n.

    Raises:
        ConfigError: The shard or the budget cannot be understood.
    """
    if selection.budget is not None and selection.budget < 1:
        raise ConfigError(
            f"sample_budget is {selection.budget}", mend="give at least 1, or leave it out for all samples"
        )
    known = samples if isinstance(samples, Sequence) else tuple(samples)
    tagged = {row: sample.id for row, sample in enumerate(known) if _has_tag(sample.tags, selection.tags)}
    cutoff = None
    if selection.budget is not None and len(tagged) > selection.budget:
        cutoff = sorted(map(_place, tagged.values()))[selection.budget - 1]
    untagged = selection.model_copy(update={"tags": ()})
    rows = array("q", (row for row, id_ in tagged.items() if selects(id_, (), untagged, cutoff)))
    return Chosen(known if len(rows) == len(known) else Rows(known, rows), selection, cutoff)


class Rows(Sequence[Sample]):
    """Some rows of a sequence, each taken when it is asked for, so that none is held twice."""

    def __init__(self, samples: Sequence[Sample], rows: array[int]) -> None:
        self._samples, self._rows = samples, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...

    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(index, slice):
            return Rows(self._samples, self._rows[index])
        return self._samples[self._rows[index]]


def selects(id_: str, tags: Sequence[str], selection: Selection, cutoff: str | None) -> bool:
    """Says whether a selection takes a sample.

    Args:
        id_: The sample's id.
        tags: Its tags.
        selection: Filter and shard; the budget acts by the cutoff.
        cutoff: `Chosen.cutoff`.

    Raises:
        ConfigError: The shard cannot be understood.
    """
    if not _has_tag(tags, selection.tags) or (cutoff is not None and _place(id_) > cutoff):
        return False
    if selection.shard is None:
        return True
    number, count = parse_shard(selection.shard)
    return shard_number(id_, count) == number


def shard_number(id_: str, count: int) -> int:
    """The shard, from 1, that a sample belongs to."""
    return int(_hash("shard", id_), 16) % count + 1


def parse_shard(text: str) -> tuple[int, int]:
    """Reads "k/n".

    Raises:
        ConfigError: It is not of that form, or k > n.
    """
    found = _SHARD.fullmatch(text)
    if not found or int(found[1]) > int(found[2]):
        raise ConfigError(f"shard {text!r} is not k/n", mend="write 1/4, 2/4, 3/4 and 4/4 for four shards")
    return int(found[1]), int(found[2])


def _has_tag(tags: Sequence[str], wanted: Sequence[str]) -> bool:
    return not wanted or not set(wanted).isdisjoint(tags)


def _place(id_: str) -> str:
    """Place of an id in the order by which a budget takes samples."""
    return _hash("budget", id_)


def _hash(purpose: str, id_: str) -> str:
    # Different purposes, independent hashes: else a small budget would fall into a single shard.
    return hashlib.sha256(f"{purpose}\0{id_}".encode("utf-8", "surrogatepass")).hexdigest()

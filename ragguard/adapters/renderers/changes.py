"""What changed in a sample that fell: what was said before, what is said now, and the passage that mattered.

Reads the scores' details of the metrics that keep claims, passages or questions; any other metric speaks by its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pydantic import JsonValue

from ragguard.core.report import RegressedDetail
from ragguard.core.samples import Passage, passages_of
from ragguard.core.scores import SampleResult, Score

_COMPARED = 400


@dataclass(frozen=True)
class Claim:
    """A claim as a score's details keep it.

    Attributes:
        verdict: `supported`, `contradicted` or `absent`.
        passage_id: Of the passage that decided the verdict, where it has an id.
        passage_rank: Its place, from 1; None where no passage speaks of the claim.
    """

    text: str
    verdict: str
    passage_id: str | None = None
    passage_rank: int | None = None


@dataclass(frozen=True)
class Said:
    """What one side says: a claim with its verdict, or a plain sentence where `verdict` is None."""

    text: str
    verdict: str | None = None


@dataclass(frozen=True)
class Shown:
    """A passage, and the side that retrieved it."""

    label: str
    text: str | None
    side: str


@dataclass(frozen=True)
class Change:
    """A sample's fall in short; None where it is not known."""

    question: str | None
    before: Said | None
    after: Said | None
    passage: Shown | None


def change_of(detail: RegressedDetail) -> Change:
    """Finds what a reader needs to see of a regressed sample."""
    sample = (detail.after and detail.after.sample) or (detail.before and detail.before.sample)
    before, after, passage = _by_claims(detail) or _by_passages(detail) or _by_reason(detail)
    return Change(sample.question if sample else None, before, after, passage)


def claims_of(score: Score | None) -> list[Claim]:
    """The claims in a score's details, as far as they are well formed."""
    return [claim for row in _rows(score, "claims") if (claim := _claim(row)) is not None]


def _claim(row: Mapping[str, JsonValue]) -> Claim | None:
    text, verdict, passage = row.get("claim"), row.get("verdict"), row.get("passage")
    if not isinstance(text, str) or not isinstance(verdict, str):
        return None
    key, rank = (passage.get("id"), passage.get("rank")) if isinstance(passage, dict) else (None, None)
    return Claim(text, verdict, key if isinstance(key, str) else None, rank if isinstance(rank, int) else None)


def _rows(score: Score | None, key: str) -> list[Mapping[str, JsonValue]]:
    rows = score.details.get(key) if score is not None else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


_Found = tuple[Said | None, Said | None, Shown | None]


def _by_claims(detail: RegressedDetail) -> _Found | None:
    """The first claim that is not supported now, and the one that stood in its place."""
    now, was = claims_of(detail.score_after), claims_of(detail.score_before)
    wrong = _worst(now)
    if wrong is None:
        return None
    old = _closest(wrong, was)
    where = (wrong, detail.after, "this run") if wrong.passage_rank is not None else (old, detail.before, "baseline")
    return (
        Said(old.text, old.verdict) if old else _reason(detail.score_before),
        Said(wrong.text, wrong.verdict),
        _shown(*where),
    )


def _worst(claims: Sequence[Claim]) -> Claim | None:
    for verdict in ("contradicted", "absent"):
        for claim in claims:
            if claim.verdict == verdict:
                return claim
    return next((claim for claim in claims if claim.verdict != "supported"), None)


def _closest(claim: Claim, others: Sequence[Claim]) -> Claim | None:
    def likeness(other: Claim) -> float:
        same_passage = 0.1 if claim.passage_rank is not None and claim.passage_id == other.passage_id else 0.0
        return same_passage + SequenceMatcher(None, claim.text[:_COMPARED], other.text[:_COMPARED]).ratio()

    return max(others, key=likeness, default=None)


def _shown(claim: Claim | None, result: SampleResult | None, side: str) -> Shown | None:
    if claim is None or claim.passage_rank is None:
        return None
    return _passage(claim.passage_id, claim.passage_rank, result, side)


def _passage(key: str | None, rank: int, result: SampleResult | None, side: str) -> Shown:
    found = next((passage for passage in _passages(result) if passage.rank == rank), None)
    return Shown(key or f"passage {rank}", found.text if found else None, side)


def _passages(result: SampleResult | None) -> tuple[Passage, ...]:
    if result is None or result.sample is None:
        return ()
    return passages_of(result.sample, result.answer) or ()


def _by_passages(detail: RegressedDetail) -> _Found | None:
    """The passage that helped most before and is gone, or helps less."""
    now, was = _rows(detail.score_after, "passages"), _rows(detail.score_before, "passages")
    if not was:
        return None
    lost = max(was, key=lambda row: _helpful(row) - _helpful(_same(row, now)))
    rank, key = lost.get("rank"), lost.get("id")
    shown = None
    if _helpful(lost) > _helpful(_same(lost, now)) and isinstance(rank, int):
        shown = _passage(key if isinstance(key, str) else None, rank, detail.before, "baseline")
    return _reason(detail.score_before), _reason(detail.score_after), shown


def _same(row: Mapping[str, JsonValue], others: Sequence[Mapping[str, JsonValue]]) -> Mapping[str, JsonValue]:
    name = "id" if row.get("id") is not None else "rank"
    return next((other for other in others if other.get(name) == row.get(name)), {})


def _helpful(row: Mapping[str, JsonValue]) -> int:
    """How much of a passage helps: its relevant sentences, or 1 where the passage as a whole was judged."""
    relevant = row.get("relevant", row.get("helps"))
    return len(relevant) if isinstance(relevant, list) else int(relevant is True)


def _by_reason(detail: RegressedDetail) -> _Found:
    return _reason(detail.score_before), _reason(detail.score_after), None


def _reason(score: Score | None) -> Said | None:
    return Said(score.reason) if score is not None and score.reason else None

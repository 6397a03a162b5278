"""What metrics over claims share: reading the judge's claims and telling a reader about them."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from ragguard.core.samples import Passage
from ragguard.core.tasks import ClaimVerdict


def supported_share(claims: Sequence[ClaimVerdict]) -> float:
    """Supported claims / claims, a fraction; the order of claims does not matter. Raises ValueError for no claims."""
    if not claims:
        raise ValueError("no claims, no share")
    return sum(claim.verdict == "supported" for claim in claims) / len(claims)


def claim_details(claims: Sequence[ClaimVerdict], lines: Sequence[str], passages: Sequence[Passage]) -> list[JsonValue]:
    """Claims as a report shows them: the text, its line, the verdict and the passage that decided it."""
    return [
        {
            "claim": claim.claim,
            "line": lines[claim.source - 1],
            "verdict": claim.verdict,
            "passage": _passage_label(claim, passages),
        }
        for claim in claims
    ]


def _passage_label(claim: ClaimVerdict, passages: Sequence[Passage]) -> JsonValue:
    if claim.passage == 0:
        return None
    passage = passages[claim.passage - 1]
    return {"id": passage.id, "rank": passage.rank}


def reason_for(claims: Sequence[ClaimVerdict]) -> str:
    """One sentence: how many claims are supported, and the first that is not."""
    wrong = [claim for claim in claims if claim.verdict != "supported"]
    told = f"{len(claims) - len(wrong)} of {len(claims)} claims supported"
    return f"{told}; {wrong[0].verdict}: {wrong[0].claim}" if wrong else told

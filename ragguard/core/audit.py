"""A lexical audit of one answer against gold facts: five numbers from plain counts, no judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CITATIONS_GOOD_FROM = 0.8
UNFAITHFUL = 0.25
_REFUSALS = ("not provided", "absent")


@dataclass(frozen=True)
class AuditResult:
    """The five numbers of an audit.

    Attributes:
        context_precision: Ground-truth chunks / chunks; 0.0 without chunks.
        context_recall: Ground-truth chunks / gold facts, at most 1.0; 1.0 without gold facts.
        faithfulness_score: 1.0 when it abstains rightly and at least 0.8 of its citations are right, else 0.25.
        abstention_correct: Whether the response names every unanswerable key and says "not provided" or "absent".
        citation_accuracy: Citations of a retrieved ground-truth chunk / citations; 0.0 without citations.
    """

    context_precision: float
    context_recall: float
    faithfulness_score: float
    abstention_correct: bool
    citation_accuracy: float


def audit(
    *,
    chunks: Sequence[Any],
    gold_facts: Sequence[Any],
    unanswerable_keys: Sequence[str],
    response: str,
    cited_chunk_ids: Sequence[Any],
) -> AuditResult:
    """Audits a response.

    Args:
        chunks: What was retrieved: objects or mappings with chunk_id and is_ground_truth (text and relevance_score are
            allowed and not read).
        gold_facts: Facts that retrieval should have found; only their number counts.
        unanswerable_keys: Phrases that the response must refuse.
        response: The app's answer.
        cited_chunk_ids: What the response cites; ids are equal as Python values are, so 1 is not "1".

    Returns:
        Fractions in [0, 1], and whether the abstention is right.
    """
    right = [chunk for chunk in chunks if _field(chunk, "is_ground_truth")]
    precision = len(right) / len(chunks) if chunks else 0.0
    recall = 1.0 if len(right) >= len(gold_facts) else len(right) / len(gold_facts)
    abstained = all(_refuses(response.lower(), key.lower()) for key in unanswerable_keys)
    valid = sum(any(_field(chunk, "chunk_id") == cited for chunk in right) for cited in cited_chunk_ids)
    accuracy = valid / len(cited_chunk_ids) if cited_chunk_ids else 0.0
    return AuditResult(
        context_precision=precision,
        context_recall=recall,
        faithfulness_score=1.0 if abstained and accuracy >= CITATIONS_GOOD_FROM else UNFAITHFUL,
        abstention_correct=abstained,
        citation_accuracy=accuracy,
    )


def _refuses(response: str, key: str) -> bool:
    return key in response and any(phrase in response for phrase in _REFUSALS)


def _field(chunk: Any, name: str) -> Any:
    return chunk[name] if isinstance(chunk, Mapping) else getattr(chunk, name)

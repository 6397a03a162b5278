"""What there is to evaluate: one work item is one sample's answer, judged once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import Judgment, SampleResult, Score

CANDIDATE = "candidate"


@dataclass(frozen=True)
class Carried:
    """What an earlier run already knows of a sample.

    Attributes:
        judgments: Accepted judgments by key.
        scores: Scores by score key.
    """

    judgments: Mapping[str, Judgment] = field(default_factory=dict)
    scores: Mapping[str, Score] = field(default_factory=dict)

    @classmethod
    def of(cls, result: SampleResult) -> Carried:
        """Takes over what can be trusted: accepted judgments, and scores that did not fail."""
        return cls(
            judgments={judgment.key: judgment for judgment in result.judgments if judgment.status == "ok"},
            scores={score.score_key: score for score in result.scores if score.status != "failed" and score.score_key},
        )


NOTHING_CARRIED = Carried()


@dataclass(frozen=True)
class WorkItem:
    """One sample's answer to be judged once.

    Attributes:
        sample: The golden sample.
        answer: What the app answered; None when the target failed.
        target_failure: Why there is no answer.
        side: `candidate`, or the run id whose stored answer is judged again.
        metrics: Ids of the metrics to score; None for all that are configured.
        repeat: Repeat index of the look (0 in look 1).
        session: The look's session; None in look 1.
        carried: What the baseline already knows.
    """

    sample: Sample
    answer: Answer | None
    target_failure: str | None = None
    side: str = CANDIDATE
    metrics: frozenset[str] | None = None
    repeat: int = 0
    session: str | None = None
    carried: Carried = NOTHING_CARRIED

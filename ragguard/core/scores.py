"""What comes out of judging: a judgment for each judge call, a score for each metric, a result for each sample."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from ragguard.core.digests import digest
from ragguard.core.quantities import Quantity
from ragguard.core.samples import Answer, Record, Sample

KEY_VERSION = 1


class JudgeRequest(Record):
    """Everything that decides what a judge replies; its digest is the judgment's key.

    Attributes:
        task: What is asked, such as `claims`.
        model: The judge's model as configured.
        params: Sampling parameters as requested; no address, no secret.
        prompt_digest: Digest of the templates' sources.
        inputs_digest: Digest of every rendered value.
        repeat: 0 in look 1; each further look counts on.
        session: None in look 1, so that unchanged inputs can be carried over; a look's own digest afterwards.
    """

    task: str
    model: str
    params: dict[str, JsonValue]
    prompt_digest: str
    inputs_digest: str
    repeat: int = Field(default=0, ge=0)
    session: str | None = None


def judgment_key(request: JudgeRequest) -> str:
    """The one key of a judgment, used by the cache, carry-over, resume and every executor."""
    return digest(
        [
            KEY_VERSION,
            request.model,
            request.params,
            request.prompt_digest,
            request.inputs_digest,
            request.repeat,
            request.session,
        ]
    )


class Judgment(Record):
    """One judge call's parsed output.

    Attributes:
        key: `judgment_key` of the request.
        response_model: The model that the provider says replied.
        output: The reply as JSON, checked against what was asked; empty when failed.
        raw: The reply as it came; kept only when failed.
        attempts: Calls sent for it; 0 when carried over or cached by an earlier run.
        cost_usd: US dollars; None when unknown.
        source: `called` now, `cached` by an earlier run on this machine, `carried` over from the baseline.
    """

    key: str
    task: str
    model: str
    response_model: str | None = None
    status: Literal["ok", "failed"]
    output: dict[str, JsonValue] = Field(default_factory=dict)
    raw: str | None = None
    reason: str | None = None
    repeat: int = 0
    session: str | None = None
    attempts: int = Field(default=0, ge=0)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: Quantity | None = None
    source: Literal["called", "cached", "carried"] = "called"


class Score(Record):
    """A metric's value for one sample, or why there is none.

    Attributes:
        value: A fraction in [0, 1] (seconds or US dollars for latency and cost); None unless scored.
        passed: Whether the value reaches the metric's threshold; None unless scored.
        label: `<metric>.pass`, `<metric>.fail`, `<metric>.not_applicable` or `<metric>.failed`.
        flags: What a reader should know, such as `no_claims`.
        details: Claims, evidence, cosines: what the value was computed from.
        judgment_keys: Keys of the judgments that the value was computed from.
        score_key: Digest of all that decides the value; equal keys, equal scores.
    """

    metric: str
    status: Literal["scored", "not_applicable", "failed"]
    value: Quantity | None = None
    passed: bool | None = None
    label: str = ""
    reason: str | None = None
    flags: tuple[str, ...] = ()
    details: dict[str, JsonValue] = Field(default_factory=dict)
    judgment_keys: tuple[str, ...] = ()
    score_key: str = ""


class SampleResult(Record):
    """All that one work item gave: one line of samples.jsonl.

    Attributes:
        side: `candidate`, or the run id of the baseline whose stored answer was judged again.
        repeat: The look's repeat index, as in `JudgeRequest`.
        session: The look's session; None for look 1.
        sample: None where texts are not stored.
        answer: None where texts are not stored, or where the target gave none.
    """

    id: str
    side: str = "candidate"
    repeat: int = 0
    session: str | None = None
    sample_digest: str
    passages_digest: str
    answer_digest: str | None = None
    sample: Sample | None = None
    answer: Answer | None = None
    tags: tuple[str, ...] = ()
    scores: tuple[Score, ...] = ()
    judgments: tuple[Judgment, ...] = ()

    def score(self, metric: str) -> Score | None:
        """Returns the score of a metric, or None where the metric was not asked for."""
        return next((score for score in self.scores if score.metric == metric), None)

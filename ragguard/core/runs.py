"""The run: its head (run.json), the events that make it a baseline, and the fingerprints that make runs comparable."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue

from ragguard.core.digests import digest
from ragguard.core.quantities import Derived
from ragguard.core.samples import Record
from ragguard.core.times import Moment

SCHEMA_VERSION: Literal[1] = 1

EventKind = Literal["accepted", "rejected", "pinned", "unpinned"]
Cause = Literal["retrieval", "generation", "judge", "unknown"]
Outcome = Literal["error", "failed", "not_comparable", "inconclusive", "warned", "passed"]
OUTCOMES: tuple[Outcome, ...] = ("error", "failed", "not_comparable", "inconclusive", "warned", "passed")
"""All outcomes, the worst first."""


class Event(Record):
    """Who decided what about a run, and when."""

    run_id: str
    suite: str
    kind: EventKind
    by: str
    at: Moment


class Selection(Record):
    """Which part of the data set a run took."""

    budget: int | None = None
    tags: tuple[str, ...] = ()
    shard: str | None = None


class DatasetInfo(Record):
    """The data set of a run: where it came from, and digests of its content and of its ids."""

    uri: str
    digest: str
    ids_digest: str
    n_total: int
    n_selected: int
    selection: Selection = Selection()
    overridden: bool = False


class Fingerprint(Record):
    """All that decides one metric's values apart from the data: equal fingerprints, comparable scores.

    Attributes:
        judge: Digest of models, parameters, repeats and panel; None where no judge is used.
        prompts: Digest of each task's prompt.
        embedder: Digest of model, dimension and revision; None where none is used.
        metric: Digest of the metric's version and settings.
    """

    judge: str | None = None
    prompts: dict[str, str] = Field(default_factory=dict)
    embedder: str | None = None
    metric: str

    @property
    def digest(self) -> str:
        """One digest of the whole."""
        return digest(self.model_dump())

    def differences(self, other: Fingerprint) -> list[str]:
        """Names what differs, in a reader's words."""
        found = []
        if self.judge != other.judge:
            found.append("judge")
        changed = sorted(
            task for task in {*self.prompts, *other.prompts} if self.prompts.get(task) != other.prompts.get(task)
        )
        found += [f"prompt of {task}" for task in changed]
        if self.embedder != other.embedder:
            found.append("embedder")
        if self.metric != other.metric:
            found.append("metric version or settings")
        return found


class MetricSummary(Record):
    """One metric over the whole run; fractions unless the unit says otherwise.

    Attributes:
        delta: Candidate minus baseline over the pairs, at the last look.
        mdd: Minimal detectable drop.
        samples_to_halve_mdd: Samples that would halve it; None where no number would, or unknown.
        runs_to_halve_mdd: Baseline runs that would halve it; None as above.
        mdd_of_three_runs: What it would be with three baseline runs; None where there are three.
        tolerance: The tolerated drop as applied.
        tolerance_relative: Whether the tolerance is a share of the baseline's value.
        m: Baseline runs compared with.
    """

    unit: Literal["fraction", "s", "usd"] = "fraction"
    direction: Literal["higher", "lower"] = "higher"
    aggregate: Literal["mean", "p50", "p95"] = "mean"
    mean: Derived | None = None
    baseline_mean: Derived | None = None
    delta: Derived | None = None
    ci_low: Derived | None = None
    ci_high: Derived | None = None
    p_value: Derived | None = None
    mdd: Derived | None = None
    samples_to_halve_mdd: int | None = None
    runs_to_halve_mdd: int | None = None
    mdd_of_three_runs: Derived | None = None
    tolerance: Derived | None = None
    tolerance_relative: bool = False
    slo_min: Derived | None = None
    n_scored: int = 0
    n_failed: int = 0
    n_not_applicable: int = 0
    n_pairs: int = 0
    look: int = 1
    m: int = 0
    outcome: Outcome
    reason: str = ""


class PinnedComparison(Record):
    """The same run beside the pinned one; `RunHead.metrics` holds the comparison with the last accepted runs.

    Attributes:
        run_id: The pinned run.
    """

    run_id: str
    metrics: dict[str, MetricSummary]


class Usage(Record):
    """What the run paid for; unknown is None.

    Attributes:
        calls: Judge calls sent.
        cached_calls: Judgments from this machine's cache.
        carried_calls: Judgments carried over from the baseline.
        look_calls: Judge calls sent for looks 2 and 3 (part of `calls`).
    """

    calls: int = 0
    cached_calls: int = 0
    carried_calls: int = 0
    look_calls: int = 0
    tokens: int | None = None
    cost_usd: Derived | None = None


class TaskAgreement(Record):
    """How far judges agree in one task, over the candidate's first look; a verdict stands for a sentence or a line.

    Attributes:
        n_compared: Verdicts that two or more judges of a panel gave.
        n_differing: Of these, on how many they differ.
        disagreement: n_differing / n_compared, a fraction; None where nothing could be compared.
        n_repeated: Verdicts that one judge gave repeatedly.
        n_flipped: Of these, how many did not stay the same.
        flip_rate: n_flipped / n_repeated, a fraction: how far a judge agrees with itself; None as above.
        n_voted: Verdicts that a majority decided.
        n_tied: Of these, how many were tied, so that the stricter verdict was taken.
    """

    n_compared: int = 0
    n_differing: int = 0
    disagreement: float | None = None
    n_repeated: int = 0
    n_flipped: int = 0
    flip_rate: float | None = None
    n_voted: int = 0
    n_tied: int = 0


class JudgeTask(Record):
    """What one kind of judge call took, and which metrics it was made for.

    Attributes:
        metrics: The metrics that read the call; several share it, and it was made and paid for once.
        shared: Whether there are several.
        usage: Calls, tokens and cost; tokens and cost are None where unknown.
        agreement: How far judges and repeats agree; None where each was asked once.
    """

    task: str
    metrics: tuple[str, ...] = ()
    shared: bool = False
    usage: Usage
    agreement: TaskAgreement | None = None


class Observed(Record):
    """What the judge did that was not configured."""

    response_models: tuple[str, ...] = ()
    dropped_params: tuple[str, ...] = ()


class Execution(Record):
    """Facts of this execution that do not change the result."""

    started_at: Moment | None = None
    finished_at: Moment | None = None
    seconds: dict[str, float] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)


class SamplesFile(Record):
    """The samples file that belongs to a head."""

    path: str
    sha256: str
    count: int


class RegressedSample(Record):
    """A sample that fell in one metric.

    Attributes:
        before: The baseline's value; the mean over its runs.
        after: The candidate's value.
        cause: `retrieval` when the passages changed, `generation` when only the answer did, `judge` when neither did
            (noise or drift, never the change under test); `unknown` where the baseline kept no digests.
        confirmed: Whether the fall stood a test against noise or held at a fresh look.
        line: Line of the sample in the data set, from 1; 0 where unknown.
    """

    id: str
    metric: str
    before: Derived
    after: Derived
    cause: Cause
    confirmed: bool
    line: int = 0


class LookNote(Record):
    """What was judged again, and why."""

    look: int
    metric: str
    n_samples: int
    why: str


class IdList(Record):
    """Sample ids for a reader: how many, and the first of them."""

    count: int = 0
    first: tuple[str, ...] = ()


class Comparison(Record):
    """What a report tells about candidate and baseline besides the metrics.

    Attributes:
        regressed: The samples that fell most, worst first; `n_regressed` counts all.
        causes: How many regressed samples have each cause.
        added: Ids that the baseline does not have.
        removed: Ids that only the baseline has.
        changed: Ids whose question, reference or gold changed, so that they are not paired.
        rescored: Metrics whose baseline answers were judged again, with what had changed.
        looks: What was judged again.
    """

    regressed: tuple[RegressedSample, ...] = ()
    n_regressed: int = 0
    causes: dict[Cause, int] = Field(default_factory=dict)
    added: IdList = IdList()
    removed: IdList = IdList()
    changed: IdList = IdList()
    rescored: dict[str, str] = Field(default_factory=dict)
    looks: tuple[LookNote, ...] = ()


class RunHead(Record):
    """run.json: the whole run but for its samples.

    Attributes:
        pinned: The comparison with the pinned run, where there is one besides the last accepted runs.
        outcome: The worst of all, the pinned comparison included.
        exit_code: What the verdict lets the command exit with; None where unknown.
        reasons: Why the outcome is what it is, the worst first.
        notices: What a reader must know before the numbers, such as that the judge is a heuristic.
        notes: What a reader may want to know besides.
        vote: What became of several judgments of one task: their scores' mean, or one of the majority's verdicts.
        usage_by_task: Judge usage by task, where it is known.
        agreement_by_task: How far judges and repeats agree, for each task that was judged more than once.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    run_id: str
    suite: str
    event: str
    repository: str | None = None
    branch: str | None = None
    commit: str | None = None
    base_commit: str | None = None
    commit_time: Moment | None = None
    attempt: int = 1
    created_at: Moment
    dataset: DatasetInfo
    answers_digest: str
    judge_models: tuple[str, ...] = ()
    vote: Literal["mean", "majority"] = "mean"
    embedder_model: str | None = None
    fingerprints: dict[str, Fingerprint]
    policy: dict[str, JsonValue]
    metrics: dict[str, MetricSummary]
    pinned: PinnedComparison | None = None
    outcome: Outcome
    exit_code: int | None = None
    reasons: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    comparison: Comparison = Comparison()
    baseline_run_ids: tuple[str, ...] = ()
    coverage: float
    usage: Usage = Usage()
    usage_by_task: dict[str, Usage] = Field(default_factory=dict)
    agreement_by_task: dict[str, TaskAgreement] = Field(default_factory=dict)
    observed: Observed = Observed()
    execution: Execution = Execution()
    samples: SamplesFile | None = None

    @property
    def ordering_time(self) -> datetime:
        """The time by which runs are put in order: the commit's, else the run's own."""
        return self.commit_time or self.created_at

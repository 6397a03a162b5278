"""What there is to evaluate: the candidate's first look, the baseline's re-scoring, and later looks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ragguard.app.ledger import Ledger
from ragguard.core.baseline import Baseline
from ragguard.core.decisions import LookRequest
from ragguard.core.digests import digest
from ragguard.core.evidence import Fresh, MetricEvidence
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import SampleResult
from ragguard.core.work import CANDIDATE, NOTHING_CARRIED, Carried, WorkItem

FIRST_REPEAT = {2: 1, 3: 3}
"""By look, the repeat index of its first fresh judgment; each side is judged at most twice a look."""


def first_look(samples: Iterable[Sample], answers: Mapping[str, Answered], baseline: Baseline) -> Iterator[WorkItem]:
    """The candidate's answers, each with what the newest baseline run already knows of the sample."""
    carried: Mapping[str, Carried] = baseline.newest.carried if baseline.newest is not None else {}
    for sample in samples:
        answered = answers[sample.id]
        yield WorkItem(
            sample, answered.answer, answered.failure, carried=carried.get(sample.id, NOTHING_CARRIED)
        )  # fmt: skip


def rescoring(
    stored: Iterable[SampleResult], metrics: frozenset[str], run_id: str, ledger: Ledger
) -> Iterator[WorkItem]:
    """The newest baseline run's stored answers, to be scored again in some metrics under the candidate's settings."""
    newest = ledger.baseline.newest
    for result in stored:
        if result.sample is None or result.answer is None or result.side != CANDIDATE or result.session is not None:
            continue
        if newest is not None and result.id in ledger.digests and ledger.is_paired(result.id, newest):
            carried = newest.carried.get(result.id, NOTHING_CARRIED)
            yield WorkItem(result.sample, result.answer, side=run_id, metrics=metrics, carried=carried)


def session_of(ledger: Ledger, baseline: Baseline) -> str:
    """The looks' session: the same for a re-run of the same thing, another one for every new push."""
    return digest(
        [
            {id_: digests[2] for id_, digests in ledger.digests.items()},
            [run.run_id for run in baseline.runs],
            {metric: fingerprint.digest for metric, fingerprint in ledger.fingerprints.items()},
        ]
    )


@dataclass(frozen=True)
class LookWork:
    """One look's work: both sides interleaved, in one session.

    Attributes:
        items: Gives what to judge, sample by sample.
        count: How much that is.
        anchors: By metric, the run ids of its anchors, newest first.
    """

    items: Callable[[], Iterator[WorkItem]]
    count: int
    anchors: Mapping[str, tuple[str, ...]]


StoredTexts = Callable[[str, frozenset[str]], Mapping[str, SampleResult]]
AnswerOf = Callable[[str, int], Answered]
"""Gives a sample's answer for a repeat index; 0 is look 1's, later ones may be generated anew."""


def look(
    request: LookRequest,
    ledger: Ledger,
    samples: Mapping[str, Sample],
    answer_of: AnswerOf,
    session: str,
    stored: StoredTexts,
) -> LookWork | str:
    """Plans a look, or says why it cannot be made.

    Args:
        request: What the gate asked for.
        ledger: The candidate beside the baseline.
        samples: The candidate's samples by id.
        answer_of: The candidate's answers.
        session: The looks' session.
        stored: Gives a run's stored results of some ids, as far as they hold texts.
    """
    anchors = {
        metric: tuple(run.run_id for run in ledger.runs_of(metric)[: plan.anchors])
        for metric, plan in request.metrics.items()
    }
    wanted = _wanted(request, anchors)
    texts = _texts(wanted, stored)
    for id_, side, _ in wanted:
        if side == CANDIDATE and answer_of(id_, 0).answer is None:
            return "the candidate's answers are not at hand (store_text: false)"
        if side != CANDIDATE and id_ not in texts[side]:
            return f"run {side} does not hold the text of its answers (store_text: false)"

    def items() -> Iterator[WorkItem]:
        for id_, side, repeat in sorted(wanted, key=lambda one: (one[0], one[2], one[1])):
            metrics = frozenset(wanted[id_, side, repeat])
            if side == CANDIDATE:
                found = answer_of(id_, repeat)
                sample, answer, failure = samples[id_], found.answer, found.failure
            else:
                (sample, answer), failure = _texts_of(texts[side][id_]), None
            yield WorkItem(sample, answer, failure, side=side, metrics=metrics, repeat=repeat, session=session)

    return LookWork(items, len(wanted), anchors)


def to_answer_again(request: LookRequest) -> dict[int, set[str]]:
    """By repeat index, the samples that a look judges the candidate's answers of."""
    first = FIRST_REPEAT[request.look]
    ids: dict[int, set[str]] = defaultdict(set)
    for plan in request.metrics.values():
        for repeat in range(first, first + plan.candidate_repeats):
            ids[repeat].update(plan.ids)
    return ids


Wanted = Mapping[tuple[str, str, int], set[str]]
"""By sample id, side and repeat: the metrics to score."""


def _wanted(request: LookRequest, anchors: Mapping[str, tuple[str, ...]]) -> Wanted:
    wanted: dict[tuple[str, str, int], set[str]] = defaultdict(set)
    first = FIRST_REPEAT[request.look]
    for metric, plan in request.metrics.items():
        for id_ in plan.ids:
            for repeat in range(first, first + plan.candidate_repeats):
                wanted[id_, CANDIDATE, repeat].add(metric)
            for run_id in anchors[metric]:
                for repeat in range(first, first + plan.anchor_repeats):
                    wanted[id_, run_id, repeat].add(metric)
    return wanted


def _texts(wanted: Iterable[tuple[str, str, int]], stored: StoredTexts) -> dict[str, Mapping[str, SampleResult]]:
    ids: dict[str, set[str]] = defaultdict(set)
    for id_, side, _ in wanted:
        if side != CANDIDATE:
            ids[side].add(id_)
    return {run_id: stored(run_id, frozenset(found)) for run_id, found in ids.items()}


def texts_alone(result: SampleResult) -> SampleResult:
    """A stored result without its scores and judgments: what a look judges again."""
    return result.model_copy(update={"scores": (), "judgments": ()})


def _texts_of(result: SampleResult) -> tuple[Sample, Answer]:
    if result.sample is None or result.answer is None:
        raise ValueError(f"sample {result.id} was planned without its texts")
    return result.sample, result.answer


class LookScores:
    """The scores of one look, put in the order that the evidence takes them in."""

    def __init__(self, request: LookRequest, work: LookWork) -> None:
        self._request = request
        self._anchors = work.anchors
        self._scores: dict[tuple[str, str, str, int], float | None] = {}

    def add(self, result: SampleResult) -> None:
        """Takes in one result of the look."""
        for score in result.scores:
            self._scores[score.metric, result.id, result.side, result.repeat] = score.value

    def pooled(self, evidence: Mapping[str, MetricEvidence]) -> dict[str, MetricEvidence]:
        """The evidence with this look's scores behind those of earlier looks."""
        looked = {
            metric: evidence[metric].looked_again(
                {id_: self._of(metric, id_, CANDIDATE, plan.candidate_repeats) for id_ in plan.ids},
                {
                    id_: tuple(self._of(metric, id_, run_id, plan.anchor_repeats) for run_id in self._anchors[metric])
                    for id_ in plan.ids
                },
            )
            for metric, plan in self._request.metrics.items()
        }
        return {**evidence, **looked}

    def _of(self, metric: str, id_: str, side: str, repeats: int) -> Fresh:
        first = FIRST_REPEAT[self._request.look]
        return tuple(self._scores.get((metric, id_, side, repeat)) for repeat in range(first, first + repeats))

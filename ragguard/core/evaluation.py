"""Evaluates one work item: asks each judge task once, takes over what is known, and turns failures into values."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ragguard.core.digests import digest
from ragguard.core.elsewhere import BenchKit
from ragguard.core.metrics.base import Metric
from ragguard.core.ports import Embedder, Judge, TaskFailedError, Vectors
from ragguard.core.runs import Fingerprint
from ragguard.core.samples import Answer, answer_digest, passages_digest, passages_of, sample_digest
from ragguard.core.scores import JudgeRequest, Judgment, SampleResult, Score, judgment_key
from ragguard.core.tasks import Task
from ragguard.core.voting import Tally, VoteRule
from ragguard.core.work import WorkItem
from ragguard.errors import EmbedderError, RagguardError


@dataclass(frozen=True)
class Bench:
    """All that evaluating needs besides the work: metrics, judge, embedder.

    Attributes:
        kit: Builds the same bench in other processes; None where it can be used in this one only.
        vote: What becomes of several judgments of one task: their scores' mean, or one of the verdicts that most gave.
    """

    metrics: tuple[Metric, ...]
    judge: Judge
    embedder: Embedder
    store_text: bool = True
    kit: BenchKit | None = None
    vote: VoteRule = "mean"

    def fingerprint(self, metric: Metric) -> Fingerprint:
        """What decides a metric's values apart from the data; only what that metric uses."""
        tasks = metric.task_names
        return Fingerprint(
            judge=self._judge_fingerprint if tasks else None,
            prompts={task: self.judge.prompt_digest(task) for task in tasks},
            embedder=self.embedder.fingerprint if metric.uses_embedder else None,
            metric=metric.settings_digest,
        )

    @property
    def _judge_fingerprint(self) -> str:
        one = self.judge.fingerprint
        return one if self.vote == "mean" else digest([one, self.vote])


@dataclass(frozen=True)
class _Ballot:
    """What a vote's single judgment stands for: the judgments that were counted, and how."""

    task: str
    keys: tuple[str, ...]
    tally: Tally

    def told(self) -> dict[str, JsonValue]:
        return {"votes": len(self.keys), "verdicts": self.tally.verdicts, "tied": self.tally.tied}


class Desk:
    """The tools of one work item: every judge call is made once, however many metrics ask for it."""

    def __init__(self, item: WorkItem, bench: Bench) -> None:
        self._item = item
        self._bench = bench
        self._asked: dict[str, asyncio.Task[Judgment]] = {}
        self._ballots: dict[str, _Ballot] = {}

    def keyed_requests(self, task: Task) -> list[tuple[str, JudgeRequest]]:
        """The calls that a task needs, each with its judgment key."""
        requests = self._bench.judge.requests(task, self._item.repeat, self._item.session)
        return [(judgment_key(request), request) for request in requests]

    async def judge(self, task: Task) -> tuple[Judgment, ...]:
        """Returns the accepted judgments of a task; see `Tools.judge`."""
        waiting = [self._once(key, task, request) for key, request in self.keyed_requests(task)]
        judgments = await asyncio.gather(*waiting)
        for judgment in judgments:
            if judgment.status == "failed":
                raise TaskFailedError(f"judge {judgment.model}, task {judgment.task}: {judgment.reason}")
        if self._bench.vote == "majority" and len(judgments) > 1:
            return self._voted(task, judgments)
        return tuple(judgments)

    def _voted(self, task: Task, judgments: Sequence[Judgment]) -> tuple[Judgment, ...]:
        """One judgment of the verdicts that most judgments gave; all of them where there are no verdicts to vote on."""
        tally = Tally(task.inputs, task.strictest)
        reply = task.reply.majority([task.reply.model_validate(one.output) for one in judgments], tally)
        if reply is None:
            return tuple(judgments)
        keys = tuple(judgment.key for judgment in judgments)
        ballot = _Ballot(task.name, keys, tally)
        key = digest(["majority", *sorted(keys)])
        self._ballots[key] = ballot
        return (Judgment(key=key, task=task.name, model="majority", status="ok", output=reply.model_dump(mode="json")),)

    def with_votes(self, score: Score) -> Score:
        """A score that names the judgments behind a vote, and tells of verdicts that were tied."""
        ballots = [self._ballots[key] for key in score.judgment_keys if key in self._ballots]
        if not ballots:
            return score
        keys = [real for key in score.judgment_keys for real in self._real_keys(key)]
        tied, verdicts = sum(one.tally.tied for one in ballots), sum(one.tally.verdicts for one in ballots)
        told = f"{tied} of {verdicts} votes tied, the stricter verdict counts" if tied else None
        return score.model_copy(
            update={
                "judgment_keys": tuple(keys),
                "details": {**score.details, "votes": {one.task: one.told() for one in ballots}},
                "flags": (*score.flags, "tied_vote") if tied else score.flags,
                "reason": "; ".join(part for part in (score.reason, told) if part) or None,
            }
        )

    def _real_keys(self, key: str) -> tuple[str, ...]:
        return self._ballots[key].keys if key in self._ballots else (key,)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns unit vectors, one row for each text."""
        return await self._bench.embedder.embed(texts)

    def judgments(self) -> tuple[Judgment, ...]:
        """All judgments made so far, in key order."""
        done = (
            call.result()
            for call in self._asked.values()
            if call.done() and not call.cancelled() and call.exception() is None
        )
        return tuple(sorted(done, key=lambda judgment: (judgment.task, judgment.model, judgment.key)))

    def cancel(self) -> None:
        """Ends what is still being asked, when nobody will wait for it."""
        for call in self._asked.values():
            call.cancel()

    def note(self, judgment: Judgment) -> None:
        """Keeps a judgment that was carried over together with its score."""
        if judgment.key not in self._asked:
            self._asked[judgment.key] = asyncio.ensure_future(_value(judgment))

    def _once(self, key: str, task: Task, request: JudgeRequest) -> asyncio.Task[Judgment]:
        if key not in self._asked:
            known = self._item.carried.judgments.get(key)
            call = _value(_as_carried(known)) if known else self._bench.judge.ask(task, request)
            self._asked[key] = asyncio.ensure_future(call)
        return self._asked[key]


async def _value(judgment: Judgment) -> Judgment:
    return judgment


def _as_carried(judgment: Judgment) -> Judgment:
    return judgment.model_copy(update={"source": "carried", "attempts": 0})


async def evaluate_item(item: WorkItem, bench: Bench) -> SampleResult:
    """Scores one answer with every metric asked for.

    Raises:
        JudgeError: The judge as a whole cannot be used; one failed call is a failed score instead.
        BudgetError: The budget is spent.
    """
    desk = Desk(item, bench)
    wanted = [metric for metric in bench.metrics if item.metrics is None or metric.id in item.metrics]
    try:
        scores = await asyncio.gather(*(_score(metric, item, desk, bench) for metric in wanted))
        await asyncio.sleep(0)  # judgments noted with copied scores are done one turn later
    except BaseException:
        desk.cancel()
        raise
    answer = item.answer
    return SampleResult(
        id=item.sample.id,
        side=item.side,
        repeat=item.repeat,
        session=item.session,
        sample_digest=sample_digest(item.sample),
        passages_digest=passages_digest(passages_of(item.sample, answer)),
        answer_digest=answer_digest(answer) if answer is not None else None,
        sample=item.sample.model_copy(update={"answer": None}) if bench.store_text else None,
        answer=answer if bench.store_text else None,
        tags=item.sample.tags,
        scores=tuple(scores),
        judgments=desk.judgments(),
    )


async def _score(metric: Metric, item: WorkItem, desk: Desk, bench: Bench) -> Score:
    if item.answer is None:
        return metric.failed(f"no answer: {item.target_failure or 'the target gave none'}")
    missing = metric.missing(item.sample, item.answer)
    if missing:
        return metric.not_applicable(f"the sample has no {', '.join(missing)}")
    key = score_key(metric, item, item.answer, desk, bench)
    known = item.carried.scores.get(key)
    if known is not None:
        return _take_over(metric, known, item, desk)
    try:
        score = await metric.score(item.sample, item.answer, desk)
    except (TaskFailedError, EmbedderError) as error:
        return metric.failed(str(error))
    except RagguardError:
        raise
    except Exception as error:  # noqa: BLE001 - one sample's failure, a user's own metric included, is a value
        return metric.failed(f"{type(metric).__name__} raised {type(error).__name__}: {error}")
    return desk.with_votes(score).model_copy(update={"score_key": key})


def score_key(metric: Metric, item: WorkItem, answer: Answer, desk: Desk, bench: Bench) -> str:
    """Digest of all that decides a score; equal to the baseline's means equal scores, so that it is copied."""
    tasks = metric.tasks(item.sample, answer)
    keys = sorted(key for task in tasks for key, _ in desk.keyed_requests(task))
    embedder = bench.embedder.fingerprint if metric.uses_embedder else None
    decides = [metric.id, metric.settings_digest, keys, embedder, metric.unseen_inputs(item.sample, answer)]
    return digest([*decides, bench.vote] if bench.vote != "mean" and len(keys) > len(tasks) else decides)


def _take_over(metric: Metric, known: Score, item: WorkItem, desk: Desk) -> Score:
    for key in known.judgment_keys:
        if key in item.carried.judgments:
            desk.note(_as_carried(item.carried.judgments[key]))
    if known.value is None:
        return known
    passed = metric.passes(known.value)
    return known.model_copy(update={"passed": passed, "label": f"{metric.id}.{'pass' if passed else 'fail'}"})

"""All that a renderer or notifier needs, from a run's head and its samples: no network, no store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ragguard.core.runs import JudgeTask, RegressedSample, RunHead
from ragguard.core.scores import SampleResult, Score
from ragguard.core.work import CANDIDATE

Results = Callable[[], Iterable[SampleResult]]


@dataclass(frozen=True)
class Links:
    """Where a reader can go on; None where there is no such place.

    Attributes:
        run: The CI run's page.
        report: The full report.
        repository: `owner/name` on the code host.
        server: The code host's address, without a slash at the end.
    """

    run: str | None = None
    report: str | None = None
    repository: str | None = None
    server: str | None = None


@dataclass(frozen=True)
class RegressedDetail:
    """A regressed sample with both sides' results, as far as texts are stored."""

    entry: RegressedSample
    before: SampleResult | None
    after: SampleResult | None

    @property
    def score_before(self) -> Score | None:
        """The baseline's score of the metric that fell."""
        return self.before.score(self.entry.metric) if self.before else None

    @property
    def score_after(self) -> Score | None:
        """The candidate's score of the metric that fell."""
        return self.after.score(self.entry.metric) if self.after else None


@dataclass(frozen=True)
class Delivery:
    """What became of one notification."""

    notifier: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """One run for its readers.

    Attributes:
        head: The run.
        regressed: The samples that fell most, worst first, with both sides.
        results: Gives all sample results, each time anew: the candidate's first looks (`side == "candidate"`,
            `session is None`), and those of the baseline that the run kept (`side` is a run id).
        exit_code: What the command exits with.
        deliveries: What was sent where.
    """

    head: RunHead
    regressed: tuple[RegressedDetail, ...]
    results: Results = field(repr=False)
    links: Links = field(default_factory=Links)
    exit_code: int = 0
    deliveries: tuple[Delivery, ...] = ()

    @property
    def baseline_run_id(self) -> str | None:
        """The newest baseline run's id."""
        return self.head.baseline_run_ids[0] if self.head.baseline_run_ids else None

    @classmethod
    def of(cls, head: RunHead, results: Results, *, links: Links | None = None, exit_code: int = 0) -> Report:
        """Builds a report, reading the samples once for the regressed ones' details."""
        wanted = {entry.id for entry in head.comparison.regressed}
        after: dict[str, SampleResult] = {}
        before: dict[str, SampleResult] = {}
        if wanted:
            for result in results():
                if result.id in wanted and result.session is None:
                    (after if result.side == CANDIDATE else before).setdefault(result.id, result)
        details = tuple(
            RegressedDetail(entry, before.get(entry.id), after.get(entry.id)) for entry in head.comparison.regressed
        )
        return cls(head, details, results, links or Links(), exit_code)


def judge_tasks(head: RunHead) -> tuple[JudgeTask, ...]:
    """The run's judge calls by task, in the order of the metrics that they were made for; none where unknown."""
    metrics: dict[str, list[str]] = {}
    for metric, fingerprint in head.fingerprints.items():
        for task in sorted(fingerprint.prompts):
            metrics.setdefault(task, []).append(metric)
    order = [task for task in metrics if task in head.usage_by_task]
    order += [task for task in head.usage_by_task if task not in metrics]
    return tuple(
        JudgeTask(
            task=task,
            metrics=tuple(metrics.get(task, ())),
            shared=len(metrics.get(task, ())) > 1,
            usage=head.usage_by_task[task],
            agreement=head.agreement_by_task.get(task),
        )
        for task in order
    )

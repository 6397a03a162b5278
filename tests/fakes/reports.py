"""Reports built by hand, in any outcome, in three languages, with any foreign text in every place that holds some."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from ragguard.core.report import Links, Report
from ragguard.core.runs import (
    Cause,
    Comparison,
    DatasetInfo,
    Execution,
    Fingerprint,
    IdList,
    LookNote,
    MetricSummary,
    Observed,
    Outcome,
    RegressedSample,
    RunHead,
    Usage,
)
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.scores import SampleResult, Score
from ragguard.core.work import CANDIDATE
from tests.fakes.report_texts import CASES, Case, Language

BASELINE_RUN = "run-2026-03-01"
CANDIDATE_RUN = "run-2026-03-02"
LINKS = Links(
    run="https://ci.example/acme/tutor/runs/7",
    report="https://ci.example/acme/tutor/runs/7/report.html",
    repository="acme/tutor",
    server="https://code.example",
)
EXIT_CODES: dict[Outcome, int] = {
    "error": 4, "failed": 1, "not_comparable": 3, "inconclusive": 3, "warned": 0, "passed": 0,
}  # fmt: skip
REASONS: dict[Outcome, str] = {
    "error": "faithfulness: only 52.0 % of the samples could be scored, less than min_coverage (95.0 %): is the judge down?",
    "failed": (
        "faithfulness fell by 50.00 points, more than the tolerance of 2.00 points, and that held when the 4 samples "
        "that differ were judged again on both sides (8 samples, 1 baseline run, p = 0.003)"
    ),
    "not_comparable": "faithfulness: the baseline came from another judge, and its answers are not stored",
    "inconclusive": (
        "faithfulness fell by 3.00 points (tolerance 2.00 points), but noise (standard error of 2.10 points) may "
        "explain it. More samples or baseline runs make it clear"
    ),
    "warned": "no baseline yet: only the SLO minima were checked",
    "passed": "faithfulness did not change, within the tolerance of 2.00 points",
}  # fmt: skip
OFFLINE_NOTICE = "the offline judge is a heuristic, not a faithfulness judge"
CAUSES: tuple[Cause, ...] = ("generation", "retrieval", "judge", "generation")
Rewrite = Callable[[str], str]


def same(text: str) -> str:
    """No change."""
    return text


def make_report(
    outcome: Outcome = "failed",
    language: Language = "en",
    *,
    n_samples: int = 8,
    n_regressed: int | None = None,
    text: Rewrite = same,
    store_text: bool = True,
    links: Links = LINKS,
    **head: Any,
) -> Report:
    """Builds a whole report.

    Args:
        outcome: Of the run and of its faithfulness.
        language: Of questions, passages, answers and claims.
        n_samples: How many samples; the first ones regress.
        n_regressed: How many fell; half of them by default where the run failed or is inconclusive, else none.
        text: Applied to every foreign text: ids, tags, questions, passages, answers, claims, reasons.
        store_text: Whether results keep sample and answer.
        links: Where the reader can go on.
        head: Fields of the head to set.
    """
    fell = n_regressed if n_regressed is not None else (n_samples // 2 if outcome in {"failed", "inconclusive"} else 0)
    before = [_result(index, language, text, bad=False, side=BASELINE_RUN) for index in range(n_samples)]
    after = [_result(index, language, text, bad=index < fell, side=CANDIDATE) for index in range(n_samples)]
    if outcome == "error":
        after = [_unscored(result, text) if index % 2 else result for index, result in enumerate(after)]
    has_baseline = outcome != "warned"
    made = make_head(outcome, after, before if has_baseline else [], text=text, **head)
    results = [*after, *(before if has_baseline else [])]
    if not store_text:
        results = [result.model_copy(update={"sample": None, "answer": None}) for result in results]
    return Report.of(made, lambda: iter(results), links=links, exit_code=EXIT_CODES[outcome])


def make_head(
    outcome: Outcome,
    after: Sequence[SampleResult],
    before: Sequence[SampleResult],
    *,
    text: Rewrite = same,
    **fields: Any,
) -> RunHead:
    """A head that fits the results: the numbers of both metrics, the samples that fell, and why."""
    regressed = _regressed(after, before, text, confirmed=outcome == "failed")
    causes: dict[Cause, int] = {}
    for entry in regressed:
        causes[entry.cause] = causes.get(entry.cause, 0) + 1
    defaults: dict[str, Any] = {
        "run_id": CANDIDATE_RUN,
        "suite": "tutor",
        "event": "pull_request",
        "repository": "acme/tutor",
        "branch": "shorter-prompts",
        "commit": "c0ffee0c0ffee0c0ffee0c0ffee0c0ffee0c0ffe",
        "base_commit": "badcab1ebadcab1ebadcab1ebadcab1ebadcab1e",
        "created_at": datetime(2026, 3, 2, 9, 30, tzinfo=UTC),
        "dataset": DatasetInfo(
            uri=text("s3://lessons/golden.jsonl"), digest="d" * 64, ids_digest="e" * 64,
            n_total=len(after) + 4, n_selected=len(after),
        ),
        "answers_digest": "a" * 64,
        "judge_models": ("acme/judge-large",),
        "embedder_model": "bge-m3",
        "fingerprints": {
            "faithfulness": Fingerprint(judge="j", prompts={"claims": "c"}, metric="m"),
            "answer_relevance": Fingerprint(judge="j", prompts={"questions": "q"}, embedder="e", metric="m"),
        },
        "policy": {"rule": "staged", "regression_tolerance": 0.02, "slo_minima": {"faithfulness": 0.9}},
        "metrics": {
            "faithfulness": _summary("faithfulness", after, before, outcome, slo_min=0.9),
            "answer_relevance": _summary("answer_relevance", after, before, "passed", slo_min=None),
        },
        "outcome": outcome,
        "exit_code": EXIT_CODES[outcome],
        "reasons": (text(REASONS[outcome]),),
        "notes": (text("looks: 1 judges once and cannot tell a drop from a judge that drifted since the baseline"),),
        "comparison": Comparison(
            regressed=regressed,
            n_regressed=len(regressed),
            causes=causes,
            added=IdList(count=1, first=(text("new-1"),)),
            looks=(LookNote(look=2, metric="faithfulness", n_samples=4, why=text("the samples that differ")),)
            if regressed
            else (),
        ),
        "baseline_run_ids": (BASELINE_RUN,) if before else (),
        "coverage": 0.5 if outcome == "error" else 1.0,
        "usage": Usage(calls=24, cached_calls=2, carried_calls=12, look_calls=8, tokens=61_250, cost_usd=0.1834),
        "usage_by_task": {
            "claims": Usage(calls=16, cached_calls=1, carried_calls=6, look_calls=8, tokens=48_250, cost_usd=0.1434),
            "questions": Usage(calls=8, cached_calls=1, carried_calls=6, tokens=13_000, cost_usd=0.04),
        },
        "observed": Observed(dropped_params=("temperature",)),
        "execution": Execution(
            started_at=datetime(2026, 3, 2, 9, 28, tzinfo=UTC), finished_at=datetime(2026, 3, 2, 9, 29, 30, tzinfo=UTC)
        ),
    }  # fmt: skip
    return RunHead(**{**defaults, **fields})


def _regressed(
    after: Sequence[SampleResult], before: Sequence[SampleResult], text: Rewrite, *, confirmed: bool
) -> tuple[RegressedSample, ...]:
    found = []
    for index, (new, old) in enumerate(zip(after, before, strict=False)):
        was, now = old.score("faithfulness"), new.score("faithfulness")
        if was and now and was.value is not None and now.value is not None and now.value < was.value:
            found.append(
                RegressedSample(
                    id=new.id, metric="faithfulness", before=was.value, after=now.value,
                    cause=CAUSES[index % len(CAUSES)], confirmed=confirmed, line=index + 1,
                )
            )  # fmt: skip
    return tuple(found)


def _summary(
    metric: str,
    after: Sequence[SampleResult],
    before: Sequence[SampleResult],
    outcome: Outcome,
    *,
    slo_min: float | None,
) -> MetricSummary:
    now, was = _values(after, metric), _values(before, metric)
    mean = math.fsum(now) / len(now) if now else None
    base = math.fsum(was) / len(was) if was else None
    delta = mean - base if mean is not None and base is not None else None
    return MetricSummary(
        mean=mean,
        baseline_mean=base,
        delta=delta,
        ci_low=delta - 0.03 if delta is not None else None,
        ci_high=delta + 0.03 if delta is not None else None,
        p_value=0.003 if outcome == "failed" else None,
        mdd=0.041 if base is not None else None,
        samples_to_halve_mdd=4 * len(after) if base is not None else None,
        runs_to_halve_mdd=3 if base is not None else None,
        tolerance=0.02,
        slo_min=slo_min,
        n_scored=len(now),
        n_failed=len(after) - len(now),
        n_pairs=len(was),
        look=2 if outcome == "failed" else 1,
        m=1 if before else 0,
        outcome=outcome,
        reason=REASONS[outcome],
    )


def _values(results: Sequence[SampleResult], metric: str) -> list[float]:
    scores = [score for result in results if (score := result.score(metric))]
    return [score.value for score in scores if score.value is not None]


def _result(index: int, language: Language, text: Rewrite, *, bad: bool, side: str) -> SampleResult:
    cases = CASES[language]
    case = cases[index % len(cases)]
    passages = _passages(case, text)
    # What the retriever brought instead, where the passages are to blame.
    other = _passages(cases[(index + 1) % len(cases)], text) if bad and CAUSES[index % 4] == "retrieval" else None
    sample = Sample(
        id=text(f"{case.key}-{index + 1:02}"), question=text(case.question), contexts=passages,
        reference=(text(case.good),), tags=(text(language),), line=index + 1,
    )  # fmt: skip
    answer = Answer(text=text(case.bad if bad else case.good), contexts=other)
    scores = (
        _faithfulness(case, text, other or passages, bad=bad, lost=other is not None),
        _relevance(case, text, bad=bad),
    )
    return SampleResult(
        id=sample.id, side=side, sample_digest=f"s{index}", passages_digest="other" if other else f"p{index}",
        answer_digest="bad" if bad else "good", sample=sample, answer=answer, tags=sample.tags, scores=scores,
    )  # fmt: skip


def _passages(case: Case, text: Rewrite) -> tuple[Passage, ...]:
    return tuple(
        Passage(id=text(key), text=text(passage), rank=rank) for rank, (key, passage) in enumerate(case.passages, 1)
    )


def _faithfulness(case: Case, text: Rewrite, passages: Sequence[Passage], *, bad: bool, lost: bool) -> Score:
    claims = case.bad_claims if bad else case.good_claims
    supported = sum(verdict == "supported" for _, verdict, _ in claims)
    passed = supported == len(claims)
    return Score(
        metric="faithfulness",
        status="scored",
        value=supported / len(claims),
        passed=passed,
        label=f"faithfulness.{'pass' if passed else 'fail'}",
        reason=text(f"{supported} of {len(claims)} claims supported"),
        details={
            "claims": [
                {
                    "claim": text(claim),
                    "line": text(case.bad if bad else case.good),
                    "verdict": "absent" if lost else verdict,
                    "passage": {"id": passages[number - 1].id, "rank": number} if number and not lost else None,
                }
                for claim, verdict, number in claims
            ]
        },
    )


def _relevance(case: Case, text: Rewrite, *, bad: bool) -> Score:
    cosine = 0.91 if bad else 0.92
    return Score(
        metric="answer_relevance", status="scored", value=cosine, passed=True, label="answer_relevance.pass",
        reason=text(f"closest generated question: {case.question} ({cosine})"),
        details={"questions": [{"question": text(case.question), "cosine": cosine}]},
    )  # fmt: skip


def _unscored(result: SampleResult, text: Rewrite) -> SampleResult:
    scores = tuple(
        Score(
            metric=score.metric, status="failed", label=f"{score.metric}.failed",
            reason=text("the judge answered 503 three times"),
        )
        for score in result.scores
    )  # fmt: skip
    return result.model_copy(update={"scores": scores})

"""Holds an evaluation to minima and to a stored baseline, and says which samples are to blame: for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ragguard.adapters.renderers.escaping import brief
from ragguard.errors import ConfigError, ObjectNotFoundError
from ragguard.sdk.comparing import Comparison, compare
from ragguard.sdk.evaluation import Evaluation
from ragguard.sdk.results import MetricResult, NotScoredError, SampleScores

_SLACK = 1e-9
_MOST_CHARS = 160
_MEND = "run pytest with --ragguard-accept to store this evaluation as the baseline"


def problems_of(
    evaluation: Evaluation,
    minima: Mapping[str, float],
    baseline: str | Path | None,
    *,
    tolerance: float,
    accept: bool,
    most: int,
) -> str | None:
    """Says what does not hold, or None where all does.

    Args:
        evaluation: What was evaluated.
        minima: By metric, the least mean.
        baseline: Folder of the stored baseline.
        tolerance: The largest drop against the baseline that is tolerated.
        accept: Store this evaluation as the baseline, if it reaches the minima, instead of comparing.
        most: How many samples are shown.

    Raises:
        ConfigError: There is nothing to hold, or a minimum is no minimum.
    """
    if not minima and baseline is None:
        raise ConfigError(
            "ragguard_gate: nothing must hold", mend="give minima={'faithfulness': 0.9}, a baseline, or both"
        )
    breached = list(_breaches(evaluation, minima))
    told = [text for _, text in breached]
    blamed = [line for metric, _ in breached for line in _blamed(evaluation, metric, minima[metric], most)]
    if baseline is not None and not accept:
        said, fallen = _against(baseline, evaluation, tolerance, most)
        told += said
        blamed += fallen
    if not told:
        if baseline is not None and accept:
            evaluation.save(baseline)
        return None
    notes = [f"note: {notice}" for notice in evaluation.notices]
    return "\n".join(["ragguard: the gate does not hold", *(f"  - {text}" for text in told), *blamed, *notes])


def _breaches(evaluation: Evaluation, minima: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    directions = {metric.id: metric.direction for metric in evaluation.metrics}
    for metric, floor in minima.items():
        if metric not in directions:
            raise ConfigError(f"ragguard_gate: minima: {metric} is not among the metrics")
        if directions[metric] == "lower":
            raise ConfigError(f"ragguard_gate: minima: of {metric} less is better", mend="assert its value by itself")
        try:
            value = evaluation[metric]
        except NotScoredError as error:
            yield metric, brief(str(error), None)
            continue
        if value < floor - _SLACK:
            yield metric, f"{metric} is {value:.3f}, its minimum {floor:.3f}"


def _blamed(evaluation: Evaluation, metric: str, floor: float, most: int) -> Iterator[str]:
    """The samples without a score and those under the minimum, the worst first."""
    own = [(result, result[metric]) for result in evaluation if result[metric].status != "not_applicable"]
    under = [(result, score) for result, score in own if score.score is None or score.score < floor - _SLACK]
    under.sort(key=lambda pair: -1.0 if pair[1].score is None else pair[1].score)
    for result, score in under[:most]:
        yield from _sample_lines(result, score)
    if len(under) > most:
        yield f"  and {len(under) - most} more samples under the minimum of {metric}"


def _sample_lines(result: SampleScores, score: MetricResult) -> Iterator[str]:
    value = "not scored" if score.score is None else f"{score.score:.3f}"
    yield f"  {brief(result.id, 80)}  {score.metric} {value}: {brief(score.reason or '', _MOST_CHARS)}"
    yield f"      question: {brief(result.question, _MOST_CHARS)}"
    if result.answer is not None:
        yield f"      answer:   {brief(result.answer, _MOST_CHARS)}"


def _against(baseline: str | Path, evaluation: Evaluation, tolerance: float, most: int) -> tuple[list[str], list[str]]:
    """What the comparison complains of, and the samples that fell."""
    try:
        comparison: Comparison = compare(baseline, evaluation, tolerance=tolerance)
    except ObjectNotFoundError:
        return [f"there is no baseline in {baseline} yet: {_MEND}"], []
    comparable = comparison.outcome != "not_comparable"  # a command lets that pass outside pull requests; a test not
    if comparison and comparable:
        return [], []
    names = {result.id: result for result in evaluation}
    lines: list[str] = []
    for fallen in comparison.regressed[:most]:
        change = f"{fallen.metric} {fallen.before:.3f} -> {fallen.after:.3f}"
        lines.append(f"  {brief(fallen.id, 80)}  {change}  cause: {fallen.cause}")
        lines += list(_sample_lines(names[fallen.id], names[fallen.id][fallen.metric]))[1:]
    reasons = [brief(reason, None) for reason in comparison.reasons] or [f"the comparison ended {comparison.outcome}"]
    return reasons if comparable else [*reasons, f"if that is meant: {_MEND}"], lines

"""One sample told in full: what was asked and answered, what each metric saw, before and after."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping

from ragguard.core.runs import RunHead
from ragguard.core.samples import passages_of
from ragguard.core.scores import SampleResult, Score
from ragguard.core.text import one_line
from ragguard.core.work import CANDIDATE
from ragguard.errors import UserInputError

_MARKS = {"supported": "✓", "contradicted": "✗", "absent": "✗"}


def explain_lines(head: RunHead, results: Iterable[SampleResult], sample_id: str) -> Iterator[str]:
    """Yields the lines.

    Raises:
        UserInputError: The run has no such sample.
    """
    after: SampleResult | None = None
    before: list[SampleResult] = []
    looks: list[SampleResult] = []
    ids: list[str] = []
    for result in results:
        ids.append(result.id)
        if result.id != sample_id:
            continue
        if result.session is not None:
            looks.append(result)
        elif result.side == CANDIDATE:
            after = result
        else:
            before.append(result)
    if after is None:
        close = difflib.get_close_matches(sample_id, set(ids), n=3, cutoff=0.4)
        raise UserInputError(
            f"run {head.run_id} has no sample {sample_id}", mend=f"did you mean {', '.join(close)}?" if close else None
        )
    yield from _sample_lines(head, after, before)
    for score in after.scores:
        yield from _metric_lines(score, [old for one in before if (old := one.score(score.metric)) is not None])
    yield from _look_lines(looks)


def _sample_lines(head: RunHead, after: SampleResult, before: list[SampleResult]) -> Iterator[str]:
    yield f"sample {after.id} in run {head.run_id}"
    for entry in head.comparison.regressed:
        if entry.id == after.id:
            doubt = "" if entry.confirmed else " (unconfirmed)"
            yield f"  fell in {entry.metric}: {entry.before:.2f} -> {entry.after:.2f}, cause: {entry.cause}{doubt}"
    if after.sample is not None and after.answer is None:
        yield f"question: {one_line(after.sample.question)}"
        yield "answer: there is none"
        return
    if after.sample is None or after.answer is None:
        yield "  (texts are not stored: store_text is false)"
        return
    yield f"question: {one_line(after.sample.question)}"
    for index, passage in enumerate(passages_of(after.sample, after.answer) or (), 1):
        yield f"  P{index} [{passage.id or 'no id'}] {one_line(passage.text)}"
    for old in before:
        if old.answer is not None and old.answer.text != after.answer.text:
            yield f"answer before: {one_line(old.answer.text)}"
    yield f"answer: {one_line(after.answer.text)}"
    for reference in after.sample.reference or ():
        yield f"reference: {one_line(reference)}"


def _metric_lines(score: Score, before: list[Score]) -> Iterator[str]:
    was = f" (before {_value(before[0])})" if before else ""
    yield f"{score.metric}: {_value(score)}{was}{f' - {one_line(score.reason)}' if score.reason else ''}"
    was_said = list(_claim_lines(before[0].details)) if before else []
    is_said = list(_claim_lines(score.details))
    if was_said != is_said:
        yield from (f"    before {line}" for line in was_said)
    yield from (f"    {line}" for line in is_said)
    if was_said and was_said == is_said:
        yield "    (the same before)"


def _claim_lines(details: Mapping[str, object]) -> Iterator[str]:
    claims = details.get("claims")
    for claim in claims if isinstance(claims, list) else ():
        if isinstance(claim, dict):
            passage = claim.get("passage")
            where = f" [P{passage.get('rank')} {passage.get('id') or ''}]" if isinstance(passage, dict) else ""
            verdict = str(claim.get("verdict"))
            yield f"{_MARKS.get(verdict, '?')} {verdict}: {one_line(str(claim.get('claim')))}{where}"
    questions = details.get("questions")
    for question in questions if isinstance(questions, list) else ():
        if isinstance(question, dict):
            yield f"{question.get('cosine')}: {one_line(str(question.get('question')))}"


def _look_lines(looks: list[SampleResult]) -> Iterator[str]:
    for result in looks:
        values = ", ".join(f"{score.metric} {_value(score)}" for score in result.scores)
        side = "candidate" if result.side == CANDIDATE else f"baseline {result.side}"
        yield f"judged again (repeat {result.repeat}, {side}): {values}"


def _value(score: Score) -> str:
    return f"{score.value:.3f}" if score.value is not None else score.status.replace("_", " ")

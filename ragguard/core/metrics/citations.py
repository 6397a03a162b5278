"""Citations: do they point to right passages, and do those support what cites them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import JsonValue

from ragguard.core.metrics.base import Metric, mean
from ragguard.core.metrics.claims import claim_details, reason_for, supported_share
from ragguard.core.metrics.retrieval import WITHOUT_IDS, gold_keys, passage_key, without_ids
from ragguard.core.passage_tasks import CitationsReply, citations_task
from ragguard.core.ports import Tools
from ragguard.core.samples import Answer, Passage, Sample, passages_of
from ragguard.core.scores import Score
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import Task

_MARK = re.compile(r"\[([^\[\]]{1,200})\]|【([^【】]{1,200})】")
_LEADING_MARKS = re.compile(rf"^(?:(?:{_MARK.pattern})\s*)+")
_BETWEEN_MARKS = re.compile(r"\s*[,;，；、]\s*")


class CitationAccuracy(Metric):
    """Citations that point to a retrieved gold passage / citations. No judge.

    An answer that should cite and does not scores 0.0, flagged `no_citations`; with nothing right to cite (an
    unanswerable question, `gold_passage_ids: []`) not citing is right, and the metric does not apply.
    """

    type: Literal["citation_accuracy"] = "citation_accuracy"
    needs: ClassVar[tuple[str, ...]] = ("citations", "contexts", "gold_passages")

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """What was cited, retrieved and right."""
        retrieved: list[JsonValue] = [passage_key(passage) for passage in passages_of(sample, answer) or ()]
        gold: list[JsonValue] = [*sorted(gold_keys(sample, answer) or ())]
        return [list[JsonValue](answer.citations or ()), retrieved, gold, sample.answerable]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Counts every citation as often as it stands."""
        citations = answer.citations or ()
        if without_ids(sample, answer, even_flagged=bool(citations)):
            return self.not_applicable(WITHOUT_IDS)
        gold = gold_keys(sample, answer) or frozenset()
        if not citations:
            if sample.answerable is False or sample.gold_passage_ids == ():
                return self.not_applicable("there is nothing to cite, and nothing is cited")
            return self.scored(0.0, flags=("no_citations",), reason="the answer cites nothing")
        retrieved = {passage_key(passage) for passage in passages_of(sample, answer) or ()}
        wrong = [cited for cited in citations if f"id:{cited}" not in gold & retrieved]
        told = f"{len(citations) - len(wrong)} of {len(citations)} citations point to a retrieved gold passage"
        return self.scored(
            (len(citations) - len(wrong)) / len(citations),
            reason=f"{told}; wrong: {wrong[0]}" if wrong else told,
            details={"wrong": list[JsonValue](wrong)},
        )


@dataclass(frozen=True)
class Cited:
    """The part of an answer that cites.

    Attributes:
        lines: The lines that cite something.
        cites: For each line the numbers of the passages it cites, from 1, in `passages`.
        passages: The retrieved passages that are cited.
    """

    lines: tuple[str, ...]
    cites: tuple[tuple[int, ...], ...]
    passages: tuple[Passage, ...]


def cited_part(sample: Sample, answer: Answer) -> Cited:
    """Finds which lines cite which passages.

    Marks such as `[2]`, `[doc-7]` or `【2】` in the text decide, where there are any: a passage's id, else the rank of
    a passage, else the place in the list of citations. Without marks every line cites everything that is cited.
    """
    retrieved = passages_of(sample, answer) or ()
    citations = answer.citations or ()
    by_id = {passage.id: passage for passage in reversed(retrieved) if passage.id is not None}
    lines = _with_trailing_marks(split_sentences(answer.text))
    marks = [_marks(line, by_id, retrieved, citations) for line in lines]
    if not any(marks):
        marks = [list(citations) for _ in lines]
    citing = [(line, ids) for line, ids in zip(lines, marks, strict=True) if ids]
    passages = tuple(passage for passage in by_id.values() if any(passage.id in ids for _, ids in citing))
    passages = tuple(sorted(passages, key=lambda passage: passage.rank))
    return Cited(
        lines=tuple(line for line, _ in citing),
        cites=tuple(
            tuple(number for number, passage in enumerate(passages, 1) if passage.id in ids) for _, ids in citing
        ),
        passages=passages,
    )


def _with_trailing_marks(sentences: Sequence[str]) -> list[str]:
    """Gives marks back that stood behind a full stop and were split off, to the line that they belong to."""
    lines: list[str] = []
    for sentence in sentences:
        leading = _LEADING_MARKS.match(sentence)
        if leading and lines and not _MARK.search(lines[-1]):
            lines[-1] += leading[0].rstrip()
            lines += [rest] if (rest := sentence[leading.end() :]) else []
        else:
            lines.append(sentence)
    return lines


def _marks(
    line: str, by_id: Mapping[str, Passage], retrieved: Sequence[Passage], citations: Sequence[str]
) -> list[str]:
    """Ids of the passages that a line's marks name; a mark that names nothing cited or retrieved is no citation."""
    found: list[str] = []
    for match in _MARK.finditer(line):
        inside = (match[1] or match[2]).strip()
        for mark in (inside, *_BETWEEN_MARKS.split(inside)):
            named = _named(mark, by_id, retrieved, citations)
            if named is not None and named not in found:
                found.append(named)
    return found


def _named(
    mark: str, by_id: Mapping[str, Passage], retrieved: Sequence[Passage], citations: Sequence[str]
) -> str | None:
    if mark in by_id or mark in citations:
        return mark
    place = int(mark) if mark.isascii() and mark.isdigit() and len(mark) < 4 else 0
    if 1 <= place <= len(retrieved) and (found := retrieved[place - 1].id) in citations:
        return found
    return citations[place - 1] if 1 <= place <= len(citations) else None


class CitationSupport(Metric):
    """Cited claims that the cited passage itself supports / cited claims. One judge call.

    A citation of something that was not retrieved supports nothing. An answer that cites nothing has no cited claims:
    the metric does not apply (`citation_accuracy` tells that).
    """

    type: Literal["citation_support"] = "citation_support"
    needs: ClassVar[tuple[str, ...]] = ("question", "answer", "contexts", "citations")

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `citations` task."""
        return ("citations",)

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One `citations` task; none when no line cites a retrieved passage."""
        cited = cited_part(sample, answer)
        return (citations_task(sample, cited.lines, cited.cites, cited.passages),) if cited.passages else ()

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """The ids, which the details repeat, and whether anything is cited at all."""
        return [[passage.id for passage in passages_of(sample, answer) or ()], list[JsonValue](answer.citations or ())]

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Mean over judges and repeats of the share of supported cited claims."""
        cited = cited_part(sample, answer)
        if not cited.lines:
            return self.not_applicable("the answer cites nothing")
        if not cited.passages:
            return self.scored(0.0, flags=("not_retrieved",), reason="nothing that the answer cites was retrieved")
        judgments = await tools.judge(self.tasks(sample, answer)[0])
        replies = [CitationsReply.model_validate(judgment.output) for judgment in judgments]
        claims = [claim for reply in replies for claim in reply.claims]
        return self.scored(
            mean([supported_share(reply.claims) if reply.claims else 1.0 for reply in replies]),
            reason=reason_for(claims) if claims else "the citing lines claim nothing",
            flags=() if claims else ("no_claims",),
            details={"claims": claim_details(claims, cited.lines, cited.passages)},
            judgments=judgments,
        )

"""What a judge can be asked: each task names its template, carries its inputs, and checks the reply against them.

A judge only gives verdicts; every value is computed from them by the metrics. A reply is accepted only when it speaks
of exactly the numbered items that were asked about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from ragguard.core.samples import Passage, Sample
from ragguard.core.sentences import split_sentences
from ragguard.core.text import Text
from ragguard.core.voting import ByLine, FromLine, Tally, by_line, vote_lines

Inputs = Mapping[str, JsonValue]


class Reply(BaseModel):
    """Base of the replies: unknown fields (such as a total score the judge wrote itself) are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def problems(self, inputs: Inputs) -> list[str]:
        """Says what is wrong with the reply, given what was asked; empty when it can be accepted."""
        raise NotImplementedError

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """One reply of the verdicts that most replies gave, a tie going to the stricter one.

        Args:
            replies: Accepted replies to the task, one for each judge and repeat, in any order.
            tally: What was asked, and where verdicts and ties are counted.

        Returns:
            The reply; None where this kind holds no verdicts to vote on, so that all replies count by their mean.
        """
        del replies, tally
        return None


@dataclass(frozen=True)
class Task:
    """One question to a judge.

    Attributes:
        name: Names the template and appears in the judgment's key.
        inputs: Every value that the template renders; JSON.
        reply: What an accepted reply looks like.
        strictest: The verdict that a tied vote goes to, where it depends on the sample; the judge does not see it.
    """

    name: str
    inputs: Inputs = field(hash=False)
    reply: type[Reply]
    strictest: str | None = None


def coverage_problems(what: str, asked: int, given: Iterable[int], *, once: bool = True) -> list[str]:
    """Compares the numbers that a reply names with the numbers 1..asked.

    Args:
        what: The word for one item, for the message.
        asked: How many items were asked about.
        given: The numbers in the reply.
        once: Whether each number may stand only once.

    Returns:
        One sentence for missing, unknown and repeated numbers each.
    """
    counts = Counter(given)
    missing = [number for number in range(1, asked + 1) if number not in counts]
    unknown = sorted(number for number in counts if not 1 <= number <= asked)
    repeated = sorted(number for number, count in counts.items() if count > 1) if once else []
    problems = []
    if missing:
        problems.append(f"missing: {what} {_listed(missing)}")
    if unknown:
        problems.append(f"not asked about: {what} {_listed(unknown)}")
    if repeated:
        problems.append(f"named more than once: {what} {_listed(repeated)}")
    return problems


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:20])
    return f"{shown} and {len(numbers) - 20} more" if len(numbers) > 20 else shown


class ClaimVerdict(FromLine):
    """One claim with the judge's verdict.

    Attributes:
        source: Number of the line that makes the claim, from 1.
        claim: The claim in the language of its text.
        passage: Number of the passage that decides the verdict, from 1; 0 for none.
        verdict: `supported`, `contradicted`, or `absent` when no passage speaks of it.
    """

    claim: Text = Field(min_length=1)
    passage: int
    verdict: Literal["supported", "contradicted", "absent"]


class ClaimsReply(Reply):
    """Claims of numbered lines, and the lines that make none."""

    claims: list[ClaimVerdict]
    no_claim: list[int]

    def problems(self, inputs: Inputs) -> list[str]:
        """Every line must be the source of a claim or be named in `no_claim`, never both; passages must exist."""
        lines, passages = count(inputs, "lines"), count(inputs, "passages")
        sources = {claim.source for claim in self.claims}
        found = coverage_problems("line", lines, [*sources, *self.no_claim])
        found += passage_problems(self.claims, passages)
        return found

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """Line by line: not all of its claims are supported, it claims nothing, all are."""
        chosen = vote_claims([by_line(reply.claims, reply.no_claim) for reply in replies], tally)
        return cls(claims=[claim for claims in chosen.values() for claim in claims], no_claim=without_claim(chosen))


def vote_claims(replies: Sequence[ByLine[ClaimVerdict]], tally: Tally) -> dict[int, Sequence[ClaimVerdict]]:
    """Votes on the claims of every line; see `vote_lines`."""
    return vote_lines(replies, _support, _supported_share, tally)


def _support(claims: Sequence[ClaimVerdict]) -> int:
    """What a line's claims say of it, the strictest first: 0 not all supported, 1 no claim, 2 supported."""
    if not claims:
        return 1
    return 2 if all(claim.verdict == "supported" for claim in claims) else 0


def _supported_share(claims: Sequence[ClaimVerdict]) -> float:
    return sum(claim.verdict == "supported" for claim in claims) / max(len(claims), 1)


def without_claim(chosen: Mapping[int, Sequence[object]]) -> list[int]:
    """The lines that claim nothing."""
    return [line for line, claims in chosen.items() if not claims]


def passage_problems(claims: Iterable[ClaimVerdict], passages: int) -> list[str]:
    """Says which claims name a passage that does not exist, or no passage where one must have supported them."""
    wrong = sorted({claim.passage for claim in claims if not 0 <= claim.passage <= passages})
    found = [f"no such passage: {_listed(wrong)}"] if wrong else []
    if any(claim.verdict == "supported" and claim.passage == 0 for claim in claims):
        found.append("a supported claim must name the passage that supports it")
    return found


class SentencesReply(Reply):
    """The numbers of the relevant sentences and of the others: each sentence in exactly one list."""

    relevant: list[int]
    irrelevant: list[int]

    def problems(self, inputs: Inputs) -> list[str]:
        """Every sentence must stand in exactly one of the two lists."""
        return coverage_problems("sentence", _sentence_count(inputs), [*self.relevant, *self.irrelevant])

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """Sentence by sentence; not relevant is the stricter verdict."""
        kept: dict[bool, list[int]] = {True: [], False: []}
        for number in range(1, _sentence_count(tally.inputs) + 1):
            kept[tally.choose([number in reply.relevant for reply in replies], strictness=int)].append(number)
        return cls(relevant=kept[True], irrelevant=kept[False])


class QuestionsReply(Reply):
    """Questions that the answer would answer, and whether the answer only refuses or evades."""

    noncommittal: bool
    questions: list[Text]

    def problems(self, inputs: Inputs) -> list[str]:
        """As many questions as asked for, none blank."""
        wanted = inputs["n"]
        found = []
        if len(self.questions) != wanted:
            found.append(f"asked for {wanted} questions, got {len(self.questions)}")
        if any(not question.strip() for question in self.questions):
            found.append("a question is blank")
        return found

    @classmethod
    def majority(cls, replies: Sequence[Self], tally: Tally) -> Self | None:
        """Whether the answer only evades, the stricter verdict; of the winning side all questions count."""
        evades = tally.choose([reply.noncommittal for reply in replies], strictness=lambda evasive: not evasive)
        winners = [reply for reply in replies if reply.noncommittal is evades]
        return cls(noncommittal=evades, questions=[question for reply in winners for question in reply.questions])


def count(inputs: Inputs, key: str) -> int:
    """How many items a task's input holds; 0 where it is no list."""
    items = inputs[key]
    return len(items) if isinstance(items, list) else 0


def _sentence_count(inputs: Inputs) -> int:
    passages = inputs["passages"]
    if not isinstance(passages, list):
        return 0
    return sum(len(passage) for passage in passages if isinstance(passage, list))


def passage_sentences(passages: Sequence[Passage]) -> list[JsonValue]:
    """Splits passages into sentences: a list of sentences for each passage, in rank order."""
    return [list[JsonValue](split_sentences(passage.text)) for passage in passages]


def conversation(sample: Sample) -> dict[str, JsonValue]:
    """The question with the earlier turns, as templates take them."""
    history: list[JsonValue] = [{"role": turn.role, "content": turn.content} for turn in sample.history]
    return {"question": sample.question, "history": history}


def claims_task(sample: Sample, lines: Sequence[str], passages: Sequence[Passage]) -> Task:
    """Asks for the claims of an answer's sentences, each with a verdict against the passages."""
    inputs = {**conversation(sample), "passages": passage_sentences(passages), "lines": list[JsonValue](lines)}
    return Task("claims", inputs, ClaimsReply)


def sentences_task(sample: Sample, passages: Sequence[Passage]) -> Task:
    """Asks which sentences of the passages help to answer the question."""
    return Task("sentences", {**conversation(sample), "passages": passage_sentences(passages)}, SentencesReply)


def questions_task(answer: str, n: int) -> Task:
    """Asks for n questions that the answer would answer."""
    return Task("questions", {"answer": answer, "n": n}, QuestionsReply)

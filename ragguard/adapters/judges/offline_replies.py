"""The offline judge's rules: one function for each task, from the task's inputs to a reply. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from pydantic import JsonValue

from ragguard.adapters.judges.lexical import best_match, foreign_numbers, likeness
from ragguard.core.refusals import is_claimless, only_refuses
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import Inputs, Task

Output = dict[str, JsonValue]

# Found on questions in three languages: the shares of good and of worse retrieval lie furthest apart here.
_RELEVANT_FROM = 0.25
_NEIGHBOUR_WEIGHT = 0.25
_QUESTION_LENGTH = 300


def reply_to(task: Task) -> Output | None:
    """The reply to a task; None for a task without a rule."""
    rule = _RULES.get(task.name.partition(":")[0])
    return rule(task.inputs) if rule else None


def _claims(inputs: Inputs) -> Output:
    """Every line that states something is one claim; a number that no passage holds makes it absent."""
    passages = [" ".join(sentences) for sentences in _texts(inputs, "passages")]
    claims: list[JsonValue] = []
    no_claim: list[JsonValue] = []
    for number, line in enumerate(_lines(inputs, "lines"), 1):
        if is_claimless(line):
            no_claim.append(number)
            continue
        passage = _supporting(line, passages)
        verdict = "supported" if passage else "absent"
        claims.append({"source": number, "claim": line, "passage": passage, "verdict": verdict})
    return {"claims": claims, "no_claim": no_claim}


def _supporting(line: str, passages: Sequence[str]) -> int:
    """Number of the passage that shares most with a line; 0 where a number of the line stands in none of them."""
    if not any(passages) or foreign_numbers(line, passages):
        return 0
    return best_match(line, passages)[0] + 1


def _sentences(inputs: Inputs) -> Output:
    """A sentence is relevant when it, helped a little by its neighbours, is like the question."""
    relevant: list[JsonValue] = []
    irrelevant: list[JsonValue] = []
    number = 0
    for sentences in _texts(inputs, "passages"):
        own = [likeness(str(inputs["question"]), sentence) for sentence in sentences]
        for index, value in enumerate(own):
            number += 1
            beside = max([*own[max(0, index - 1) : index], *own[index + 1 : index + 2]], default=0.0)
            helped = value + _NEIGHBOUR_WEIGHT * beside
            (relevant if helped >= _RELEVANT_FROM else irrelevant).append(number)
    return {"relevant": relevant, "irrelevant": irrelevant}


def _questions(inputs: Inputs) -> Output:
    """The answer as a whole, then each of its lines that states something, with a question mark."""
    answer = str(inputs["answer"])
    lines = [line for line in split_sentences(answer) if not is_claimless(line)] or [answer]
    wanted = cast("int", inputs["n"])
    texts = [" ".join(lines), *lines] if len(lines) > 1 else lines
    questions: list[JsonValue] = [_as_question(texts[index % len(texts)]) for index in range(wanted)]
    return {"noncommittal": only_refuses(answer), "questions": questions}


def _as_question(text: str) -> str:
    cut = " ".join(text[:_QUESTION_LENGTH].split()).rstrip(".!。！;；:：")
    return f"{cut}?"


def _texts(inputs: Inputs, key: str) -> list[list[str]]:
    """A list of lists of texts, such as passages of sentences."""
    return cast("list[list[str]]", inputs[key])


def _lines(inputs: Inputs, key: str) -> list[str]:
    return cast("list[str]", inputs[key])


_RULES: dict[str, Callable[[Inputs], Output]] = {
    "claims": _claims,
    "sentences": _sentences,
    "questions": _questions,
}

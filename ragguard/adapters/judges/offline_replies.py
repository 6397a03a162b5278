"""The offline judge's rules: one function for each task, from the task's inputs to a reply. Pure and deterministic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from pydantic import JsonValue

from ragguard.adapters.judges.lexical import best_match, foreign_numbers, likeness, shared
from ragguard.core.refusals import is_claimless, only_refuses, refuses
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import Inputs, Task

Output = dict[str, JsonValue]

# Found on questions in three languages: the shares of good and of worse retrieval lie furthest apart here.
_RELEVANT_FROM = 0.25
_NEIGHBOUR_WEIGHT = 0.25
_TOLD_FROM = 0.5
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


def _reference(inputs: Inputs) -> Output:
    """A reference's line is recalled when a passage shares enough with it; such a passage helps that reference."""
    passages = [" ".join(sentences) for sentences in _texts(inputs, "passages")]
    claims: list[JsonValue] = []
    no_claim: list[JsonValue] = []
    helps: list[set[int]] = [set() for _ in passages]
    for number, (alternative, line) in enumerate(_numbered_by_alternative(inputs), 1):
        if is_claimless(line):
            no_claim.append(number)
            continue
        near = [index for index, passage in enumerate(passages) if _tells(passage, line)]
        for index in near:
            helps[index].add(alternative)
        best = max(near, key=lambda index: (shared(line, passages[index]), -index)) + 1 if near else 0
        verdict = "supported" if near else "absent"
        claims.append({"source": number, "claim": line, "passage": best, "verdict": verdict})
    uses: list[JsonValue] = [
        {"passage": number, "helps": list[JsonValue](sorted(found))} for number, found in enumerate(helps, 1)
    ]
    return {"claims": claims, "no_claim": no_claim, "passages": uses}


def _numbered_by_alternative(inputs: Inputs) -> list[tuple[int, str]]:
    return [(number, line) for number, lines in enumerate(_texts(inputs, "references"), 1) for line in lines]


def _tells(text: str, line: str) -> bool:
    return shared(line, text) >= _TOLD_FROM and not foreign_numbers(line, [text])


def _grades_by_likeness(inputs: Inputs) -> Output:
    """2, 1 or 0 by the sentence of a passage that is most like the question."""
    question = str(inputs["question"])
    return _grades(
        [max((likeness(question, each) for each in sentences), default=0.0) for sentences in _texts(inputs, "passages")]
    )


def _grades_by_share(inputs: Inputs) -> Output:
    """2, 1 or 0 by the share of the question that the passage as a whole holds."""
    question = str(inputs["question"])
    return _grades([shared(question, " ".join(sentences)) - 0.1 for sentences in _texts(inputs, "passages")])


def _grades(values: Sequence[float]) -> Output:
    steps = [sum(value >= step for step in (_RELEVANT_FROM, 2 * _RELEVANT_FROM)) for value in values]
    return {"grades": [{"passage": number, "grade": grade} for number, grade in enumerate(steps, 1)]}


def _citations(inputs: Inputs) -> Output:
    """As claims, against the passages that the line cites."""
    passages = [" ".join(sentences) for sentences in _texts(inputs, "passages")]
    cites = cast("list[list[int]]", inputs["cites"])
    claims: list[JsonValue] = []
    no_claim: list[JsonValue] = []
    for number, (line, cited) in enumerate(zip(_lines(inputs, "lines"), cites, strict=True), 1):
        if is_claimless(line):
            no_claim.append(number)
            continue
        place = _supporting(line, [passages[each - 1] for each in cited])
        passage = cited[place - 1] if place else 0
        verdict = "supported" if passage else "absent"
        claims.append({"source": number, "claim": line, "passage": passage, "verdict": verdict})
    return {"claims": claims, "no_claim": no_claim}


def _correctness(inputs: Inputs) -> Output:
    """A line agrees when the other text holds its numbers and shares enough of its characters."""
    lines = _lines(inputs, "lines")
    answer = " ".join(lines)
    references = [" ".join(each) for each in _texts(inputs, "references")]
    by_reference = [line for _, line in _numbered_by_alternative(inputs)]
    return {
        "answer": [
            {
                "source": number,
                "claim": line,
                "in_references": [place for place, text in enumerate(references, 1) if _tells(text, line)],
            }
            for number, line in enumerate(lines, 1)
            if not is_claimless(line)
        ],
        "answer_no_claim": [number for number, line in enumerate(lines, 1) if is_claimless(line)],
        "reference": [
            {"source": number, "claim": line, "in_answer": _tells(answer, line)}
            for number, line in enumerate(by_reference, 1)
            if not is_claimless(line)
        ],
        "reference_no_claim": [number for number, line in enumerate(by_reference, 1) if is_claimless(line)],
    }


def _abstention(inputs: Inputs) -> Output:
    """By the lexicon of refusals."""
    lines = _lines(inputs, "lines")
    if any(refuses(line) for line in lines):
        return {"verdict": "refused" if all(is_claimless(line) for line in lines) else "partial"}
    return {"verdict": "answered"}


def _rubric(inputs: Inputs) -> Output:
    """The criterion is not understood: the share of the question that the answer holds stands in, and says so."""
    maximum = cast("int", inputs["maximum"])
    held = shared(str(inputs["question"]), " ".join(_lines(inputs, "lines")))
    reason = f"the offline judge does not read the criterion; the answer holds {held:.0%} of the question's characters"
    return {"reason": reason, "score": round(maximum * held)}


def _texts(inputs: Inputs, key: str) -> list[list[str]]:
    """A list of lists of texts, such as passages of sentences."""
    return cast("list[list[str]]", inputs[key])


def _lines(inputs: Inputs, key: str) -> list[str]:
    return cast("list[str]", inputs[key])


_RULES: dict[str, Callable[[Inputs], Output]] = {
    "claims": _claims,
    "sentences": _sentences,
    "questions": _questions,
    "reference": _reference,
    "passages_a": _grades_by_likeness,
    "passages_b": _grades_by_share,
    "citations": _citations,
    "correctness": _correctness,
    "abstention": _abstention,
    "rubric": _rubric,
}

"""Useful answers to the peers' prompts: each is known by a phrase of its own, and answered in the shape it asks for.

A statement counts as supported where its figures stand in the text it is held against, as in the test judge's rules.
"""

import ast
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.parts.judge_rules import supporting_passage

Reply = dict[str, Any]
"""What is sent as JSON; `{"plain": text}` is sent as that text alone."""

PLAIN = "plain"
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
_WHY = "by the figures in the text"


class _UnreadableError(Exception):
    """A prompt of a known kind does not look as expected; the peer's version has changed it."""


def sentences(text: str) -> list[str]:
    """The sentences of a text; a text without any is one."""
    return [part for part in _SENTENCE_END.split(text.strip()) if part]


def _supported(line: str, texts: Sequence[str]) -> int:
    return int(bool(supporting_passage(line, [list(texts)])))


def _between(prompt: str, start: str, end: str | None = None) -> str:
    """The text after the last `start`, up to the last `end`."""
    _, found, rest = prompt.rpartition(start)
    if not found:
        raise _UnreadableError(f"no {start!r} in the prompt")
    return (rest.rpartition(end)[0] if end else rest).strip()


def _json_after(prompt: str, start: str) -> Any:
    """The JSON value after the last `start`."""
    return json.JSONDecoder().raw_decode(_between(prompt, start))[0]


def _ragas_input(prompt: str) -> Any:
    return _json_after(prompt, "with the following input\ninput: ")


def _ragas_mended(prompt: str) -> Reply:
    """Ragas shows a reply that it could not read and the prompt that it belongs to, and asks for a better one."""
    _, found, shown = prompt.partition("with the following input\ninput: ")
    if not found:
        raise _UnreadableError("no input in the prompt")
    reply = peer_reply(json.JSONDecoder().raw_decode(shown)[0]["prompt_value"])
    return {"text": json.dumps(reply, ensure_ascii=False)}


def _ragas_question(prompt: str) -> Reply:
    return _question(_ragas_input(prompt)["response"])


def _question(answer: str) -> Reply:
    return {"question": " ".join(answer.split()[:12]).rstrip(".") + "?", "noncommittal": 0}


def _ragas_verdicts(prompt: str) -> Reply:
    given = _ragas_input(prompt)
    return {"statements": _judged(given["statements"], given["context"])}


def _judged(statements: Sequence[str], context: str) -> list[Reply]:
    return [{"statement": line, "reason": _WHY, "verdict": _supported(line, [context])} for line in statements]


def _attributed(given: Any) -> Reply:
    return {
        "classifications": [
            {"statement": line, "reason": _WHY, "attributed": _supported(line, [given["context"]])}
            for line in sentences(given["answer"])
        ]
    }


def _dingo_faithfulness(prompt: str) -> Reply:
    answer = prompt.partition("**答案**:\n")[2].partition("\n\n**上下文**:\n")[0]
    context = prompt.partition("**上下文**:\n")[2].partition("\n\n**任务要求**")[0]
    judged = _judged(sentences(answer), context)
    if not judged:
        raise _UnreadableError("no answer in the prompt")
    return {"statements": judged, "score": round(10 * sum(row["verdict"] for row in judged) / len(judged), 2)}


def _deepeval_claims(prompt: str) -> Reply:
    truths = [_between(prompt, "Retrieval Contexts:\n", "\n\nClaims:\n")]
    claims = ast.literal_eval(_between(prompt, "\nClaims:\n", "JSON:"))
    return {"verdicts": [_yes_or_no(_supported(claim, truths)) for claim in claims]}


def _yes_or_no(fits: int) -> Reply:
    return {"verdict": "yes" if fits else "no", "reason": _WHY}


def _deepeval_relevance(prompt: str) -> Reply:
    statements = ast.literal_eval(_between(prompt, "\nStatements:\n", "JSON:"))
    return {"verdicts": [_yes_or_no(1) for _ in statements]}


def _deepeval_context(prompt: str) -> Reply:
    context = _between(prompt, "\nContext:\n", "JSON:")
    return {"verdicts": [{"statement": line, **_yes_or_no(1)} for line in sentences(context)]}


def _deepeval_nodes(prompt: str) -> Reply:
    found = re.search(r"\nRetrieval Context\s+\((\d+) document", prompt)
    if not found:
        raise _UnreadableError("no number of documents in the prompt")
    return {"verdicts": [_yes_or_no(1) for _ in range(int(found[1]))]}


def _deepeval_recall(prompt: str) -> Reply:
    expected = _between(prompt, "\nExpected Output:\n", "\n\nRetrieval Context:\n")
    context = _between(prompt, "\nRetrieval Context:\n", "JSON:")
    return {"verdicts": [_yes_or_no(_supported(line, [context])) for line in sentences(expected)]}


RULES: tuple[tuple[str, Callable[[str], Reply]], ...] = (
    ("did not satisfy the constraints given in the prompt", _ragas_mended),
    # ragas
    ("Generate a question for the given answer and Identify", _ragas_question),
    ("Break down each sentence into one or more", lambda p: {"statements": sentences(_ragas_input(p)["answer"])}),
    ("judge the faithfulness of a series of statements", _ragas_verdicts),
    ("You are a world class expert designed to evaluate the relevance score", lambda _: {PLAIN: "2"}),
    ("As a specially designed expert to assess the relevance score", lambda _: {PLAIN: "2"}),
    ("verify if the context was useful in arriving at", lambda _: {"reason": _WHY, "verdict": 1}),
    ("classify if the sentence can be attributed", lambda p: _attributed(_ragas_input(p))),
    # dingo
    ("Generate a question for the given answer and identify", lambda p: _question(_json_after(p, '"response": '))),
    ("你是一个严格的事实验证专家", _dingo_faithfulness),
    ("专门评估上下文对回答问题的相关性分数", lambda _: {"rating": 2}),
    ("评估检索到的上下文是否对回答问题有帮助", lambda _: {"verdict": True, "reason": _WHY}),
    ("分类该句子是否可以归因于给定的上下文", lambda p: _attributed(_dingo_input(p))),
    # deepeval
    ('with the "truths" key', lambda p: {"truths": sentences(_between(p, "\nText:\n", "JSON:"))}),
    ('with the "claims" key', lambda p: {"claims": sentences(_between(p, "\nAI Output:\n", "JSON:"))}),
    ("generate a list of statements presented", lambda p: {"statements": sentences(_between(p, "\nText:\n", "JSON:"))}),
    ("whether EACH claim contradicts any facts", _deepeval_claims),
    ("whether each statement is relevant to address the input", _deepeval_relevance),
    ("the statement found in the context is relevant", _deepeval_context),
    ("each statement found in the context is relevant", _deepeval_context),
    ("was remotely useful in arriving at the expected output", _deepeval_nodes),
    ("can be attributed to the nodes of retrieval contexts", _deepeval_recall),
    ("with the 'reason' key providing the reason", lambda _: {"reason": f"The score is what it is {_WHY}."}),
)
"""What a prompt is known by, and its answer; the first that fits counts."""


def _dingo_input(prompt: str) -> Reply:
    shown = _between(prompt, "输入: {")
    return {
        "context": _json_after(shown, '"context": '),
        "answer": _json_after(shown, '"answer": '),
    }


def peer_reply(prompt: str) -> Reply | None:
    """The answer to a peer's prompt; None where the prompt is not one of theirs.

    Raises:
        ValueError: It is, but does not look as it did when the rules were written.
    """
    for phrase, rule in RULES:
        if phrase in prompt:
            try:
                return rule(prompt)
            except (_UnreadableError, ValueError, SyntaxError, KeyError, TypeError) as error:
                raise ValueError(f"cannot read the prompt with {phrase!r}: {error}") from error
    return None

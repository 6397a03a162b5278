"""How the test judge answers: one simple, deterministic rule for each task, in a table that is easy to extend.

A rule is `rule(asked, say) -> reply`, where `say(line, verdicts, default)` chooses a verdict for a line: what a test
scripted for it, else the default, flipped to another of `verdicts` at the server's flip rate.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

_BLOCK = re.compile(
    r"<<(?P<name>[\w:-]+) (?P<code>[0-9a-f]{8})>>\n(?P<text>.*?)\n<<end (?P=name) (?P=code)>>", re.DOTALL
)
_TASK = re.compile(r"^TASK (?P<name>[^,\n]+), version", re.MULTILINE)
_NUMBERED = re.compile(r"^(\d+)\| (.*)$")
_HEADING = re.compile(r"^[PR]\d+$")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]{3,}|[一-鿿]{2}|\d+")
_REFUSAL = re.compile(
    r"i do not know|i don't know|cannot answer|không biết|không có thông tin|抱歉|不知道|没有提到", re.IGNORECASE
)

PROBE = "probe"


@dataclass(frozen=True)
class Asked:
    """What a prompt asks: the task, the material by block, and the instructions outside the blocks."""

    task: str
    instructions: str
    blocks: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def numbered(self, block: str) -> dict[int, str]:
        """The numbered lines of a block."""
        found = (_NUMBERED.match(line) for line in self.blocks.get(block, ()))
        return {int(match[1]): match[2] for match in found if match}

    def grouped(self, block: str) -> list[list[str]]:
        """The numbered lines of a block under their headings `P1`, `R1` …"""
        groups: list[list[str]] = []
        for line in self.blocks.get(block, ()):
            if _HEADING.match(line):
                groups.append([])
            elif (match := _NUMBERED.match(line)) and groups:
                groups[-1].append(match[2])
        return groups

    @property
    def passages(self) -> list[list[str]]:
        """The passages as lists of sentences."""
        return self.grouped("passages")

    @property
    def question(self) -> str:
        """The last line of the conversation."""
        lines = self.blocks.get("conversation", ("",))
        return lines[-1].removeprefix("question: ")


def read_prompt(text: str, schema_name: str | None = None) -> Asked:
    """Takes a prompt apart; a task line inside a block is data and names nothing."""
    blocks = {match["name"]: match["text"].split("\n") for match in _BLOCK.finditer(text)}
    instructions = _BLOCK.sub("", text)
    named = _TASK.search(instructions)
    task = named["name"].strip() if named else schema_name or PROBE
    return Asked(task, instructions, blocks)


class Say(Protocol):
    """Chooses the verdict for a line."""

    def __call__(self, line: str, verdicts: Sequence[str], default: str) -> str: ...


Rule = Callable[[Asked, Say], dict[str, Any]]


def supporting_passage(line: str, passages: Sequence[Sequence[str]]) -> int:
    """1-based passage that holds most of a line's numbers, if the passages hold them all together; else 0."""
    wanted = set(_NUMBER.findall(line))
    held = [wanted & set(_NUMBER.findall(" ".join(sentences))) for sentences in passages]
    if not held or set().union(*held) != wanted:
        return 0
    return 1 + max(range(len(held)), key=lambda index: len(held[index]))


def overlaps(line: str, question: str) -> bool:
    """Whether a line shares a word, a number or two Chinese characters with the question."""
    return bool(set(_WORD.findall(line.casefold())) & set(_WORD.findall(question.casefold())))


def claims(asked: Asked, say: Say) -> dict[str, Any]:
    """Each line is one claim, supported if its numbers stand in the passages; a question makes no claim."""
    return _claims_of(asked.numbered("answer"), asked.passages, say)


def _claims_of(lines: Mapping[int, str], passages: Sequence[Sequence[str]], say: Say) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    no_claim = []
    for number, line in lines.items():
        if _is_question(line):
            no_claim.append(number)
            continue
        passage = supporting_passage(line, passages)
        verdict = say(line, ("supported", "absent", "contradicted"), "supported" if passage else "absent")
        decided = 0 if verdict == "absent" else passage or min(1, len(passages))
        found.append({"source": number, "claim": line, "passage": decided, "verdict": verdict})
    return {"claims": found, "no_claim": no_claim}


def _is_question(line: str) -> bool:
    return line.rstrip().endswith(("?", "？"))


def citations(asked: Asked, say: Say) -> dict[str, Any]:
    """As for claims, but only the passages that a line cites count."""
    told = dict(re.findall(r"(\d+): ((?:P\d+(?:, )?)+|none)", asked.instructions))
    found: list[dict[str, Any]] = []
    for number, line in asked.numbered("answer").items():
        cited = [int(passage) for passage in re.findall(r"P(\d+)", told.get(str(number), ""))]
        best = supporting_passage(line, [asked.passages[passage - 1] for passage in cited])
        verdict = say(line, ("supported", "absent"), "supported" if best else "absent") if cited else "absent"
        decided = cited[max(best, 1) - 1] if verdict == "supported" else 0
        found.append({"source": number, "claim": line, "passage": decided, "verdict": verdict})
    return {"claims": found, "no_claim": []}


def reference(asked: Asked, say: Say) -> dict[str, Any]:
    """Reference lines as claims; a passage helps an alternative if they share a word or number."""
    alternatives = [" ".join(lines) for lines in asked.grouped("references")]
    helps = [
        {"passage": number, "helps": [n for n, text in enumerate(alternatives, 1) if overlaps(" ".join(rows), text)]}
        for number, rows in enumerate(asked.passages, 1)
    ]
    return {**_claims_of(asked.numbered("references"), asked.passages, say), "passages": helps}


def grades(asked: Asked, say: Say) -> dict[str, Any]:
    """A passage that shares a word with the question gets 2, any other 0."""
    rows = []
    for number, passage in enumerate(asked.passages, 1):
        text = " ".join(passage)
        rows.append(
            {
                "passage": number,
                "grade": int(say(text, ("0", "1", "2"), "2" if overlaps(text, asked.question) else "0")),
            }
        )
    return {"grades": rows}


def correctness(asked: Asked, say: Say) -> dict[str, Any]:
    """A line agrees with another text if that text holds all its numbers and shares a word with it."""
    alternatives = asked.grouped("references")
    answer = asked.numbered("answer")
    whole = [list(answer.values())]

    def agrees(line: str, texts: list[list[str]]) -> bool:
        default = bool(supporting_passage(line, texts)) and overlaps(line, " ".join(texts[0]))
        return say(line, ("yes", "no"), "yes" if default else "no") == "yes"

    return {
        "answer": [
            {
                "source": n,
                "claim": line,
                "in_references": [k for k, text in enumerate(alternatives, 1) if agrees(line, [text])],
            }
            for n, line in answer.items()
            if not _is_question(line)
        ],
        "answer_no_claim": [n for n, line in answer.items() if _is_question(line)],
        "reference": [
            {"source": n, "claim": line, "in_answer": agrees(line, whole)}
            for n, line in asked.numbered("references").items()
        ],
        "reference_no_claim": [],
    }


def abstention(asked: Asked, say: Say) -> dict[str, Any]:
    """An answer refuses if it says that it does not know."""
    text = " ".join(asked.numbered("answer").values())
    return {
        "verdict": say(text, ("answered", "partial", "refused"), "refused" if _REFUSAL.search(text) else "answered")
    }


def rubric(asked: Asked, say: Say) -> dict[str, Any]:
    """The whole scale for an answer that shares a word with the question, else 0."""
    maximum = int(_found(r"whole numbers from 0 to (\d+)", asked.instructions, "1"))
    text = " ".join(asked.numbered("answer").values())
    steps = tuple(str(step) for step in range(maximum + 1))
    score = int(say(text, steps, str(maximum) if overlaps(text, asked.question) else "0"))
    return {"reason": "by the words it shares with the question", "score": score}


def sentences(asked: Asked, say: Say) -> dict[str, Any]:
    """A sentence is relevant if it shares a word with the question."""
    lists: dict[str, list[int]] = {"relevant": [], "irrelevant": []}
    for number, line in asked.numbered("passages").items():
        default = "relevant" if overlaps(line, asked.question) else "irrelevant"
        lists[say(line, ("relevant", "irrelevant"), default)].append(number)
    return lists


def questions(asked: Asked, say: Say) -> dict[str, Any]:
    """As many questions as asked for, made of the answer's first words."""
    wanted = int(_found(r"Write (\d+) different", asked.instructions, "1"))
    answer = " ".join(asked.blocks.get("answer", ()))
    default = "noncommittal" if _REFUSAL.search(answer) else "committed"
    start = " ".join(answer.split()[:12]).rstrip(".?!。？！")
    noncommittal = say(answer, ("committed", "noncommittal"), default) == "noncommittal"
    return {"noncommittal": noncommittal, "questions": [f"{start} ({n})?" for n in range(1, wanted + 1)]}


def _found(pattern: str, text: str, otherwise: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else otherwise


RULES: dict[str, Rule] = {
    PROBE: lambda asked, say: {"ok": True},
    "claims": claims,
    "sentences": sentences,
    "questions": questions,
    "passages_a": grades,
    "passages_b": grades,
    "reference": reference,
    "citations": citations,
    "correctness": correctness,
    "abstention": abstention,
    "rubric": rubric,
}
"""The rules by task; `rubric:anything` uses the rule of `rubric`."""


def answer(asked: Asked, say: Say) -> dict[str, Any]:
    """Answers a prompt by its task's rule.

    Raises:
        KeyError: There is no rule for the task.
    """
    return RULES[asked.task if asked.task in RULES else asked.task.partition(":")[0]](asked, say)

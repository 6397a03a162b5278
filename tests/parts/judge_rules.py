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
_HEADING = re.compile(r"^P\d+$")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]{3,}|[一-鿿]{2}|\d+")
_REFUSAL = re.compile(
    r"i do not know|i don't know|cannot answer|không biết|không có thông tin|抱歉|不知道|没有提到", re.IGNORECASE
)

PREFLIGHT = "preflight"


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

    @property
    def passages(self) -> list[list[str]]:
        """The passages as lists of sentences."""
        passages: list[list[str]] = []
        for line in self.blocks.get("passages", ()):
            if _HEADING.match(line):
                passages.append([])
            elif (match := _NUMBERED.match(line)) and passages:
                passages[-1].append(match[2])
        return passages

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
    task = named["name"].strip() if named else schema_name or PREFLIGHT
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
    found: list[dict[str, Any]] = []
    no_claim = []
    for number, line in asked.numbered("answer").items():
        if line.rstrip().endswith(("?", "？")):
            no_claim.append(number)
            continue
        passage = supporting_passage(line, asked.passages)
        verdict = say(line, ("supported", "absent", "contradicted"), "supported" if passage else "absent")
        decided = 0 if verdict == "absent" else passage or min(1, len(asked.passages))
        found.append({"source": number, "claim": line, "passage": decided, "verdict": verdict})
    return {"claims": found, "no_claim": no_claim}


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
    PREFLIGHT: lambda asked, say: {"ok": True},
    "claims": claims,
    "sentences": sentences,
    "questions": questions,
}
"""The rules by task; `rubric:anything` uses the rule of `rubric`."""


def answer(asked: Asked, say: Say) -> dict[str, Any]:
    """Answers a prompt by its task's rule.

    Raises:
        KeyError: There is no rule for the task.
    """
    return RULES[asked.task if asked.task in RULES else asked.task.partition(":")[0]](asked, say)

"""What the tests of targets share: samples, and asking a target for all answers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from ragguard.adapters.targets import CommandTarget
from ragguard.core.ports import Answered, Target
from ragguard.core.samples import Answer, Sample, Turn

QUESTIONS = ("Học phí bao nhiêu?", "How long is a course?", "课程有多长？")
RAG_APP = Path(__file__).parents[3] / "parts" / "rag_app.py"
PYTHON = sys.executable
# Isolated and without site packages a Python starts in a fraction of the time.
QUICK = (PYTHON, "-X", "utf8", "-I", "-S")


def samples_of(*questions: str) -> list[Sample]:
    """Samples with ids s1, s2, …"""
    return [Sample(id=f"s{number}", question=question) for number, question in enumerate(questions, 1)]


def many(count: int) -> list[Sample]:
    """So many samples."""
    return samples_of(*(f"question {number}" for number in range(count)))


SAMPLES = samples_of(*QUESTIONS)
WITH_HISTORY = Sample(
    id="turns",
    question="And how much?",
    history=(Turn(role="user", content="课程有多长？"), Turn(role="assistant", content="十二周。")),
)


async def collect(target: Target, samples: Sequence[Sample]) -> list[Answered]:
    """All that a target gives."""
    return [answered async for answered in target.answer_all(samples)]


def ask(target: Target, samples: Sequence[Sample] = SAMPLES) -> dict[str, Answered]:
    """All that a target gives, by id; each id once."""
    given = asyncio.run(collect(target, samples))
    assert sorted(answered.id for answered in given) == sorted(sample.id for sample in samples)
    for answered in given:
        assert (answered.answer is None) == (answered.failure is not None)
    return {answered.id: answered for answered in given}


def answer_to(target: Target, question: str = "How long is a course?") -> Answer:
    """The answer to one question."""
    answered = ask(target, samples_of(question))["s1"]
    assert answered.answer is not None, answered.failure
    return answered.answer


def failure_of(target: Target, question: str = "How long is a course?") -> str:
    """Why there is no answer to one question, when another was answered before it."""
    answered = ask(target, samples_of("first", question))["s2"]
    assert answered.failure is not None, answered.answer
    return answered.failure


def script(code: str, **settings: object) -> CommandTarget:
    """A command target of Python code that has `rows` (read from stdin) and `put(row)`."""
    head = (
        "import json, sys, time, os\n"
        "def put(row): print(json.dumps(row, ensure_ascii=False), flush=True)\n"
        "def rows():\n    for line in sys.stdin: yield json.loads(line)\n"
    )
    return CommandTarget.model_validate({"command": [*QUICK, "-c", head + code], "timeout": 20, **settings})

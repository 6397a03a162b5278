"""Estimates what a run would call and pay, without calling anybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ragguard.adapters.judges.prompts import Prompts
from ragguard.core.evaluation import Bench
from ragguard.core.samples import Answer, Sample
from ragguard.core.scores import judgment_key
from ragguard.core.tasks import Task

CHARACTERS_A_TOKEN = 4
_REPLY_TOKENS_A_LINE = {"claims": 45, "reference": 45, "correctness": 45, "citations": 30, "questions": 25}
_REPLY_TOKENS = 60


@dataclass
class Estimate:
    """What look 1 would take at most; looks 2 and 3 add about a quarter when nothing is wrong.

    Attributes:
        calls: Judge calls, by task.
        prompt_tokens: Characters / 4.
        reply_tokens: A rough figure.
    """

    n_samples: int = 0
    n_without_answer: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    reply_tokens: int = 0

    @property
    def n_calls(self) -> int:
        """All judge calls."""
        return sum(self.calls.values())


def estimate(samples: Iterable[Sample], answers: Mapping[str, Answer], bench: Bench, prompts: Prompts) -> Estimate:
    """Counts the calls of look 1 as if nothing were cached or carried over.

    Args:
        samples: The selected samples.
        answers: Recorded answers by id; a sample without one is estimated with its reference or its question.
        bench: Metrics and judge.
        prompts: Renders the tasks, for their length.
    """
    found = Estimate()
    for sample in samples:
        found.n_samples += 1
        answer = answers.get(sample.id)
        if answer is None:
            found.n_without_answer += 1
            answer = Answer(text=sample.reference[0] if sample.reference else sample.question)
        _add_sample(found, sample, answer, bench, prompts)
    return found


def _add_sample(found: Estimate, sample: Sample, answer: Answer, bench: Bench, prompts: Prompts) -> None:
    seen: set[str] = set()
    for metric in bench.metrics:
        if metric.missing(sample, answer):
            continue
        for task in metric.tasks(sample, answer):
            for request in bench.judge.requests(task, 0, None):
                key = judgment_key(request)
                if key not in seen:
                    seen.add(key)
                    _add_call(found, task, prompts)


def _add_call(found: Estimate, task: Task, prompts: Prompts) -> None:
    prompt = prompts.render(task)
    found.calls[task.name] += 1
    found.prompt_tokens += (len(prompt.system) + len(prompt.user)) // CHARACTERS_A_TOKEN
    lines = task.inputs.get("lines")
    count = len(lines) if isinstance(lines, list) else 1
    found.reply_tokens += _REPLY_TOKENS_A_LINE.get(task.name, _REPLY_TOKENS) * max(count, 1)


def cost_of(found: Estimate, price: tuple[float, float] | None, share: float = 1.0) -> float | None:
    """What an estimate costs.

    Args:
        found: The estimate.
        price: US dollars for one token of prompt and of reply; None where unknown.
        share: Part of the calls that goes to the model with this price.
    """
    return None if price is None else share * (found.prompt_tokens * price[0] + found.reply_tokens * price[1])

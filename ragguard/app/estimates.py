"""The lines of `validate`: the data set, the calls, the cost, and the secrets that are missing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ragguard.adapters.embedders import OfflineEmbedder
from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.adapters.judges.prompts import Prompts
from ragguard.adapters.targets.recorded import RecordedTarget
from ragguard.app.config import Config
from ragguard.app.estimate import Estimate, cost_of, estimate
from ragguard.app.load import build_bench, build_judge, build_target, load_golden
from ragguard.core.reasons import MIN_SAMPLES
from ragguard.core.samples import Answer
from ragguard.core.selection import Chosen


def estimate_run(config: Config, environment: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Yields what a reader should know before the run.

    Raises:
        UserInputError: The data set or the answers are wrong.
    """
    golden = load_golden(config)
    info = golden.info
    yield f"data set: good ({info.n_selected} of {info.n_total} samples selected)"
    if info.n_selected < MIN_SAMPLES:
        yield (
            f"fewer than {MIN_SAMPLES} samples: a drop cannot be told from noise; one beyond the tolerance ends as "
            "inconclusive (exit code 3), and only the minima can fail"
        )
    target = build_target(config, golden, environment)
    if not isinstance(target, RecordedTarget):
        target.check()
        yield f"target: {target.type}, not asked yet"
        for name in sorted(target.environment_names - environment.keys()):
            yield f"missing: the environment variable {name} is not set"
    answers = _recorded(target, golden.chosen) if isinstance(target, RecordedTarget) else {}
    judge = build_judge(config, folder, use_cache=False)
    bench = build_bench(config, judge.judge, OfflineEmbedder())
    prompts = Prompts(folder / config.templates if config.templates else None)
    found = estimate(golden.chosen.samples, answers, bench, prompts)
    tasks = ", ".join(f"{count} {task}" for task, count in sorted(found.calls.items()))
    yield f"judge calls: {found.n_calls} ({tasks or 'none'}), {found.n_calls / max(found.n_samples, 1):.1f} a sample"
    yield f"tokens: about {found.prompt_tokens:,} in prompts, {found.reply_tokens:,} in replies"
    yield from _costs(found, judge.callers)
    if found.n_without_answer:
        known = "1 answer is" if found.n_without_answer == 1 else f"{found.n_without_answer} answers are"
        yield f"{known} not known yet; estimated by the length of the reference or the question"


def _costs(found: Estimate, callers: Sequence[LiteLLMJudge]) -> Iterator[str]:
    """What it would cost, and the secrets that are missing."""
    if not callers:
        yield "cost: 0 USD (offline judge)"
        return
    facts = [asyncio.run(caller.facts()) for caller in callers]
    repeats = sum(caller.repeats for caller in callers)
    costs = [
        cost_of(found, fact.price, caller.repeats / repeats) for fact, caller in zip(facts, callers, strict=True)
    ]  # fmt: skip
    known = [cost for cost in costs if cost is not None]
    told = f"about {sum(known):.2f} USD" if len(known) == len(costs) else "unknown (LiteLLM has no price for the model)"
    yield f"cost: {told}; looks 2 and 3 add about a quarter when nothing is wrong, up to as much again otherwise"
    for key in sorted({key for fact in facts for key in fact.missing_keys}):
        yield f"missing: the environment variable {key} is not set"


def _recorded(target: RecordedTarget, chosen: Chosen) -> dict[str, Answer]:
    """The recorded answers by id.

    Raises:
        DatasetError: A sample has no answer, or an answer no sample.
    """

    async def check() -> None:
        async for _ in target.answer_all(chosen.samples):
            pass

    asyncio.run(check())
    own = {sample.id: sample.answer for sample in chosen.samples if sample.answer is not None}
    return {**own, **(target.answers or {})}

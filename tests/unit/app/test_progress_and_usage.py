"""What is told while a run works, and what is counted."""

from __future__ import annotations

import io

from ragguard.app.progress import Bar, Lines, told
from ragguard.app.usage import UsageMeter
from ragguard.core.runs import Usage
from ragguard.core.scores import Judgment, SampleResult


def test_a_line_comes_every_ten_seconds_and_at_the_end() -> None:
    now = [0.0]
    out = io.StringIO()
    lines = Lines(out, clock=lambda: now[0])
    lines.start("evaluate", 100)
    for _ in range(100):
        now[0] += 0.3
        lines.advance(lambda: Usage(calls=7, cost_usd=None))
    lines.stop()
    written = out.getvalue().splitlines()
    assert len(written) == 3
    assert written[0].startswith("evaluate: 34/100 in 10 s, 20 s left; 7 calls, cost unknown")
    assert written[-1].startswith("evaluate: 100/100 in 30 s; ")


def test_a_last_line_is_not_said_twice() -> None:
    now = [0.0]
    out = io.StringIO()
    lines = Lines(out, clock=lambda: now[0])
    for phase, seconds in (("answer", 12.0), ("evaluate", 1.0)):
        lines.start(phase, 1)
        now[0] += seconds
        lines.advance()
        lines.stop()
        lines.stop()
    lines.start("look 2", 0)
    lines.stop()
    assert out.getvalue().splitlines() == ["answer: 1/1 in 12 s", "evaluate: 1/1 in 1 s", "look 2: 0/0 in 0 s"]


def test_a_bar_is_drawn_and_taken_away() -> None:
    out = io.StringIO()
    bar = Bar(out)
    bar.start("evaluate", 2)
    bar.advance(lambda: Usage(calls=1, cost_usd=0.5))
    bar.say("look 2: …")
    bar.stop()
    assert "evaluate" in out.getvalue()
    assert "look 2: …" in out.getvalue()


def judgment(key: str, source: str = "called", cost: float | None = 0.25, tokens: int | None = 10) -> Judgment:
    return Judgment(
        key=key,
        task="claims",
        model="m",
        status="ok",
        attempts=2 if source == "called" else 0,
        source=source,  # type: ignore[arg-type]
        cost_usd=cost,
        prompt_tokens=tokens,
        completion_tokens=5,
        session="look" if key == "look" else None,
    )


def result(*judgments: Judgment) -> SampleResult:
    return SampleResult(id="s", sample_digest="", passages_digest="", judgments=judgments)


def test_only_what_was_called_is_paid_for() -> None:
    meter = UsageMeter()
    meter.add(result(judgment("a"), judgment("b", "cached"), judgment("c", "carried"), judgment("look")))
    assert meter.usage == Usage(calls=4, cached_calls=1, carried_calls=1, look_calls=2, tokens=30, cost_usd=0.5)
    assert meter.by_task["claims"] == meter.usage


def test_an_unknown_cost_makes_the_sum_unknown_and_nothing_called_costs_nothing() -> None:
    meter = UsageMeter()
    assert meter.usage == Usage(tokens=0, cost_usd=0.0)
    meter.add(result(judgment("a"), judgment("b", cost=None), judgment("c", tokens=None)))
    assert (meter.usage.tokens, meter.usage.cost_usd) == (None, None)
    assert "cost unknown" in told(meter.usage)

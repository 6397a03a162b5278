"""The budget is never passed, and nothing is held back that fits."""

import asyncio

import pytest
from pydantic import ValidationError

from ragguard.adapters.judges.budget import Amount, Budget, Ledger
from ragguard.errors import BudgetError, ExitCode
from tests.fakes.virtual_time import run


async def call(ledger: Ledger, most: Amount, spent: Amount) -> str:
    await ledger.reserve(most)
    await asyncio.sleep(1)
    ledger.settle(most, spent)
    return "done"


async def calls(ledger: Ledger, count: int, most: Amount, spent: Amount) -> list[object]:
    return list(await asyncio.gather(*(call(ledger, most, spent) for _ in range(count)), return_exceptions=True))


@pytest.mark.parametrize(
    ("budget", "done"),
    [
        (Budget(max_calls=7), 7),
        (Budget(max_tokens=1_000), 9),  # the tenth may take 200 when 900 are spent
        (Budget(max_usd=0.05), 4),
        (Budget(), 20),
        (Budget(max_calls=3, max_tokens=10_000, max_usd=1.0), 3),
    ],
)
def test_stops_before_the_budget_is_passed(budget: Budget, done: int) -> None:
    ledger = Ledger(budget)
    results = run(calls(ledger, 20, Amount(1, 200, 0.02), Amount(1, 100, 0.01)))
    assert results.count("done") == done
    assert all(isinstance(result, BudgetError) for result in results if result != "done")
    assert ledger.spent.calls == done
    assert ledger.spent.tokens == done * 100
    assert ledger.spent.usd == pytest.approx(done * 0.01)


def test_the_message_says_which_limit_and_what_was_spent() -> None:
    results = run(calls(Ledger(Budget(max_calls=2)), 3, Amount(1, 10, None), Amount(1, 5, None)))
    error = next(result for result in results if isinstance(result, BudgetError))
    assert "max_calls is 2" in str(error)
    assert "2 calls, 10 tokens, cost unknown" in str(error)
    assert error.exit_code == ExitCode.OUTSIDE_WORLD


def test_a_call_that_could_never_fit_does_not_wait() -> None:
    with pytest.raises(BudgetError, match=r"max_tokens is 100, and the next call may take 200"):
        run(Ledger(Budget(max_tokens=100)).reserve(Amount(1, 200)))


def test_an_unknown_cost_is_never_told_as_zero() -> None:
    ledger = Ledger()
    run(calls(ledger, 1, Amount(1, 10, None), Amount(1, 5, None)))
    run(calls(ledger, 1, Amount(1, 10, 0.1), Amount(1, 5, 0.1)))
    assert ledger.spent == Amount(2, 10, None)


@pytest.mark.parametrize("wrong", [{"max_calls": 0}, {"max_usd": 0}, {"max_usd": "nan"}, {"max_token": 5}])
def test_refuses_budgets_that_mean_nothing(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Budget.model_validate(wrong)

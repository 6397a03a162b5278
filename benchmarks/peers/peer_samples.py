"""The samples that every tool evaluates: finance questions made from a template, the same in every run."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Sample = dict[str, Any]
"""`id`, `user_input`, `response`, `reference` (texts), `retrieved_contexts` (a list of texts)."""

_BANKS = ("Northmoor Bank", "Alder & Quay", "Vale Savings", "Tidewater Credit", "Hollin Mutual", "Keel Street Bank")
_PRODUCTS = (
    "instant-access account",
    "fixed-term deposit",
    "small-business loan",
    "balance-transfer card",
    "offset mortgage",
    "index fund plan",
)
_ASKED = (
    ("What is the yearly fee of the {name}?", "The yearly fee of the {name} is {a} dollars."),
    ("How high is the interest rate of the {name}?", "The interest rate of the {name} is {b} percent a year."),
    ("How soon can the {name} be closed?", "The {name} can be closed with {c} days' notice."),
    ("What is the least amount for the {name}?", "The least amount for the {name} is {d} dollars."),
    ("How late may a payment for the {name} be?", "A payment for the {name} may be {e} days late without a charge."),
)
_AROUND = (
    "Customers who opened the {name} before {y} keep the terms of their contract until it ends.",
    "A branch needs {f} working days to check the papers of a company that applies for the {name}.",
    "Statements for the {name} are sent every {g} months, and paper statements cost {h} dollars each.",
    "Whoever moves abroad has to tell the bank within {i} days, because other tax rules may then apply.",
    "In {y} the bank paid out {j} thousand dollars to customers after mistakes in its own calculations.",
    "The first {k} transfers of a month are free, and each one after that costs {h} dollars.",
    "An adviser may sell the {name} only after a conversation of which a record is kept for {l} years.",
    "The bank reports holdings above {d} dollars to the tax office at the end of every year.",
    "If the holder dies, the heirs have {i} days to say whether they want to go on with the {name}.",
    "Complaints are answered within {f} working days, and an ombudsman can be called for free after that.",
)
_LARGEST = {"b": 19, "c": 90, "e": 60, "f": 30, "g": 12, "h": 25, "i": 180, "k": 50, "l": 12}


def made_samples(count: int, passages: int = 1, seed: int = 20) -> list[Sample]:
    """Samples of about 400 tokens of context each; every fourth answer holds a wrong figure.

    Args:
        count: How many.
        passages: Into how many passages the context of a sample is split.
        seed: Other seeds give other figures.
    """
    chance = random.Random(seed)
    return [_made(index, passages, chance) for index in range(count)]


def _made(index: int, passages: int, chance: random.Random) -> Sample:
    name = f"{chance.choice(_BANKS)} {chance.choice(_PRODUCTS)} {index + 1}"
    figures = {key: chance.randint(2, _LARGEST.get(key, 900)) for key in "abcdefghijkl"}
    first, second = chance.sample(range(len(_ASKED)), 2)
    asked = [text.format(name=name, y=chance.randint(1990, 2024), **figures) for _, text in _ASKED]
    around = [text.format(name=name, y=chance.randint(1990, 2024), **figures) for text in _AROUND]
    context = [*asked, *around]
    chance.shuffle(context)
    told = [asked[first], asked[second]]
    if index % 4 == 3:
        told[1] = _ASKED[second][1].format(name=name, **{key: value + 1000 for key, value in figures.items()})
    size = -(-len(context) // passages)
    return {
        "id": f"made-{index + 1}",
        "user_input": f"{_ASKED[first][0]} {_ASKED[second][0]}".format(name=name),
        "response": " ".join(told),
        "reference": " ".join((asked[first], asked[second])),
        "retrieved_contexts": [" ".join(context[start : start + size]) for start in range(0, len(context), size)],
    }


def given_samples(folder: Path, count: int) -> list[Sample]:
    """The rows of `fiqa.jsonl` in a folder, repeated to so many; the index in each question keeps them apart."""
    rows = [json.loads(line) for line in (folder / "fiqa.jsonl").read_text(encoding="utf-8").splitlines() if line]
    return [_given(index, rows[index % len(rows)]) for index in range(count)]


def _given(index: int, row: dict[str, Any]) -> Sample:
    return {
        "id": f"fiqa-{index + 1}",
        "user_input": f"{row['user_input']} ({index + 1})",
        "response": row["response"].strip(),
        "reference": _joined(row["reference"]),
        "retrieved_contexts": list(row["retrieved_contexts"]),
    }


def _joined(texts: str | Sequence[str]) -> str:
    return texts if isinstance(texts, str) else " ".join(texts)

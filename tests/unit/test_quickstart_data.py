"""The quickstart's data is what its README says: counted, paired, and altered in exactly the places named there."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "quickstart"
FILES = ("golden.jsonl", "answers-good.jsonl", "answers-hallucinated.jsonl", "answers-worse-retriever.jsonl")

# id -> the numbers that its sample's passages do not hold
INVENTED = {
    "vi-hoc-phi-01": ["2.750.000", "22", "350.000"],
    "vi-thi-lai-01": ["95.000", "8,5", "9,2"],
    "vi-van-mieu-01": ["117", "1397", "1864", "5.300"],
    "vi-ngo-bao-chau-01": ["2014", "25.000"],
    "vi-hoc-bong-01": ["6.800.000", "8,7", "2027"],
    "en-refund-02": ["85", "48", "35"],
    "en-exam-01": ["150", "65", "4", "8", "2024"],
    "en-dna-01": [],
    "en-muscles-01": ["734", "52", "91"],
    "zh-xuefei-02": ["0.8", "12", "21", "200"],
    "zh-xiongmao-01": ["2346", "76", "58"],
    "zh-bingmayong-01": ["1969", "18500", "9400"],
    "zh-qiwen-01": ["37.4", "53.6"],
}
GOLD_GONE = {
    *("vi-hoc-phi-02", "vi-hoan-tien-01", "vi-thi-lai-01", "vi-chung-chi-01", "vi-van-mieu-01", "vi-giac-ngu-01"),
    *("en-fee-01", "en-exam-03", "en-polygon-01", "en-periodic-01", "en-baikal-01"),
    *("zh-tuifei-01", "zh-kaoshi-01", "zh-guangsu-01", "zh-shuimian-01"),
}
GOLD_LAST = {"vi-am-thanh-01", "en-refund-02", "zh-heliu-01"}
HISTORY = {"vi-chung-chi-02", "en-exam-02", "zh-bukao-01"}

REQUIRED = {"id", "question", "contexts", "reference", "gold_passage_ids", "answerable", "tags"}
REFUSAL = re.compile(r"Tài liệu không (nêu|có thông tin)|The materials do not say|资料中没有")
HAN = re.compile(r"[\u4e00-\u9fff]")
VIETNAMESE = re.compile(r"[ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!TP\.)(?<!GS\.)(?<!ThS\.)(?<!a\.m\.)\s+|(?<=[。！？])(?=.)")

Row = dict[str, Any]


def rows(name: str) -> dict[str, Row]:
    found = [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in found}) == len(found), f"{name}: an id stands twice"
    return {row["id"]: row for row in found}


def written(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,:/]\d+)*", text))


def digits(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


def invents_a_number(sentence: str, known: str) -> bool:
    """Whichever way a judge reads numbers, as written (`1.480`) or by their digits (`1`, `480`), one is not in the passages."""
    return bool(written(sentence) - written(known)) and bool(digits(sentence) - digits(known))


def sentences(text: str) -> list[str]:
    return SENTENCE_END.split(text)


def passages_text(row: Row) -> str:
    return "\n".join(passage["text"] for passage in row["contexts"])


def ids(row: Row) -> list[str]:
    return [passage["id"] for passage in row["contexts"]]


GOLDEN = rows("golden.jsonl")
GOOD = rows("answers-good.jsonl")
HALLUCINATED = rows("answers-hallucinated.jsonl")
WORSE = rows("answers-worse-retriever.jsonl")


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_plain_utf8_one_object_a_line_normalised_and_not_escaped(name: str) -> None:
    text = (FOLDER / name).read_bytes().decode("utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    assert not text.startswith("\ufeff")
    assert not re.search(r"\\u[0-9a-fA-F]{4}", text)
    assert unicodedata.is_normalized("NFC", text)
    for line in text.removesuffix("\n").split("\n"):
        row = json.loads(line)
        again = json.dumps(row, ensure_ascii=False)
        assert again == line
        assert not re.search("[\ud800-\udfff]", again)


def test_counts_by_language() -> None:
    assert Counter(key[:2] for key in GOLDEN) == {"vi": 20, "en": 18, "zh": 16}
    unanswerable = [key for key, row in GOLDEN.items() if not row["answerable"]]
    assert Counter(key[:2] for key in unanswerable) == {"vi": 3, "en": 2, "zh": 2}
    assert {key for key, row in GOLDEN.items() if "history" in row} == HISTORY
    assert [key for key, row in GOLDEN.items() if isinstance(row["reference"], list)] == ["vi-fansipan-01"]


@pytest.mark.parametrize("key", GOLDEN)
def test_a_sample_has_the_fields_and_its_gold_is_among_its_passages(key: str) -> None:
    row = GOLDEN[key]
    assert set(row) - {"history", "unanswerable_keys"} == REQUIRED
    assert row["tags"][0] == key[:2]
    assert len(set(ids(row))) == 3
    assert all(set(passage) == {"id", "text"} for passage in row["contexts"])
    assert all(2 <= len(sentences(passage["text"])) <= 4 for passage in row["contexts"])
    assert set(row["gold_passage_ids"]) < set(ids(row)), "gold is held, and a distractor stands beside it"
    assert row["answerable"] is (len(row["gold_passage_ids"]) > 0)
    assert row["answerable"] is ("unanswerable_keys" not in row)
    assert row["answerable"] is ("unanswerable" not in row["tags"])
    assert [turn["role"] for turn in row.get("history", [])] == (["user", "assistant"] if key in HISTORY else [])


def test_a_passage_id_means_one_text_in_every_file() -> None:
    texts: dict[str, set[str]] = {}
    for row in [*GOLDEN.values(), *(row for row in WORSE.values() if "contexts" in row)]:
        for passage in row["contexts"]:
            texts.setdefault(passage["id"], set()).add(passage["text"])
    assert {key: found for key, found in texts.items() if len(found) > 1} == {}
    assert len({text for found in texts.values() for text in found}) == len(texts), "two ids share a text"


@pytest.mark.parametrize("answers", [GOOD, HALLUCINATED, WORSE], ids=FILES[1:])
def test_every_sample_is_answered_in_its_language_and_cites_passages_it_was_given(answers: dict[str, Row]) -> None:
    assert list(answers) == list(GOLDEN)
    for key, row in answers.items():
        assert set(row) - {"contexts"} == {"id", "answer", "citations"}
        assert set(row["citations"]) <= set(ids(row if "contexts" in row else GOLDEN[key])), key
        assert len(set(row["citations"])) == len(row["citations"]), key
        for text in (row["answer"], GOLDEN[key]["question"], passages_text(GOLDEN[key])):
            language = "zh" if HAN.search(text) else "vi" if VIETNAMESE.search(text) else "en"
            assert language == key[:2], text


@pytest.mark.parametrize("key", GOLDEN)
def test_a_good_answer_and_the_reference_hold_no_number_that_the_passages_lack(key: str) -> None:
    row = GOLDEN[key]
    reference = row["reference"] if isinstance(row["reference"], str) else "\n".join(row["reference"])
    for text in (GOOD[key]["answer"], reference):
        assert written(text) <= written(passages_text(row))
        assert digits(text) <= digits(passages_text(row))
    assert GOOD[key]["citations"] == row["gold_passage_ids"]


@pytest.mark.parametrize("key", GOLDEN)
def test_the_good_answers_refuse_exactly_what_is_unanswerable_and_name_it(key: str) -> None:
    row, answer = GOLDEN[key], GOOD[key]["answer"]
    assert bool(REFUSAL.search(answer)) is not row["answerable"]
    for missing in row.get("unanswerable_keys", []):
        assert missing.lower() in answer.lower()
        assert missing.lower() in row["reference"].lower()
        assert missing.lower() in row["question"].lower()
        assert missing.lower() not in passages_text(row).lower()


def test_exactly_thirteen_answers_are_hallucinated_and_the_rest_are_the_same_bytes() -> None:
    lines = [(FOLDER / name).read_bytes().splitlines() for name in ("answers-good.jsonl", "answers-hallucinated.jsonl")]
    differing = {json.loads(good)["id"] for good, other in zip(*lines, strict=True) if good != other}
    assert differing == set(INVENTED)
    assert Counter(key[:2] for key in differing) == {"vi": 5, "en": 4, "zh": 4}


@pytest.mark.parametrize("key", INVENTED)
def test_an_invented_number_is_in_no_passage_of_the_sample(key: str) -> None:
    known, answer = passages_text(GOLDEN[key]), HALLUCINATED[key]["answer"]
    assert not REFUSAL.search(answer)
    assert set(INVENTED[key]) <= written(answer) | digits(answer)
    assert not set(INVENTED[key]) & (written(known) | digits(known))
    inventing = [one for one in sentences(answer) if invents_a_number(one, known)]
    assert len(inventing) >= 2 if INVENTED[key] else inventing == []


def test_the_answer_that_invents_names_only_names_somebody_whom_no_passage_names() -> None:
    assert [key for key, invented in INVENTED.items() if not invented] == ["en-dna-01"]
    assert "Linus Pauling" in HALLUCINATED["en-dna-01"]["answer"]
    assert "Pauling" not in passages_text(GOLDEN["en-dna-01"])


def test_exactly_eighteen_answers_come_from_a_worse_retriever() -> None:
    changed = {key for key in GOLDEN if ids({**GOLDEN[key], **WORSE[key]}) != ids(GOLDEN[key])}
    assert changed == GOLD_GONE | GOLD_LAST
    assert Counter(key[:2] for key in changed) == {"vi": 7, "en": 6, "zh": 5}
    assert {key for key in GOLDEN if WORSE[key]["answer"] != GOOD[key]["answer"]} == changed
    assert {key for key in GOLDEN if WORSE[key]["citations"] != GOOD[key]["citations"]} == changed
    assert sum("contexts" not in row for row in WORSE.values()) == 12


@pytest.mark.parametrize("key", sorted(GOLD_GONE | GOLD_LAST))
def test_a_worse_retrieval_loses_gold_and_brings_passages_of_other_samples(key: str) -> None:
    gold, found = set(GOLDEN[key]["gold_passage_ids"]), ids(WORSE[key])
    elsewhere = {passage for other, row in GOLDEN.items() if other != key for passage in ids(row)}
    assert len(set(found)) == 3
    assert [rank for rank, passage in enumerate(found, start=1) if passage in gold] == ([3] if key in GOLD_LAST else [])
    assert len(gold) == 2 if key in GOLD_LAST else gold
    brought = set(found) - set(ids(GOLDEN[key]))
    assert brought
    assert brought <= elsewhere


def test_the_readme_names_the_altered_answers() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    hallucinated, worse = text.split("\n## ")[1:]
    named = re.compile(r"`((?:vi|en|zh)-[a-z0-9-]+-\d\d)`")
    assert set(named.findall(hallucinated)) == set(INVENTED)
    assert set(named.findall(worse)) == GOLD_GONE | GOLD_LAST

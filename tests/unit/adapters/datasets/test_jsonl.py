"""The JSON Lines data set and answers files: what is accepted, and a table of all that is refused, with its message."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ragguard.adapters.datasets.answers import load_answers
from ragguard.adapters.datasets.jsonl import JsonlDataset
from ragguard.core.samples import Sample
from ragguard.errors import ConfigError, DatasetError, ObjectNotFoundError, UserInputError

GOOD = b'{"id": "vi-1", "question": "V\xc3\xac sao?", "contexts": ["a"]}\n{"id": "zh-2", "question": "\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88"}\n'


def written(folder: Path, data: bytes, name: str = "golden.jsonl") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def read(folder: Path, data: bytes, name: str = "golden.jsonl", **fields: str | None) -> tuple[Sample, ...]:
    return JsonlDataset(uri=written(folder, data, name), fields=fields).read().samples


def refused(act: Callable[[], object]) -> UserInputError:
    with pytest.raises(UserInputError) as caught:
        act()
    assert caught.value.exit_code == 2
    assert caught.value.mend
    return caught.value


# ---- what is accepted ----


def test_samples_come_in_file_order_with_their_lines(tmp_path: Path) -> None:
    dataset = JsonlDataset(uri=written(tmp_path, b"\n" + GOOD + b"\n   \n"))
    loaded = dataset.read()
    assert [(sample.id, sample.line, sample.question) for sample in loaded.samples] == [
        ("vi-1", 2, "Vì sao?"),
        ("zh-2", 3, "为什么"),
    ]
    assert loaded.n_total == 2
    assert list(dataset.load()) == list(loaded.samples)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bom.jsonl", b"\xef\xbb\xbf" + GOOD),
        ("crlf.jsonl", GOOD.replace(b"\n", b"\r\n")),
        ("open-end.jsonl", GOOD.rstrip()),
        (
            "joined.jsonl",
            GOOD.replace(b"\n{", b"\n\xef\xbb\xbf{"),
        ),
        ("blank.jsonl", GOOD.replace(b"\n", b"\n\n\r\n \t\n")),
        ("packed.jsonl.gz", gzip.compress(GOOD, mtime=0)),
        ("packed.jsonl.zst", zstandard.ZstdCompressor().compress(GOOD)),
        ("packed, but not by name.jsonl", gzip.compress(GOOD, mtime=0)),
        ("dữ liệu 数据.jsonl", GOOD),
    ],
)
def test_the_same_data_in_other_clothes_is_the_same(tmp_path: Path, name: str, data: bytes) -> None:
    plain = JsonlDataset(uri=written(tmp_path, GOOD)).read()
    other = JsonlDataset(uri=written(tmp_path, data, name)).read()
    assert other.digest == plain.digest
    assert [sample.id for sample in other.samples] == ["vi-1", "zh-2"]


def test_other_data_has_another_digest(tmp_path: Path) -> None:
    variants = (GOOD, GOOD.replace(b'"a"', b'"b"'), GOOD.splitlines()[0])
    assert len({JsonlDataset(uri=written(tmp_path, data)).read().digest for data in variants}) == 3


def test_settings_refuse_unknown_names() -> None:
    with pytest.raises(ValueError, match="extra"):
        JsonlDataset.model_validate({"uri": "x", "url": "y"})


# ---- what is refused: a table ----

Q = '"question": "q"'
BAD_ROWS: dict[str, tuple[str, str]] = {
    "a text": ('"q"', ":1: is a text"),
    "a number": ("17", ":1: is a number (17), not an object"),
    "null": ("null", ":1: is null, not an object"),
    "not JSON": ("{question: q}", ":1: is not JSON at column 2"),
    "single quotes": ("{'question': 'q'}", "JSON wants double quotes"),
    "cut off": ('{"question": "q', "the line ends too early"),
    "cut off after a comma": ('{"question": "q",', "the line ends too early"),
    "two in a line": ("{" + Q + "}{" + Q + "}", ":1: is not JSON at column 18 (Extra data); write one object a line"),
    "a trailing comma": ("{" + Q + "},", "(Extra data)"),
    "a raw tab in a text": ('{"question": "a\tb"}', "escape control characters"),
    "a repeated key": ("{" + Q + ', "question": "r"}', ":1: question: stands twice in one object"),
    "a repeated key inside": ("{" + Q + ', "answer": {"text": "a", "text": "b"}}', ":1: text: stands twice"),
    "no question": ('{"id": "1"}', ":1: question: is missing; write it, or map your column"),
    "an empty object": ("{}", ":1: question: is missing"),
    "a null question": ('{"question": null}', ":1: question: is missing"),
    "a blank question": ('{"question": " \\n"}', ":1: question: is blank"),
    "a question that is a list": ('{"query": ["q"]}', ":1: query: is a list; write a text"),
    "a question that is NaN": ('{"question": NaN}', ":1: question: is the number NaN"),
    "a misspelt question": ('{"qestion": "q"}', ":1: qestion: unknown field, did you mean question?"),
    "a misspelt reference": ("{" + Q + ', "refrence": "r"}', ":1: refrence: unknown field, did you mean reference?"),
    "a misspelt passage": ("{" + Q + ', "contexts": [{"txet": "t"}]}', ":1: contexts[0].text: is missing"),
    "two names of one field": ("{" + Q + ', "query": "r"}', ":1: query: is another name of question"),
    "an id that is a list": ('{"id": [1], ' + Q + "}", ":1: id: is a list; write it as a text or a whole number"),
    "an id that is a fraction": ('{"id": 1.5, ' + Q + "}", ":1: id: is a number (1.5)"),
    "an id that is true": ('{"id": true, ' + Q + "}", ":1: id: is true or false"),
    "a blank id": ('{"id": "", ' + Q + "}", ":1: id: is blank; give an id, or leave the field out"),
    "a long id": ('{"id": "' + "x" * 513 + '", ' + Q + "}", ":1: id: is 513 characters long; at most 512"),
    "an id on two lines": ('{"id": "a\\nb", ' + Q + "}", ":1: id: holds a control character"),
    "an id with NUL": ('{"id": "a\\u0000", ' + Q + "}", ":1: id: holds a control character"),
    "contexts that are a number": ("{" + Q + ', "contexts": 3}', ":1: contexts: is a number (3); write a list"),
    "contexts that are an object": ("{" + Q + ', "context": {}}', ":1: context: is an object; write a list"),
    "a passage that is null": ("{" + Q + ', "contexts": ["a", null]}', ":1: contexts[1]: is null; a passage is"),
    "a passage without text": ("{" + Q + ', "contexts": [{"id": 1}]}', ":1: contexts[0].text: is missing"),
    "a passage's text": ("{" + Q + ', "contexts": [{"content": 1}]}', ":1: contexts[0].content: is a number (1)"),
    "two texts of a passage": ("{" + Q + ', "contexts": [{"text": "a", "content": "b"}]}', "contexts[0].content: is another name of text"),
    "a rank from 0": ("{" + Q + ', "contexts": [{"text": "a", "rank": 0}]}', "contexts[0].rank: is a number (0); ranks are"),
    "a rank as text": ("{" + Q + ', "contexts": [{"text": "a", "rank": "1"}]}', 'contexts[0].rank: is a text ("1")'),
    "a score as text": ("{" + Q + ', "contexts": [{"text": "a", "score": "0.9"}]}', "contexts[0].score: is a text"),
    "a score that is NaN": ("{" + Q + ', "contexts": [{"text": "a", "score": NaN}]}', "contexts[0].score: is the number NaN"),
    "a ground truth as number": ("{" + Q + ', "contexts": [{"text": "a", "is_ground_truth": 1}]}', "is_ground_truth: is a number (1); write true or false"),
    "a reference that is a number": ("{" + Q + ', "ground_truth": 4}', ":1: ground_truth: is a number (4); write a text or a list"),
    "a reference in the list": ("{" + Q + ', "reference": ["a", 4]}', ":1: reference[1]: is a number (4)"),
    "a blank reference in the list": ("{" + Q + ', "reference": ["a", " "]}', ":1: reference[1]: is blank; remove it"),
    "a text answerable": ("{" + Q + ', "answerable": "true"}', ':1: answerable: is a text ("true"); write true or false'),
    "gold ids that are an object": ("{" + Q + ', "gold_passage_ids": {}}', ":1: gold_passage_ids[0]: is an object"),
    "gold facts with null": ("{" + Q + ', "gold_facts": [null]}', ":1: gold_facts[0]: is null"),
    "tags that are numbers": ("{" + Q + ', "tags": [1]}', ":1: tags[0]: is a number (1)"),
    "history that is a text": ("{" + Q + ', "history": "hi"}', ":1: history: is a text"),
    "a turn that is a text": ("{" + Q + ', "history": ["hi"]}', ":1: history[0]: is a text"),
    "a turn without content": ("{" + Q + ', "history": [{"role": "user"}]}', ":1: history[0].content: is missing"),
    "an unknown role": ("{" + Q + ', "history": [{"role": "human", "content": "hi"}]}', 'history[0].role: is a text ("human"); write user'),
    "an answer that is a list": ("{" + Q + ', "answer": []}', ":1: answer: is a list; write a text, or an object"),
    "an answer without text": ("{" + Q + ', "answer": {"contexts": []}}', ":1: answer.text: is missing"),
    "a citation that is null": ("{" + Q + ', "answer": "a", "citations": [null]}', ":1: citations[0]: is null"),
    "a negative latency": ("{" + Q + ', "answer": "a", "latency_s": -0.5}', ":1: latency_s: is -0.5, must be at least 0"),
    "a latency as text": ("{" + Q + ', "answer": "a", "latency_s": "1 s"}', ':1: latency_s: is a text ("1 s")'),
    "an infinite cost": ("{" + Q + ', "answer": "a", "cost_usd": 1e999}', ":1: cost_usd: is the number 1e999"),
    "more seconds than there are": ("{" + Q + ', "answer": "a", "latency_s": 1e13}', ":1: latency_s: is too large a number"),
    "a huge cost": ("{" + Q + ', "answer": "a", "cost_usd": 1' + "0" * 350 + "}", ":1: cost_usd: is too large a number"),
    "endless digits": ('{"id": ' + "1" * 5000 + ", " + Q + "}", ":1: id: is the number 1111"),
    "deep nesting": ('{"question": ' + "[" * 100_000 + "]" * 100_000 + "}", ":1: is nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path: Path, case: str) -> None:
    row, part = BAD_ROWS[case]
    error = refused(lambda: read(tmp_path, row.encode() + b"\n" + GOOD))
    assert isinstance(error, DatasetError)
    assert len(error.details) == 1
    assert error.details[0].startswith(f"{tmp_path}/golden.jsonl:1: ")
    assert part in error.details[0]
    assert error.details[0].isprintable()
    assert len(error.details[0]) < 400 + len(str(tmp_path))


BAD_FILES: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "holds no rows", "JSON Lines"),
    "blank": (b"\n \r\n\t\n", "holds no rows", "JSON Lines"),
    "only a BOM": (b"\xef\xbb\xbf", "holds no rows", "JSON Lines"),
    "an array": (b'[{"question": "q"}]', "is a JSON array", "jq -c"),
    "an array over lines": (b'[\n  {"question": "q"}\n]', "is a JSON array", "jq -c"),
    "an object over lines": (b'{\n  "question": "q"\n}', "spread over several lines", "jq -c ."),
    "CSV": (b"id,question\n1,why\n", "looks like a table (CSV)", "pandas.read_csv"),
    "TSV": (b"id\tquestion\n1\twhy\n", "looks like a table (CSV)", "pandas.read_csv"),
    "CSV with semicolons": ("mã;câu hỏi\n".encode(), "looks like a table (CSV)", "pandas.read_csv"),
    "UTF-16": ('{"question": "q"}'.encode("utf-16"), "is UTF-16", "save it as UTF-8"),
    "Parquet": (b"PAR1\x15\x04\x15\x10", "is a Parquet file", "read_parquet"),
    "a spreadsheet": (b"PK\x03\x04\x14\x00", "is a ZIP file or a spreadsheet", "JSON Lines"),
    "xz": (b"\xfd7zXZ\x00\x00", "is packed by bzip2 or xz", "gzip or zstd"),
    "a login page": (b"<!DOCTYPE html><html>", "is a web page or XML", "login page"),
    "a Git LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid x\n", "is a Git LFS pointer", "git lfs pull"),
    "gzip cut off": (gzip.compress(GOOD, mtime=0)[:-9], "gzip data ends too early", "cut off"),
    "zstd cut off": (zstandard.ZstdCompressor().compress(GOOD * 9)[:-3], "zstd data ends too early", "cut off"),
    "a line without end": (b'{"question": "' + b"x" * (16 * 1024 * 1024 + 1), ":1: the line is longer than", "one object a line"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_file_of_another_kind_has_its_own_message(tmp_path: Path, case: str) -> None:
    data, part, mend = BAD_FILES[case]
    error = refused(lambda: read(tmp_path, data))
    assert isinstance(error, DatasetError)
    assert error.message.startswith(f"{tmp_path}/golden.jsonl:")
    assert part in error.message
    assert mend in str(error.mend)


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    error = refused(lambda: read(tmp_path, GOOD + '{"question": "café"}\n'.encode("latin-1")))
    assert error.details == (f"{tmp_path}/golden.jsonl:3: is not UTF-8 at byte 18 (0xe9); save the file as UTF-8",)


def test_repeated_ids_name_both_lines(tmp_path: Path) -> None:
    error = refused(
        lambda: read(tmp_path, GOOD + b'\n{"id": "vi-1", "question": "other"}\n{"id": "vi-1", "question": "x"}')
    )
    assert [detail.partition("golden.jsonl")[2] for detail in error.details] == [
        ':4: id: "vi-1" stands already in line 1; give each sample its own id',
        ':5: id: "vi-1" stands already in line 1; give each sample its own id',
    ]


def test_repeated_questions_without_ids_name_both_lines(tmp_path: Path) -> None:
    error = refused(lambda: read(tmp_path, b'{"query": "q", "answer": "a"}\n{"query": "q", "answer": "b"}'))
    assert error.details[0].endswith(
        ":2: question: has the question and history of line 1; remove one of them, or give both an id"
    )


def test_ids_that_a_repair_makes_equal_are_repeated(tmp_path: Path) -> None:
    error = refused(lambda: read(tmp_path, b'{"id": "a\\ud800", "question": "q"}\n{"id": "a\\ud801", "question": "r"}'))
    assert "stands already in line 1" in error.details[0]


def test_up_to_twenty_problems_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    rows = [b'{"question": "q%d"}' % i if i % 2 else b'{"answerable": 3}' for i in range(50)]
    error = refused(lambda: read(tmp_path, b"\n".join(rows)))
    assert "50 problems in the data set" in error.message
    assert len(error.details) == 21
    assert error.details[0].endswith(
        "golden.jsonl:1: question: is missing; write it, or map your column: pipeline.fields: {question: <column>}"
    )
    assert error.details[-1] == "and 30 more"


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"question": "frage"}, "pipeline.fields.question: no row has frage"),
        ({"reference": "gold answer"}, 'pipeline.fields.reference: no row has "gold answer"'),
    ],
)
def test_a_mapped_column_that_is_nowhere(tmp_path: Path, fields: dict[str, str | None], part: str) -> None:
    error = refused(lambda: read(tmp_path, GOOD, **fields))
    assert part in error.details[-1]


def test_a_mapped_column_that_some_rows_have(tmp_path: Path) -> None:
    samples = read(tmp_path, GOOD + b'{"question": "q", "gold": "r"}', reference="gold")
    assert [sample.reference for sample in samples] == [None, None, ("r",)]


@pytest.mark.parametrize(
    ("uri", "error"),
    [("missing.jsonl", ObjectNotFoundError), ("ftp://h/x", ConfigError), ("http://169.254.169.254/x", ConfigError)],
)
def test_an_address_that_cannot_be_read(uri: str, error: type[UserInputError]) -> None:
    assert isinstance(refused(lambda: JsonlDataset(uri=uri).read()), error)


# ---- answers ----


def test_answers_are_read_in_file_order(tmp_path: Path) -> None:
    data = (
        b'{"id": "1", "answer": "a", "human_faithful": true}\n\n{"id": 2, "response": {"text": "b", "latency_s": 2}}\n'
    )
    found = load_answers(written(tmp_path, data))
    assert list(found) == ["1", "2"]
    assert (found["1"].text, found["2"].text, found["2"].latency_s) == ("a", "b", 2.0)


def test_the_data_sets_mapping_does_not_hide_an_answers_files_own_names(tmp_path: Path) -> None:
    fields = {"id": "qid", "contexts": "docs", "question": "frage", "answer": None}
    own = load_answers(written(tmp_path, b'{"id": "1", "answer": "a", "contexts": ["x"]}'), fields)
    mapped = load_answers(written(tmp_path, b'{"qid": "1", "id": "row-7", "answer": "a", "docs": ["x"]}'), fields)
    assert own == mapped
    assert list(own) == ["1"]
    assert own["1"].contexts is not None


BAD_ANSWERS: dict[str, tuple[bytes, str]] = {
    "repeated": (b'{"id": "1", "answer": "a"}\n{"id": "1", "answer": "b"}', ':2: id: "1" stands already in line 1; keep one'),
    "no id": (b'{"answer": "a"}', ":1: id: is missing; give the sample's id"),
    "no answer": (b'{"id": "1"}', ":1: answer: is missing"),
    "a misspelt answer": (b'{"id": "1", "answr": "a"}', ":1: answr: unknown field, did you mean answer?"),
    "not UTF-8": (b'{"id": "1", "answer": "\xff"}', ":1: is not UTF-8 at byte 24 (0xff)"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_bad_answers_are_named(tmp_path: Path, case: str) -> None:
    data, part = BAD_ANSWERS[case]
    error = refused(lambda: load_answers(written(tmp_path, data, "answers.jsonl")))
    assert len(error.details) == 1
    assert error.details[0].startswith(f"{tmp_path}/answers.jsonl{part}")


def test_an_empty_answers_file(tmp_path: Path) -> None:
    error = refused(lambda: load_answers(written(tmp_path, b"")))
    assert "the answers file holds no rows" in error.message


# ---- real data, where it is at hand ----


def shared(name: str) -> str:
    folder = os.environ.get("RAGGUARD_SHARED_DATA") or Path(__file__).parents[5] / "shared" / "data"
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"no {name} here; name its folder in RAGGUARD_SHARED_DATA")
    return str(path)


def test_a_benchmark_with_human_labels() -> None:
    dataset = JsonlDataset(uri=shared("mtrag/golden.jsonl")).read()
    assert dataset.n_total == 93
    assert all(sample.contexts is not None and sample.reference for sample in dataset.samples)
    assert any(sample.history for sample in dataset.samples)
    for system in ("reference", "gpt-4o", "llama-3.1-405b-instruct"):
        answers = load_answers(shared(f"mtrag/answers-{system}.jsonl"))
        assert set(answers) == {sample.id for sample in dataset.samples}


def test_a_file_in_another_tools_names_needs_no_mapping() -> None:
    dataset = JsonlDataset(uri=shared("dingo/fiqa.jsonl")).read()
    assert dataset.n_total == 30
    assert all(sample.answer and sample.contexts and sample.reference for sample in dataset.samples)
    assert set(load_answers(shared("dingo/fiqa.jsonl"))) == {sample.id for sample in dataset.samples}


def test_a_large_file_is_not_held_twice(tmp_path: Path) -> None:
    import tracemalloc

    passage = "đoạn văn " * 2000
    path = tmp_path / "large.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        for i in range(400):
            row: dict[str, Any] = {"id": str(i), "question": "q", "contexts": [f"{i} {passage}"], "extra": passage}
            file.write(json.dumps(row) + "\n")
    tracemalloc.start()
    samples = JsonlDataset(uri=str(path)).read().samples
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(samples) == 400
    assert peak < held + 4_000_000

"""Saved runs: written as they come, read back, and told when they are not what they say."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragguard.adapters.run_folder import RunFolder, write_run
from ragguard.adapters.runfiles import beside, parse_head, read_run
from ragguard.core.scores import Judgment, SampleResult, Score
from ragguard.errors import ObjectError, ObjectNotFoundError, RunFileError
from tests.contracts.stores import make_head, make_results


def damage(path: Path, **changes: object) -> None:
    raw = json.loads(path.read_text(encoding="utf-8"))
    for key, value in changes.items():
        if value is None:
            del raw[key]
        else:
            raw[key] = value
    path.write_text(json.dumps(raw), encoding="utf-8")


def test_a_run_is_written_as_it_comes_and_read_back(tmp_path: Path) -> None:
    folder, results = RunFolder(tmp_path / "ra"), make_results(3)
    with folder.writing() as sink:
        sink.write(results[0])
        draft = (tmp_path / "ra" / ".samples.jsonl.part").read_bytes()
        assert draft.endswith(b"}\n")
        for result in results[1:]:
            sink.write(result)
    head = folder.finish(make_head())
    assert head.samples is not None
    assert (head.samples.path, head.samples.count) == ("samples.jsonl", 3)
    assert list(folder.results()) == list(folder.results()) == results
    assert sorted(path.name for path in (tmp_path / "ra").iterdir()) == ["run.json", "samples.jsonl"]
    for uri in (tmp_path / "ra", tmp_path / "ra" / "run.json", f"file://{tmp_path}/ra/"):
        saved = read_run(uri)
        assert saved.head == head
        assert list(saved.results()) == results
    assert [result.id for result in saved.results(frozenset({"câu-1"}))] == ["câu-1"]


def test_results_of_an_empty_folder(tmp_path: Path) -> None:
    assert list(RunFolder(tmp_path).results()) == []
    with pytest.raises(ValueError, match="after its samples"):
        RunFolder(tmp_path).finish(make_head())


def test_what_broke_off_stays_a_draft_and_no_older_head_stands_beside_it(tmp_path: Path) -> None:
    write_run(tmp_path, make_head("older"), make_results(1))

    def results() -> Iterator[SampleResult]:
        yield from make_results(1)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_run(tmp_path, make_head(), results())
    assert (tmp_path / ".samples.jsonl.part").read_bytes().count(b"\n") == 1
    with pytest.raises(ObjectNotFoundError):
        read_run(tmp_path)


def test_the_same_run_is_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, make_head(), make_results())
    for file in ("run.json", "samples.jsonl"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_texts_that_utf8_cannot_hold_do_not_lose_the_run(tmp_path: Path) -> None:
    result = SampleResult(
        id="1",
        sample_digest="s",
        passages_digest="p",
        scores=(Score(metric="m", status="failed", reason="a\ud800b", details={"n": 10**30}),),
        judgments=(
            Judgment(
                key="k", task="claims", model="m", status="failed", raw="\udfff\0 数学", output={"x": [1.5, None]}
            ),
        ),
    )
    head = make_head(reasons=("x\ud800",))
    write_run(tmp_path, head, [result])
    saved = read_run(tmp_path)
    assert saved.head.reasons == ("x�",)
    assert saved.head.created_at == head.created_at
    (back,) = saved.results()
    assert back.scores[0].reason == "a�b"
    assert back.scores[0].details == {"n": 10**30}
    assert back.judgments[0].raw == "�\0 数学"


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "is empty"),
        (b'{"schema_version": 1, "run_', "is not JSON, perhaps cut off"),
        (b"\xff\xfe", "is not UTF-8 text (byte 1)"),
        ('{"run_id": "x"}'.encode("utf-16"), "is not UTF-8 text (byte 1)"),
        (b'{"run_id": ' + b"9" * 6_000 + b"}", "holds a number of thousands of digits"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"[]", "is not a run of ragguard"),
        (b"3", "is not a run of ragguard"),
        (b'{"metrics": {}}', "is not a run of ragguard"),
        (b'{"schema_version": 1, "results": []}', "is not a run of ragguard"),
        (b'{"schema_version": true, "run_id": "x"}', "is not a run of ragguard"),
        (b'{"schema_version": "1", "run_id": "x"}', "is not a run of ragguard"),
        (b'{"schema_version": 2, "run_id": "x"}', "has schema version 2, this ragguard reads 1"),
        (b'{"schema_version": 0, "run_id": "x"}', "has schema version 0, this ragguard reads 1"),
        (b'{"schema_version": 1, "run_id": "x"}', '"suite": Field required'),
    ],
)
def test_a_head_that_cannot_be_used(data: bytes, part: str) -> None:
    with pytest.raises(RunFileError) as caught:
        parse_head(data, "out/run.json")
    assert caught.value.message.startswith("out/run.json: ")
    assert part in caught.value.message
    assert caught.value.exit_code == 2
    assert caught.value.mend


def test_a_newer_run_says_to_update(tmp_path: Path) -> None:
    write_run(tmp_path, make_head(), [])
    damage(tmp_path / "run.json", schema_version=2)
    with pytest.raises(RunFileError) as caught:
        read_run(tmp_path)
    assert "update ragguard" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda text: text.replace('"value":1.0', '"value":0.5', 1), "was changed after the run"),
        (lambda text: "\n".join([*text.split("\n")[:2], ""]), "holds 2 of 3 results"),
        (lambda text: text + text, "holds 6 of 3 results"),
        (lambda text: "", "holds 0 of 3 results"),
        (lambda text: text[:-20], "samples.jsonl:3: is damaged"),
        (lambda text: "[]\n" + text, "samples.jsonl:1: "),
        (lambda text: text.replace('"id"', '"di"', 1), 'samples.jsonl:1: is damaged: "id": Field required'),
    ],
)
def test_samples_that_are_not_the_heads(tmp_path: Path, change: object, part: str) -> None:
    write_run(tmp_path, make_head(), make_results(3))
    path = tmp_path / "samples.jsonl"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")  # type: ignore[operator]
    with pytest.raises(RunFileError) as caught:
        list(read_run(tmp_path).results())
    assert part in caught.value.message
    assert caught.value.exit_code == 2


def test_a_filter_does_not_hide_damage(tmp_path: Path) -> None:
    write_run(tmp_path, make_head(), make_results(3))
    path = tmp_path / "samples.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace('"value":1.0', '"value":0.5', 1), encoding="utf-8")
    with pytest.raises(RunFileError, match="was changed"):
        list(read_run(tmp_path).results(frozenset({"câu-2"})))
    path.write_text("{}\n[]\n", encoding="utf-8")
    with pytest.raises(RunFileError, match=r"samples\.jsonl:2: is not a result"):
        list(read_run(tmp_path).results(frozenset()))


@pytest.mark.parametrize("elsewhere", ["../x.jsonl", "/etc/passwd", "a\\b", "", "..", "x?y", "a\0b"])
def test_a_head_cannot_name_samples_elsewhere(tmp_path: Path, elsewhere: str) -> None:
    write_run(tmp_path, make_head(), [])
    damage(tmp_path / "run.json", samples={"path": elsewhere, "sha256": "", "count": 0})
    with pytest.raises(RunFileError, match="elsewhere"):
        read_run(tmp_path).results()


def test_missing_samples(tmp_path: Path) -> None:
    write_run(tmp_path, make_head(), [])
    (tmp_path / "samples.jsonl").unlink()
    with pytest.raises(ObjectNotFoundError, match=r"samples\.jsonl: no such file"):
        list(read_run(tmp_path).results())
    damage(tmp_path / "run.json", samples=None)
    with pytest.raises(RunFileError, match="has no samples file"):
        read_run(tmp_path).results()


def test_an_output_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ObjectError, match="cannot write"), RunFolder(tmp_path / "file" / "out").writing():
        pass


def test_the_file_beside() -> None:
    assert beside("s3://b/x/run.json", "samples.jsonl") == "s3://b/x/samples.jsonl"
    assert beside("run.json", "samples.jsonl") == "samples.jsonl"
    assert beside("https://h/a/run.json?sig=x", "samples.jsonl") == "https://h/a/samples.jsonl?sig=x"

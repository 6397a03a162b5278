"""Records on disk by key: order, replacement, slices, selections, and what is spooled comes back as it was."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from ragguard.adapters.spool import Selected, Spool
from ragguard.adapters.spooled import answered_spool, carried_spool, sample_spool
from ragguard.core.ports import Answered
from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.scores import Judgment, Score
from ragguard.core.work import Carried
from ragguard.errors import ObjectError


def texts() -> Spool[str]:
    return Spool(str.encode, bytes.decode)


def test_records_come_back_by_key_and_in_the_order_of_their_first_coming() -> None:
    spool = texts()
    long = "长" * 300_000  # beyond the buffer
    spool["b"], spool["a"], spool["c"] = "một", long, ""
    spool["b"] = "hai"
    assert (spool["a"], spool["b"], spool["c"]) == (long, "hai", "")
    assert list(spool) == ["b", "a", "c"]
    assert list(spool.values()) == ["hai", long, ""]
    assert "a" in spool
    assert "d" not in spool
    with pytest.raises(KeyError):
        spool["d"]


def test_records_can_be_added_after_some_were_read() -> None:
    spool = texts()
    for number in range(1000):
        spool[str(number)] = f"record {number}"
        assert spool[str(number // 2)] == f"record {number // 2}"
    assert len(spool) == 1000


def test_a_sequence_has_numbers_and_slices() -> None:
    spool = texts()
    spool.update({"x": "0", "y": "1", "z": "2"})
    rows = spool.sequence()
    assert (rows[0], rows[-1], len(rows)) == ("0", "2", 3)
    assert list(rows[1:]) == ["1", "2"]
    assert list(rows) == ["0", "1", "2"]


def test_a_removed_record_is_gone() -> None:
    spool = texts()
    spool.update({"x": "0", "y": "1"})
    del spool["x"]
    assert dict(spool) == {"y": "1"}


def test_some_keys_of_a_mapping_hide_the_others() -> None:
    some = Selected({"a": 1, "b": 2, "c": 3}, dict.fromkeys("ca"))
    assert dict(some) == {"c": 3, "a": 1}
    assert "b" not in some
    with pytest.raises(KeyError):
        some["b"]


def test_the_file_has_no_name_and_is_closed_with_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = texts()
    file = spool._file
    spool["x"] = "y" * 1_000_000
    assert list(tmp_path.iterdir()) == []
    os.fstat(file)
    del spool
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(ObjectError, match="TMPDIR"):
        texts()


def test_samples_answers_and_what_is_carried_over_come_back_as_they_were() -> None:
    passage = Passage(id="p", text="Học phí là 100.\u2028 费用", rank=2, score=0.1 + 0.2, is_ground_truth=False)
    answer = Answer(text="", contexts=(), citations=("p",), latency_s=1e-9)
    sample = Sample(id="s", question="?", contexts=(passage,), reference=("r",), tags=("vi",), line=3, answer=answer)
    samples, answered, carried = sample_spool(), answered_spool(), carried_spool()
    samples["s"] = sample
    answered["s"], answered["t"] = Answered("s", answer), Answered("t", None, "timed out")
    known = Carried(
        judgments={"k": Judgment(key="k", task="claims", model="m", status="ok", output={"claims": [1, None, "费"]})},
        scores={"sk": Score(metric="m", status="scored", value=1 / 3, score_key="sk", judgment_keys=("k",))},
    )
    carried["s"] = known
    assert samples["s"] == sample
    assert (answered["s"], answered["t"]) == (Answered("s", answer), Answered("t", None, "timed out"))
    assert carried["s"] == known


def test_a_failure_that_utf8_cannot_hold_is_kept_with_a_replacement() -> None:
    answered = answered_spool()
    answered["s"] = Answered("s", None, "broken \ud800 text")
    assert answered["s"].failure == "broken � text"

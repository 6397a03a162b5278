"""Stored runs that somebody else wrote or changed: read as runs or refused, shown without harm, never a pass of nothing."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import html5lib
from hypothesis import strategies as st

from tests.fakes.hostile import HOSTILE
from tests.fakes.small_runs import CONFIG, SmallRuns
from tests.fuzz.harness import Said, command, fuzzed, scratch, strict_json
from tests.fuzz.mutations import as_json, broken, broken_bytes
from tests.unit.adapters.renderers.reading import commands, controls, foreign_markup, parse

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("baseline", "show"),
    ("history",),
    ("history", "--json"),
    ("history", "--html", "history.html"),
    ("compare", "out/run-1", "out/run-2"),
    ("compare", "out/run-2", "out/run-1", "--pull-request", "--output", "compared"),
    ("explain", "out/run-2/run.json", "s001"),
    ("report", "out/run-2/run.json", "--format", "json"),
    ("report", "out/run-2/run.json", "--format", "markdown"),
    ("report", "out/run-2/run.json", "--format", "html"),
    ("report", "out/run-2/run.json", "--format", "junit"),
    ("report", "out/run-2/run.json", "--format", "csv"),
    ("report", "out/run-2/run.json", "--format", "summary"),
    ("baseline", "push", "out/run-2/run.json"),
    ("baseline", "pin", "run-1"),
)
EVENT = {"run_id": "run-1", "suite": "small", "kind": "accepted", "by": "mai", "at": "2026-03-05T00:00:00Z"}


@functools.cache
def base() -> Path:
    """A folder with a config, two runs and their store, made once."""
    folder = Path(tempfile.mkdtemp(prefix="ragguard-fuzz-base-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    runs = SmallRuns(folder, n=4)
    runs.run()
    runs.run(wrong=1)
    (folder / "ragguard.yaml").write_text(
        CONFIG.replace("golden.jsonl", "golden.jsonl, answers: answers.jsonl") + "reporting: {sink: store}\n", "utf-8"
    )
    return folder


def change_json(path: Path, data: st.DataObject) -> None:
    """Breaks one JSON file."""
    path.write_bytes(data.draw(broken(st.just(json.loads(path.read_bytes()))).map(as_json), label=path.name))


NUMBERS = (
    0,
    1,
    -1,
    5,
    1e12,
    -1e30,
    1e308,
    -1e308,
    1e-320,
    10**400,
    2**63,
    float("nan"),
    float("inf"),
    None,
    True,
    "0.5",
)


def change_numbers(paths: list[Path], data: st.DataObject) -> None:
    """Sets numbers of a head's metrics to whatever a number can be."""
    path = data.draw(st.sampled_from(paths), label="head")
    head = json.loads(path.read_bytes())
    for metric in head["metrics"].values():
        named = st.sampled_from([name for name in metric if name not in {"reason", "outcome", "unit", "direction"}])
        metric.update(data.draw(st.dictionaries(named, st.sampled_from(NUMBERS), max_size=3), label="numbers"))
    path.write_bytes(as_json(head))


def change_results(out: Path, data: st.DataObject) -> None:
    """Breaks results, and lets the head speak of them as if they had been written so."""
    records = [json.loads(line) for line in (out / "samples.jsonl").read_bytes().splitlines()]
    lines = b"".join(as_json(one) + b"\n" for one in data.draw(broken(st.just(records)), label="results"))
    head = json.loads((out / "run.json").read_bytes())
    head["samples"] = {
        "path": "samples.jsonl",
        "sha256": hashlib.sha256(lines).hexdigest(),
        "count": lines.count(b"\n"),
    }
    (out / "samples.jsonl").write_bytes(lines)
    (out / "run.json").write_bytes(as_json(head))


def add_event(folder: Path, data: st.DataObject) -> None:
    """Puts an event there that must be read, because its name does not tell it."""
    event = data.draw(broken(st.just(EVENT)).map(as_json), label="event")
    place = folder / "store/events/small"
    place.mkdir(parents=True, exist_ok=True)
    (place / "20260305T000000000000Z.accepted.0123456789abcdef0123456789abcdef.json").write_bytes(event)


def change_bytes(folder: Path, data: st.DataObject) -> None:
    """Breaks the bytes of any file of a run."""
    files = [path for name in ("store", "out") for path in sorted((folder / name).rglob("*")) if path.is_file()]
    path = data.draw(st.sampled_from(files), label="file")
    path.write_bytes(data.draw(broken_bytes(st.just(path.read_bytes())), label="bytes"))


def change(folder: Path, data: st.DataObject) -> None:
    """Changes a run in the store or in the output folder."""
    acts: dict[str, Callable[[], None]] = {
        "stored head": lambda: change_json(
            data.draw(st.sampled_from(sorted(folder.glob("store/runs/*/run.json")))), data
        ),
        "head": lambda: change_json(folder / "out/run-2/run.json", data),
        "base": lambda: change_json(folder / "out/run-1/run.json", data),
        "numbers": lambda: change_numbers(sorted(folder.glob("*/**/run.json")), data),
        "more numbers": lambda: change_numbers(sorted(folder.glob("*/**/run.json")), data),
        "results": lambda: change_results(folder / "out/run-2", data),
        "results of the base": lambda: change_results(folder / "out/run-1", data),
        "event": lambda: add_event(folder, data),
        "bytes": lambda: change_bytes(folder, data),
    }
    acts[data.draw(st.sampled_from(sorted(acts)), label="what is changed")]()


def check_said(said: Said, arguments: tuple[str, ...], folder: Path) -> None:
    """What a command said and wrote is what it should be, whatever it read."""
    if said.code in {2, 4}:
        return
    format_ = arguments[-1]
    if "--json" in arguments or format_ in {"json", "summary"}:
        strict_json(said.out)
    elif format_ == "markdown":
        assert foreign_markup(parse(said.out)) == []
    elif format_ == "html":
        harmless_page(said.out)
    elif format_ == "history.html":
        harmless_page((folder / "history.html").read_text(encoding="utf-8"))
    assert commands(said.out + said.err) == []
    assert controls(said.out.replace("\r\n", "\n") + said.err) == []
    if arguments[0] == "compare" and said.code == 0 and (folder / "compared/report.json").exists():
        report = strict_json((folder / "compared/report.json").read_bytes())
        assert any(metric["n_scored"] for metric in report["metrics"].values()), report["reasons"]


def harmless_page(page: str) -> None:
    """No element and no attribute that only foreign text could have brought, and no place that is no number."""
    assert not re.search(r' (x|y|cx|cy|x1|x2|y1|y2|width|height|points|d|r)="[^"]*(nan|inf)', page)
    reader = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    for element in reader.parse(page).iter():
        tag = str(element.tag).rpartition("}")[2]
        assert tag not in {"img", "iframe", "object", "embed", "base"}, tag
        assert not [name for name in element.attrib if str(name).startswith("on")], element.attrib
    assert page.count("<script") == page.count("</script>") <= 2


@fuzzed(45, data=st.data(), arguments=st.sampled_from(COMMANDS))
def test_a_run_that_was_changed_is_read_or_refused(data: st.DataObject, arguments: tuple[str, ...]) -> None:
    with scratch() as above:
        folder = above / "work"
        shutil.copytree(base(), folder)
        change(folder, data)
        said = command(*arguments, folder=folder)
        check_said(said, arguments, folder)


TEXT_FIELDS = ("suite", "branch", "repository", "event", "commit")


def with_hostile_texts(out: Path, text: str) -> None:
    """Puts one text everywhere where a run holds words of others."""
    head = json.loads((out / "run.json").read_bytes())
    head |= dict.fromkeys(TEXT_FIELDS, text) | {"reasons": [text], "notices": [text], "notes": [text]}
    for metric in head["metrics"].values():
        metric["reason"] = text
    head["metrics"] = {f"own:{text}": metric for metric in head["metrics"].values()}
    records = [json.loads(line) for line in (out / "samples.jsonl").read_bytes().splitlines()]
    for record in records:
        if record["sample"] and record["answer"]:
            record["sample"]["question"] = record["answer"]["text"] = text
        for score in record["scores"]:
            score |= {"reason": text, "metric": f"own:{text}"}
    lines = b"".join(as_json(record) + b"\n" for record in records)
    head["samples"] |= {"sha256": hashlib.sha256(lines).hexdigest(), "count": len(records)}
    (out / "samples.jsonl").write_bytes(lines)
    (out / "run.json").write_bytes(as_json(head))


SHOWN = tuple(one for one in COMMANDS if one[0] in {"explain", "report", "compare"})


@fuzzed(20, text=st.sampled_from([text for text in HOSTILE if text]), arguments=st.sampled_from(SHOWN))
def test_hostile_texts_of_a_run_stay_texts(text: str, arguments: tuple[str, ...]) -> None:
    with scratch() as above:
        folder = above / "work"
        shutil.copytree(base(), folder)
        for run in ("run-1", "run-2"):
            with_hostile_texts(folder / "out" / run, text)
        check_said(command(*arguments, folder=folder), arguments, folder)

"""The command line: any words are a command or a mistake that is told, and no success without a score."""

from __future__ import annotations

import shutil

from hypothesis import strategies as st

from tests.fuzz.harness import command, fuzzed, scratch, strict_json
from tests.fuzz.mutations import texts
from tests.fuzz.test_stored import base

NAMES = (
    "run", "merge", "validate", "compare", "report", "explain", "history", "baseline", "show", "pin", "unpin", "promote",
    "reject", "push", "build", "calibrate", "schema", "init",
)  # fmt: skip
OPTIONS = (
    "--config", "--dataset", "--answers", "--sample-budget", "--suite", "--sink", "--output", "--baseline", "--base-branch",
    "--shard", "--no-cache", "--dry-run", "--quiet", "--verbose", "--format", "--json", "--html", "--limit", "--branch",
    "--tolerance", "--pull-request", "--config-only", "--runs", "--help", "-h", "--version", "--no-such-option",
)  # fmt: skip
VALUES = (
    "ragguard.yaml", "golden.jsonl", "answers.jsonl", "store", "out/run-1", "out/run-2/run.json", "out/run-2/samples.jsonl",
    "run-1", "s001", "main", "1/2", "0/0", "99/1", "json", "markdown", "html", "json+html", "0", "-1", "1", "1e999", "nan", "9" * 5000, "",
)  # fmt: skip
words = st.one_of(
    st.sampled_from(OPTIONS),
    st.sampled_from(VALUES),
    # No path out of the own folder of an example, and no address.
    texts.filter(lambda text: "/" not in text and ".." not in text and "\0" not in text).map(
        lambda text: text.encode("utf-8", "replace").decode()
    ),
)


@fuzzed(30, name=st.sampled_from(NAMES) | words, more=st.lists(words | st.sampled_from(NAMES), max_size=5))
def test_any_words_are_a_command_or_a_mistake(name: str, more: list[str]) -> None:
    with scratch() as above:
        folder = above / "work"
        shutil.copytree(base(), folder)
        shutil.rmtree(folder / "out/run-1")
        said = command(name, *more, folder=folder)
        written = folder / ".ragguard/out/run.json"
        if said.code == 0 and name == "run" and written.exists():
            head = strict_json(written.read_bytes())
            assert any(metric["n_scored"] for metric in head["metrics"].values())

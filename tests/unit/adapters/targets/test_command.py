"""The command target: real processes that behave, misbehave, and are ended with all that they started."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ragguard.adapters.targets import CommandTarget
from ragguard.adapters.targets.conversation import Conversation, LineSplitter
from ragguard.adapters.targets.processes import ChildGroup
from ragguard.core.ports import Answered
from ragguard.core.samples import Passage
from ragguard.errors import ExitCode, TargetError, UserInputError
from tests.unit.adapters.targets.asking import QUICK, SAMPLES, WITH_HISTORY, ask, collect, many, samples_of, script

ECHO = "for row in rows(): put({'id': row['id'], 'answer': row['question']})\n"


def _texts(given: dict[str, Answered]) -> dict[str, str | None]:
    return {id_: each.answer.text if each.answer else None for id_, each in given.items()}


def _down(target: CommandTarget, samples: Any = SAMPLES) -> TargetError:
    with pytest.raises(TargetError) as caught:
        asyncio.run(collect(target, samples))
    assert caught.value.exit_code == ExitCode.OUTSIDE_WORLD
    assert len(caught.value.message.splitlines()) == 1
    assert "JSONL" in (caught.value.mend or "")
    return caught.value


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _gone(pid: int) -> bool:
    for _ in range(200):
        if not _alive(pid):
            return True
        time.sleep(0.01)
    return False


# --- what is asked and answered ---


def test_questions_go_in_as_they_are(tmp_path: Path) -> None:
    code = f"import pathlib; pathlib.Path({str(tmp_path / 'in')!r}).write_bytes(sys.stdin.buffer.read())"
    samples = [*samples_of('Học "phí"\n课程'), WITH_HISTORY]
    _down(script(code), samples)
    lines = (tmp_path / "in").read_text(encoding="utf-8").splitlines()
    assert "Học" in lines[0]
    assert "课程" in lines[0]
    assert [json.loads(line) for line in lines] == [
        {"id": "s1", "question": 'Học "phí"\n课程', "history": []},
        {
            "id": "turns",
            "question": WITH_HISTORY.question,
            "history": [{"role": turn.role, "content": turn.content} for turn in WITH_HISTORY.history],
        },
    ]


def test_all_that_a_row_may_tell_is_taken() -> None:
    row = {
        "response": "ok", "passages": ["a", {"chunk_id": 7, "content": "b"}], "citations": [7], "latency_s": 1.5,
        "cost_usd": 0.25, "model": "mine",
    }  # fmt: skip
    given = ask(script(f"for row in rows(): put({{'id': row['id'], **{row!r}}})"), samples_of("x"))
    answer = given["s1"].answer
    assert answer is not None
    assert answer.contexts == (Passage(text="a", rank=1), Passage(id="7", text="b", rank=2))
    assert (answer.citations, answer.latency_s, answer.cost_usd) == (("7",), 1.5, 0.25)


def test_latency_is_unknown_where_the_row_does_not_tell() -> None:
    answer = ask(script(ECHO))["s1"].answer
    assert answer is not None
    assert answer.latency_s is None


def test_answers_may_come_in_any_order_and_without_a_last_line_end() -> None:
    code = "all = list(rows())[::-1]\nsys.stdout.write('\\n'.join(json.dumps({'id': r['id'], 'answer': 'é'}) for r in all))"
    assert _texts(ask(script(code))) == {"s1": "é", "s2": "é", "s3": "é"}


def test_answers_are_given_on_as_they_come() -> None:
    async def first() -> str:
        code = "row = next(rows()); put({'id': row['id'], 'answer': 'early'}); time.sleep(20)"
        answers = script(code).answer_all(SAMPLES)
        try:
            async with asyncio.timeout(10):
                return (await anext(answers)).id
        finally:
            await answers.aclose()

    assert asyncio.run(first()) == "s1"


def test_large_input_and_output_do_not_lock_each_other() -> None:
    samples = samples_of(*("x" * 200_000 for _ in range(20)))
    code = "for row in rows(): put({'id': row['id'], 'answer': row['question']})"
    assert all(each.answer and len(each.answer.text) == 200_000 for each in ask(script(code), samples).values())


def test_batches_are_processes_of_their_own() -> None:
    code = "all = list(rows())\nfor row in all: put({'id': row['id'], 'answer': f'{len(all)} {os.getpid()}'})"
    texts = [each.answer.text for each in ask(script(code, batch=2), many(5)).values() if each.answer]
    assert sorted(text.split()[0] for text in texts) == ["1", "2", "2", "2", "2"]
    assert len({text.split()[1] for text in texts}) == 3


# --- environment and arguments ---


def test_the_command_gets_the_environment_it_is_given_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGUARD_LEAK", "from our own environment")
    code = "for row in rows(): put({'id': row['id'], 'answer': json.dumps(dict(os.environ))})"
    target = script(code, env={"LANG": "C.UTF-8"}, pass_env=["MY_KEY"])
    assert target.environment_names == {"MY_KEY"}
    target = target.with_environment({"PATH": "/usr/bin:/bin", "MY_KEY": "k", "GITHUB_TOKEN": "t"})
    seen = json.loads(_texts(ask(target, samples_of("x")))["s1"] or "")
    seen.pop("LC_CTYPE", None)  # Python sets it for itself
    assert seen == {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MY_KEY": "k"}


def test_a_variable_that_is_not_set_is_a_user_error() -> None:
    with pytest.raises(UserInputError, match="MY_KEY is not set"):
        ask(script(ECHO, pass_env=["MY_KEY"]).with_environment({"PATH": "/bin"}))


def test_no_shell_reads_the_arguments() -> None:
    code = "import sys,json\nfor line in sys.stdin: print(json.dumps({'id': json.loads(line)['id'], 'answer': sys.argv[1]}))"
    target = CommandTarget(command=(*QUICK, "-c", code, "$HOME; rm -rf * | `x`"))
    assert _texts(ask(target, samples_of("x"))) == {"s1": "$HOME; rm -rf * | `x`"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"command": []}, "at least 1 item"),
        ({"command": " "}, "valid tuple"),
        ({"command": "python app.py"}, "valid tuple"),
        ({"command": [" "]}, "blank"),
        ({"command": ["a\0b"]}, "NUL"),
        ({"command": ["a"], "env": {"A=B": "x"}}, "name of an environment variable"),
        ({"command": ["a"], "env": {"A": "x\0"}}, "NUL"),
        ({"command": ["a"], "pass_env": ["A-B"]}, "name of an environment variable"),
        ({"command": ["a"], "batch": 0}, "greater than or equal to 1"),
        ({"command": ["a"], "shell": True}, "Extra inputs"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CommandTarget(**settings)
    assert message in str(caught.value)


def test_what_cannot_be_started_is_a_user_error(tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("not a program", encoding="utf-8")
    for program in ("no-such-program", str(plain), str(tmp_path)):
        with pytest.raises(UserInputError, match="cannot be started") as caught:
            ask(CommandTarget(command=(program,)))
        assert "PATH" in (caught.value.mend or "")


# --- rows that go wrong ---

REST = "for row in list(rows())[1:]: put({'id': row['id'], 'answer': 'ok'})"
BAD_FIRST_ROWS: dict[str, tuple[str, str]] = {
    "says why": ("put({'id': 's1', 'error': 'index\\nis gone'})", "the command says: index is gone"),
    "says why oddly": ("put({'id': 's1', 'error': {'code': 5}})", '{"code": 5}'),
    "null answer": ("put({'id': 's1', 'answer': None})", "answer: is missing"),
    "number": ("put({'id': 's1', 'answer': 4})", "answer: is a number"),
    "misspelt": ("put({'id': 's1', 'anwser': 'x'})", "did you mean answer"),
    "bad passages": ("put({'id': 's1', 'answer': 'x', 'contexts': 3})", "contexts: is a number"),
    "NaN": ("print('{\"id\": \"s1\", \"answer\": \"x\", \"latency_s\": NaN}')", "NaN"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "reason"), BAD_FIRST_ROWS.values(), ids=BAD_FIRST_ROWS.keys())
def test_a_bad_row_with_its_id_is_that_samples_failure(code: str, reason: str) -> None:
    given = ask(script(f"{code}\n{REST}"))
    assert reason in (given["s1"].failure or "")
    assert "\n" not in (given["s1"].failure or "")
    assert _texts(given) == {"s1": None, "s2": "ok", "s3": "ok"}


BROKEN_LINES: dict[str, tuple[str, str]] = {
    "missing": ("pass", "it ended with exit code 0"),
    "log line": ("print('INFO loading ::error::')", "1 line that cannot be used: line 1 is not JSON"),
    "no object": ("print('[1]')", "line 1 is a list, not an object"),
    "no id": ("put({'answer': 'x'})", "line 1 id: is missing"),
    "not UTF-8": ("sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()", "line 1 is not UTF-8"),
    "unknown id": ("put({'id': 's01', 'answer': 'x'})", 'not asked, "s01", did you mean "s1"?'),
    "repeated keys": ("print('{\"id\": \"s1\", \"id\": \"s2\", \"answer\": \"x\"}')", "stands twice"),
    "cut": ("print('{\"id\": \"s1\", \"ans')", "is not JSON"),
    "huge line": ("print('x' * 5_000_000)", "line 1 is longer than 4,194,304 bytes"),
    "many": ("print('a\\n' * 1000)", "1000 lines that cannot be used: line 1 is not JSON"),
    "blank lines": ("print('\\n \\n')", "it ended with exit code 0"),
    "NUL": ("print('\\0\\0')", "is not JSON"),
    "deep": ("print('[' * 100_000)", "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "reason"), BROKEN_LINES.values(), ids=BROKEN_LINES.keys())
def test_lines_that_belong_to_no_sample_are_told_to_the_one_that_lacks_its_row(code: str, reason: str) -> None:
    given = ask(script(f"{code}\n{REST}"))
    failure = given["s1"].failure or ""
    assert failure.startswith("the command gave no row for this id: ")
    assert reason in failure
    assert len(failure) < 1_000
    assert _texts(given) == {"s1": None, "s2": "ok", "s3": "ok"}


def test_a_second_row_for_an_id_changes_nothing_and_is_said(caplog: pytest.LogCaptureFixture) -> None:
    code = f"put({{'id': 's1', 'answer': 'first'}}); put({{'id': 's1', 'answer': 'second'}})\n{REST}"
    assert _texts(ask(script(code))) == {"s1": "first", "s2": "ok", "s3": "ok"}
    assert 'answers "s1" a second time' in caplog.text


def test_lone_surrogates_are_replaced() -> None:
    code = 'next(rows()); print(\'{"id": "s1", "answer": "a\\\\ud800b"}\')'
    assert _texts(ask(script(code), samples_of("x"))) == {"s1": "a\ufffdb"}


# --- endings ---


def test_an_early_end_keeps_what_was_answered() -> None:
    code = "row = next(rows()); put({'id': row['id'], 'answer': 'ok'}); print('out of memory', file=sys.stderr); sys.exit(9)"
    given = ask(script(code))
    assert _texts(given) == {"s1": "ok", "s2": None, "s3": None}
    assert given["s2"].failure == (
        "the command gave no row for this id: it ended with exit code 9; stderr ends: out of memory"
    )


def test_a_bad_exit_code_after_all_answers_changes_nothing() -> None:
    assert _texts(ask(script(f"{ECHO}\nsys.exit(3)"), samples_of("x"))) == {"s1": "x"}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sys.exit(3)", "it ended with exit code 3"),
        ("raise RuntimeError('không có chỉ mục')", "stderr ends: Traceback"),
        ("raise RuntimeError('không có chỉ mục')", "RuntimeError: không có chỉ mục"),
        ("os.kill(os.getpid(), 9)", "it was ended by signal 9"),
        ("list(rows())", "it ended with exit code 0"),
        ("print('Usage: rag [OPTIONS]')", "line 1 is not JSON"),
        ("for row in rows(): put({'id': 'x' + row['id'], 'answer': 'y'})", "that was not asked"),
    ],
)
def test_a_command_that_answers_nothing_is_down(code: str, reason: str) -> None:
    error = _down(script(code))
    assert reason in error.message
    assert "gave no answer" in error.message


def test_batches_that_answer_nothing_are_down_after_a_few(tmp_path: Path) -> None:
    count = tmp_path / "count"
    _down(script(f"open({str(count)!r}, 'a').write('x'); sys.exit(1)", batch=1), many(30))
    assert count.read_text(encoding="utf-8") == "x" * 5


def test_one_batch_that_answers_nothing_fails_its_samples_only() -> None:
    code = "all = list(rows())\nif all[0]['id'] == 's3': sys.exit(4)\nfor row in all: put({'id': row['id'], 'answer': 'ok'})"
    given = ask(script(code, batch=2), many(6))
    assert [id_ for id_, text in _texts(given).items() if text is None] == ["s3", "s4"]
    assert "exit code 4" in (given["s3"].failure or "")


def test_only_the_end_of_stderr_is_kept_and_secrets_are_not() -> None:
    code = "sys.stderr.write('y' * 3_000_000 + ' key=' + os.environ['MY_KEY'] + ' end'); sys.exit(1)"
    target = script(code, pass_env=["MY_KEY"]).with_environment({"MY_KEY": "sk-12345678", "PATH": "/bin"})
    error = _down(target)
    assert error.message.endswith("key=*** end")
    assert len(error.message) < 1_200


ENDLESS: dict[str, str] = {
    "silence": "time.sleep(60)",
    "not reading": "time.sleep(60)",
    "an endless line": "while True: sys.stdout.write('x' * 65536)",
    "endless lines": "while True: print('x' * 1000)",
    "endless rows of others": "while True: put({'id': 'other', 'answer': 'x'})",
    "deaf to SIGTERM": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)",
    "closed stdout": "os.close(1); time.sleep(60)",
}


@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_never_ends_is_ended(code: str, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    head = f"open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
    error = _down(script(head + code, timeout=1.5), samples_of("x" * 200_000, "y", "z"))
    assert "within 1.5 s" in error.message or "closed its stdout" in error.message or "signal 15" in error.message
    assert _gone(int(pid.read_text(encoding="utf-8")))


def test_endless_rows_of_the_same_answers_do_not_put_off_the_end() -> None:
    code = "while True: put({'id': 's1', 'answer': 'x'})"
    given = ask(script(code, timeout=2))
    assert _texts(given) == {"s1": "x", "s2": None, "s3": None}
    assert "no further answer came within 2 s" in (given["s3"].failure or "")


class UnhurriedChild:
    """Answers one sample every 0.2 seconds."""

    returncode = None

    def __init__(self) -> None:
        self.rows: list[bytes] = []

    async def feed(self, rows: list[bytes]) -> None:
        self.rows = [json.dumps({"id": json.loads(row)["id"], "answer": "ok"}).encode() + b"\n" for row in rows]

    async def read(self) -> bytes:
        await asyncio.sleep(0.2)
        return self.rows.pop(0) if self.rows else b""


def test_each_answer_gives_time_for_the_next() -> None:
    async def answers() -> list[Answered]:
        return [each async for each in Conversation(many(6), timeout_s=0.8).answers(UnhurriedChild())]

    assert len(asyncio.run(answers())) == 6


CHILD = "import subprocess\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"


@pytest.mark.parametrize(
    ("code", "timeout", "words"),
    [
        ("time.sleep(60)", 1, "no further answer came within 1 s"),
        ("sys.exit(1)", 20, "exit code 1"),
        ("os._exit(0)", 20, "exit code 0"),
    ],
)
def test_what_it_started_is_ended_with_it(code: str, timeout: float, words: str, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    # The child holds stdout and stderr open: their end alone would never come.
    error = _down(script(f"{CHILD}open({str(note)!r}, 'w').write(str(child.pid))\n{code}", timeout=timeout))
    assert words in error.message
    assert _gone(int(note.read_text(encoding="utf-8")))


def test_a_grandchild_that_left_the_group_does_not_hold_up_the_end(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = CHILD.replace("])", "], start_new_session=True)")
    code = f"{child}open({str(note)!r}, 'w').write(str(child.pid))\n{ECHO}"
    try:
        assert all(_texts(ask(script(code))).values())
    finally:
        os.kill(int(note.read_text(encoding="utf-8")), 9)


def test_cancelling_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    code = f"{CHILD}open({str(note)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}\\n')\ntime.sleep(60)"

    async def cancelled() -> None:
        asking = asyncio.create_task(collect(script(code), SAMPLES))
        while not note.exists() or not note.read_text(encoding="utf-8").endswith("\n"):  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(asyncio.wait_for(cancelled(), 20))
    assert all(_gone(int(pid)) for pid in note.read_text(encoding="utf-8").split())


def test_only_the_last_of_stderr_stays_in_memory() -> None:
    async def tail() -> bytes:
        child = await ChildGroup.start([*QUICK, "-c", "import sys; sys.stderr.write('y' * 2_000_000 + 'end')"], {})
        while await child.read():
            pass
        await child.end()
        return bytes(child.stderr_tail)

    assert asyncio.run(tail()) == b"y" * 4093 + b"end"


# --- lines ---


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_do_not_depend_on_how_they_arrive(size: int) -> None:
    stream = "một\n\n二三\nrest".encode()
    splitter = LineSplitter()
    found = [line for start in range(0, len(stream), size) for line in splitter.feed(stream[start : start + size])]
    assert [*found, *splitter.end()] == ["một".encode(), b"", "二三".encode(), b"rest"]
    assert splitter.end() == []


@pytest.mark.parametrize("size", [1, 3, 64])
def test_a_line_that_is_too_long_is_dropped_and_the_next_is_whole(size: int) -> None:
    stream = b"12345\n123456\n" + b"x" * 50 + b"\nok\n" + b"y" * 9
    splitter = LineSplitter(max_bytes=5)
    found = [line for start in range(0, len(stream), size) for line in splitter.feed(stream[start : start + size])]
    assert found == [b"12345", None, None, b"ok"]
    assert splitter.end() == [None]

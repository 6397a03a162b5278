"""The Python target: how a function is found, called and believed."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ragguard.adapters.targets import PythonTarget
from ragguard.core.samples import Answer, Passage
from ragguard.errors import ExitCode, UserInputError
from tests.unit.adapters.targets.asking import SAMPLES, WITH_HISTORY, answer_to, ask, collect, many, samples_of

_NUMBERS = count()
Write = Callable[..., PythonTarget]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module of its own name and gives the target of its `answer`."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)

    def write(code: str, name: str = "answer", **settings: Any) -> PythonTarget:
        module = f"rag_under_test_{next(_NUMBERS)}"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        return PythonTarget(callable=f"{module}:{name}", folder=tmp_path, **settings)

    yield write
    for name in set(sys.modules) - known:
        if name.startswith("rag_under_test_"):
            del sys.modules[name]


def _refused(target: PythonTarget, samples: Any = SAMPLES) -> UserInputError:
    with pytest.raises(UserInputError) as caught:
        asyncio.run(collect(target, samples))
    assert caught.value.exit_code == ExitCode.USER_INPUT
    assert caught.value.mend
    return caught.value


GOOD: dict[str, str] = {
    "question and history": "def answer(question, history): return question",
    "question only": "def answer(question): return question",
    "keyword only": "def answer(*, question, history=None): return question",
    "other parameters with defaults": "def answer(question, k=5, *args): return question",
    "everything": "def answer(**asked): return asked['question']",
    "coroutine": "async def answer(question, history): return question",
    "sync that gives an awaitable": "async def later(q): return q\ndef answer(question): return later(question)",
    "sample by name": "def answer(sample): return sample.question",
    "sample by annotation": "from ragguard.core.samples import Sample\ndef answer(s: Sample): return s.question",
    "sample by annotation as text": "def answer(s: 'samples.Sample', k=1): return s.question",
    "lambda": "answer = lambda question: question",
    "object": "class App:\n    def __call__(self, question): return question\nanswer = App()",
    "object with a coroutine": "class App:\n    async def __call__(self, question): return question\nanswer = App()",
    "partial": "from functools import partial\ndef f(k, question): return question\nanswer = partial(f, 3)",
    "decorated": "from functools import cache\n@cache\ndef answer(question): return question",
}


@pytest.mark.parametrize("code", GOOD.values(), ids=GOOD.keys())
def test_ways_to_be_called(code: str, app: Write) -> None:
    assert answer_to(app(code), "课程有多长？").text == "课程有多长？"


def test_a_method_of_an_object_in_the_module(app: Write) -> None:
    code = "class App:\n    def ask(self, question): return question\nclass hub: rag = App()"
    assert answer_to(app(code, "hub.rag.ask"), "x").text == "x"


def test_history_is_a_list_of_role_and_content(app: Write) -> None:
    given = ask(app("def answer(question, history): return repr(history)"), [WITH_HISTORY])
    assert given["turns"].answer is not None
    expected = [{"role": turn.role, "content": turn.content} for turn in WITH_HISTORY.history]
    assert given["turns"].answer.text == repr(expected)


DOCUMENT = """
    from dataclasses import dataclass
    from pydantic import BaseModel
    class Document(BaseModel):
        id: str | None = None
        page_content: str
        metadata: dict = {}
    @dataclass
    class Chunk:
        chunk_id: int
        text: str
    def answer(question):
        return {"response": "ok", "passages": (Document(page_content="một"), Chunk(7, "二"), "three"),
                "citations": ("7",), "cost_usd": 0.5, "latency_s": 9}
"""


def test_a_mapping_may_hold_a_retrievers_own_objects(app: Write) -> None:
    answer = answer_to(app(DOCUMENT))
    assert answer == Answer(
        text="ok",
        contexts=(Passage(text="một", rank=1), Passage(id="7", text="二", rank=2), Passage(text="three", rank=3)),
        citations=("7",),
        cost_usd=0.5,
        latency_s=9,
    )


def test_numpys_numbers_are_numbers(app: Write) -> None:
    code = """
        import numpy
        def answer(question):
            return {"answer": "ok", "contexts": [{"text": "a", "score": numpy.float32(0.5), "id": numpy.int64(3)}]}
    """
    assert answer_to(app(code)).contexts == (Passage(text="a", id="3", score=0.5),)


def test_an_answer_object_gets_the_measured_latency_unless_it_has_its_own(app: Write) -> None:
    code = """
        from ragguard.core.samples import Answer
        def answer(question): return Answer(text=question, latency_s=5 if question == "own" else None)
    """
    assert answer_to(app(code), "own").latency_s == 5
    measured = answer_to(app(code), "measured").latency_s
    assert measured is not None
    assert measured > 0
    assert measured != 5


def test_lone_surrogates_are_replaced(app: Write) -> None:
    assert answer_to(app(r"def answer(question): return 'a\ud800b'")).text == "a\ufffdb"


WRONG: dict[str, tuple[str, str]] = {
    "no module": ("", "there is no module `no_such_rag`"),
    "no parent": ("", "there is no module `no_such`"),
    "no function": ("def anser(question): ...", "there is no `answer` in it"),
    "missing dependency": ("import no_such_dependency", "needs the module `no_such_dependency`, which is missing"),
    "syntax": ("def answer(question:", "importing it raised SyntaxError"),
    "raises": ("raise RuntimeError('no key\\n::error::')", "importing it raised RuntimeError: no key ::error::"),
    "exits": ("import sys; sys.exit(0)", "importing it raised SystemExit"),
    "a value": ("answer = 'text'", "is no function but a value"),
    "a class": ("class answer: ...", "is no function but a class"),
    "no parameters": ("def answer(): ...", "takes no `question`"),
    "another name": ("def answer(query): ...", "cannot be given its parameter `query` by name"),
    "one too many": ("def answer(question, tenant): ...", "cannot be given its parameter `tenant` by name"),
    "by position": ("def answer(question, /): ...", "cannot be given its parameter `question` by name"),
    "no signature": ("answer = ''.format", "does not tell its parameters"),
    "sample and more": ("def answer(sample, question): ...", "cannot be given its parameter `question` by name"),
}


@pytest.mark.parametrize(("code", "message"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_called_is_a_user_error_with_the_mend(code: str, message: str, app: Write) -> None:
    target = app(code)
    if not code:
        path = "no_such_rag" if "no_such_rag" in message else "no_such.deep.rag"
        target = target.model_copy(update={"callable": f"{path}:answer"})
    error = _refused(target)
    assert message in str(error)
    assert len(error.message.splitlines()) == 1


def test_a_misspelt_function_is_pointed_out(app: Write) -> None:
    assert _refused(app("def anwser(question): ...")).mend == "did you mean `anwser`?"


@pytest.mark.parametrize("name", ["app", "app.answer", ":answer", "app:", "a/b:c", "app:f()", "1app:f", "app:f:g"])
def test_what_is_no_module_and_function_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="`module:function`"):
        PythonTarget(callable=name)


def test_earlier_turns_are_not_dropped_silently(app: Write) -> None:
    target = app("def answer(question): return question")
    assert "takes no `history`" in str(_refused(target, [*SAMPLES, WITH_HISTORY]))
    assert ask(target, SAMPLES)["s1"].answer is not None


FAILURES: dict[str, tuple[str, str]] = {
    "raises": ("raise ValueError('no\\nindex')", "raised ValueError: no index"),
    "raises without words": ("raise KeyError", "raised KeyError"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "interrupted": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "cannot say what": (
        "class E(Exception):\n        def __str__(self): return 1 / 0\n    raise E",
        "raised E",
    ),
    "stops": ("raise StopIteration", "StopIteration"),
    "its own time-out": ("raise TimeoutError('db')", "raised TimeoutError: db"),
    "cancelled by itself": ("import asyncio; raise asyncio.CancelledError", "CancelledError"),
    "returns nothing": ("return None", "something else than an answer: NoneType"),
    "returns a number": ("return 3", "something else than an answer: int"),
    "returns a generator": ("return (x for x in 'ab')", "something else than an answer: generator"),
    "no answer in it": ("return {'contexts': []}", "answer: is missing"),
    "null answer": ("return {'answer': None}", "answer: is missing"),
    "misspelt": ("return {'anwser': 'x'}", "did you mean answer"),
    "NaN": ("return {'answer': 'x', 'cost_usd': float('nan')}", "cost_usd"),
    "unreadable passages": ("return {'answer': 'x', 'contexts': object()}", "contexts"),
    "loop of itself": ("a = []; a.append(a); return {'answer': 'x', 'contexts': a}", "RecursionError"),
}
# KeyboardInterrupt on the event loop is the user's own and ends the run.
_ASYNC_FAILURES = {name: case for name, case in FAILURES.items() if name not in {"interrupted", "stops"}}
_BOTH = [("def", *case) for case in FAILURES.values()] + [("async def", *case) for case in _ASYNC_FAILURES.values()]


@pytest.mark.parametrize(("define", "body", "reason"), _BOTH)
def test_one_call_that_goes_wrong_is_that_samples_failure(define: str, body: str, reason: str, app: Write) -> None:
    target = app(f"{define} answer(question):\n    if question != 'bad': return 'fine'\n    {body}")
    given = ask(target, samples_of("one", "bad", "three"))
    failure = given["s2"].failure
    assert failure is not None
    assert reason in failure
    assert "\n" not in failure
    assert given["s1"].answer is not None
    assert given["s3"].answer is not None


@pytest.mark.parametrize("define", ["def", "async def"])
def test_a_late_call_is_that_samples_failure(define: str, app: Write) -> None:
    wait = "import time; time.sleep(20)" if define == "def" else "import asyncio; await asyncio.sleep(20)"
    target = app(f"{define} answer(question):\n    if question == 'bad': {wait}\n    return question", timeout=0.6)
    given = ask(target, samples_of("one", "bad", "three"))
    assert "gave no answer within 0.6 s" in (given["s2"].failure or "")
    assert given["s3"].answer is not None


COUNTING = """
    import threading, time
    lock, now, most = threading.Lock(), 0, 0
    def answer(question):
        global now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.02)
        with lock:
            now -= 1
        return str(most)
"""


def test_calls_at_a_time_are_bounded_and_run_side_by_side(app: Write) -> None:
    given = ask(app(COUNTING, concurrency=3), many(12))
    assert max(int(each.answer.text) for each in given.values() if each.answer) == 3


def test_sync_calls_do_not_hold_up_the_event_loop(app: Write) -> None:
    target = app("import threading\ngo = threading.Event()\ndef answer(question): return str(go.wait(10))")

    async def run() -> list[Any]:
        asking = asyncio.create_task(collect(target, SAMPLES))
        await asyncio.sleep(0.1)
        sys.modules[target.callable.partition(":")[0]].go.set()
        return await asking

    assert [each.answer.text for each in asyncio.run(run())] == ["True"] * 3


def test_a_call_that_hangs_is_left_in_a_thread_that_does_not_hold_up_the_end(app: Write) -> None:
    target = app("import time\ndef answer(question): time.sleep(5)", timeout=0.1)
    ask(target, samples_of("x"))
    left = [thread for thread in threading.enumerate() if thread.name == "ragguard-target"]
    assert left
    assert all(thread.daemon for thread in left)


def test_a_key_that_an_exception_tells_is_kept_nowhere(app: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "8f2e77aa90bc41dd")
    target = app(
        "def answer(question): raise RuntimeError('401 for 8f2e77aa90bc41dd and sk-proj-abcdefghij1234567890')"
    )
    failure = str(ask(target)["s1"].failure)
    assert failure.endswith("RuntimeError: 401 for *** and ***")

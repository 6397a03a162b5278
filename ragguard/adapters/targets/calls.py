"""How a user's function is found and called: by keyword, in a thread or on the event loop."""

from __future__ import annotations

import asyncio
import difflib
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ragguard.adapters.targets.wording import said
from ragguard.core.samples import Sample
from ragguard.errors import UserInputError

Known = Literal["question", "history"]
_KNOWN: Final[tuple[Known, ...]] = ("question", "history")
_EXAMPLE: Final = "define it as `def answer(question, history)` or `def answer(sample)`"


@dataclass(frozen=True)
class UserFunction:
    """A user's function and how it wants to be called.

    Attributes:
        name: As configured, for messages.
        function: The function itself.
        takes: Names of the parameters to give; `sample` means the whole sample.
        sample_as: Name of the parameter that takes the whole sample.
        is_async: Whether calling it gives a coroutine.
    """

    name: str
    function: Callable[..., Any]
    takes: tuple[Known, ...]
    sample_as: str | None
    is_async: bool

    def arguments(self, sample: Sample) -> dict[str, object]:
        """The keyword arguments for one sample."""
        if self.sample_as is not None:
            return {self.sample_as: sample}
        values: dict[str, object] = {
            "question": sample.question,
            "history": [turn.model_dump() for turn in sample.history],
        }
        return {name: values[name] for name in self.takes}

    @property
    def drops_history(self) -> bool:
        """Whether earlier turns never reach the function."""
        return self.sample_as is None and "history" not in self.takes


def find_function(name: str, folder: Path) -> UserFunction:
    """Imports `module:function`, with `folder` on the import path.

    Raises:
        UserInputError: There is no such function, importing it fails, or it cannot be called with a question.
    """
    function = _imported(name, folder)
    if inspect.isclass(function) or not callable(function):
        raise _wrong(name, f"is no function but {'a class' if inspect.isclass(function) else 'a value'}", _EXAMPLE)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError) as error:
        raise _wrong(name, "does not tell its parameters", "wrap it in a function of your own") from error
    takes, sample_as = _wanted(name, parameters)
    called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
    return UserFunction(name, function, takes, sample_as, is_async)


def _imported(name: str, folder: Path) -> Any:
    module_name, _, path = name.partition(":")
    where = str(folder.resolve())
    if where not in sys.path:
        # It stays there: the app may import its own modules as late as in its first answer.
        sys.path.insert(0, where)
    try:
        value: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            mend = f"run where `{error.name}` can be imported from, or set the target's `folder` (now {where})"
            raise _wrong(name, f"there is no module `{error.name}`", mend) from error
        mend = f"install what `{module_name}` needs"
        raise _wrong(name, f"importing it needs the module `{error.name}`, which is missing", mend) from error
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        what = f"importing it raised {said(error)}"
        raise _wrong(name, what, f"make `python -c 'import {module_name}'` work") from error
    for part in path.split("."):
        if not hasattr(value, part):
            near = difflib.get_close_matches(part, dir(value), n=1)
            hint = f"did you mean `{near[0]}`?" if near else _EXAMPLE
            raise _wrong(name, f"there is no `{part}` in it", hint)
        value = getattr(value, part)
    return value


def _wanted(name: str, parameters: Sequence[inspect.Parameter]) -> tuple[tuple[Known, ...], str | None]:
    """Decides from the parameters what to give: the whole sample, or question and history."""
    whole = next((parameter for parameter in parameters if _asks_for_sample(parameter)), None)
    given = {whole.name} if whole is not None else set(_KNOWN)
    for parameter in parameters:
        needed = parameter.default is parameter.empty and parameter.kind not in {
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        }
        if needed and (parameter.name not in given or parameter.kind is parameter.POSITIONAL_ONLY):
            raise _wrong(name, f"cannot be given its parameter `{parameter.name}` by name", _EXAMPLE)
    if whole is not None:
        return (), whole.name
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    names = {parameter.name for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY}
    takes: tuple[Known, ...] = tuple(known for known in _KNOWN if takes_all or known in names)
    if "question" not in takes:
        raise _wrong(name, "takes no `question`", _EXAMPLE)
    return takes, None


def _asks_for_sample(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    named = isinstance(annotation, str) and annotation.rpartition(".")[2] == "Sample"
    return annotation is Sample or named or parameter.name == "sample"


def _wrong(name: str, what: str, mend: str) -> UserInputError:
    return UserInputError(f"target python: `{name}`: {what}", mend=mend)


async def in_thread(function: Callable[[], Any]) -> Any:
    """Runs a function in a daemon thread of its own.

    A thread cannot be stopped. A pool's threads are joined when Python ends, so that one that hangs would keep the
    run from ending; a daemon thread is left behind when its waiter is cancelled.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = function()
        except BaseException as error:  # noqa: BLE001 - SystemExit too is only this call's failure
            failure = error if isinstance(error, Exception) else RuntimeError(said(error))
            if isinstance(failure, StopIteration):  # a future cannot carry it
                failure = RuntimeError("StopIteration")
        try:
            loop.call_soon_threadsafe(settle, value, failure)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    threading.Thread(target=run, name="ragguard-target", daemon=True).start()
    return await future

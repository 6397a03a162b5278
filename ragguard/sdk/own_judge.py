"""Judges of the user's own: any object with `ask`, and any object that decomposes, supports and relates.

The second kind has some of these methods, sync or async, called with these arguments:

    decompose_to_claims(answer) -> list of texts
    is_supported(claim=…, context=[…]) -> bool
    is_relevant(sentence=…, query=…) -> bool
    generate_questions(answer=…, n=…) -> list of n texts

Sync methods run in threads, so that one slow call does not hold up the others.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue, ValidationError

from ragguard.adapters.judges.lexical import best_match
from ragguard.core.digests import digest
from ragguard.core.ports import Judge
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key
from ragguard.core.tasks import Inputs, Task
from ragguard.errors import ConfigError, RagguardError

_METHODS: dict[str, tuple[str, ...]] = {
    "claims": ("decompose_to_claims", "is_supported"),
    "sentences": ("is_relevant",),
    "questions": ("generate_questions",),
    "reference": ("decompose_to_claims", "is_supported"),
}
"""What each task needs of a judge that gives single verdicts."""

Output = dict[str, JsonValue]


def own_judge(judge: object) -> Judge:
    """Makes a judge of an object.

    Args:
        judge: A whole `Judge`, an object with `ask(task, request)`, or one with methods that give single verdicts.

    Raises:
        ConfigError: It has none of these methods.
    """
    if isinstance(judge, Judge):
        return judge
    if callable(getattr(judge, "ask", None)):
        return AskingJudge(judge)
    known = sorted({method for methods in _METHODS.values() for method in methods})
    if any(callable(getattr(judge, method, None)) for method in known):
        return VerdictJudge(judge)
    raise ConfigError(
        f"evaluate(): judge is a {type(judge).__name__}, which is no judge",
        mend=f"give 'provider/model', 'offline', settings, or an object with `ask` or with {', '.join(known)}",
    )


class AskingJudge:
    """An object with `ask(task, request)`, sync or async, that returns a reply as a mapping or a `Judgment`.

    Its `fingerprint`, where it has one, tells runs of different judges apart; else its class's name must do.
    """

    def __init__(self, judge: object) -> None:
        self._judge = judge
        self.name = type(judge).__name__
        own = getattr(judge, "fingerprint", None)
        self.fingerprint = own if isinstance(own, str) else digest([type(judge).__module__, type(judge).__qualname__])
        self.models: tuple[str, ...] = (self.name,)

    def prompt_digest(self, task: str) -> str:
        """The prompts are the object's own: what is known of them is the object."""
        return digest([self.fingerprint, task])

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        """One request for each task."""
        request = JudgeRequest(
            task=task.name,
            model=self.name,
            params={},
            prompt_digest=self.prompt_digest(task.name),
            inputs_digest=digest(task.inputs),
            repeat=repeat,
            session=session,
        )
        return (request,)

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        """Asks the object; what it raises, and a reply that cannot be accepted, is a failed judgment."""
        try:
            reply = await self._reply(task, request)
        except RagguardError:
            raise
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            return self._judgment(request, {}, f"{self.name} raised {type(error).__name__}: {error}")
        if isinstance(reply, Judgment):
            return reply
        return self._judgment(request, *_checked(task, reply))

    async def aclose(self) -> None:
        """The object belongs to its owner."""

    async def _reply(self, task: Task, request: JudgeRequest) -> object:
        return await called(self._judge, "ask", task, request)

    def _judgment(self, request: JudgeRequest, output: Output, reason: str | None) -> Judgment:
        return Judgment(
            key=judgment_key(request),
            task=request.task,
            model=request.model,
            status="ok" if reason is None else "failed",
            output=output,
            reason=reason,
            repeat=request.repeat,
            session=request.session,
            attempts=1,
        )


class VerdictJudge(AskingJudge):
    """An object with methods for single verdicts; each task's reply is put together from them.

    Claims are taken from the whole answer; each is shown beside the line of the answer that it is most like. Sentences
    are split by ragguard, the same way for every judge.
    """

    def prompt_digest(self, task: str) -> str:
        """As for any object.

        Raises:
            ConfigError: The object has no method that the task needs.
        """
        needed = _METHODS.get(task.partition(":")[0])
        missing = [name for name in needed or () if not callable(getattr(self._judge, name, None))]
        if needed is None or missing:
            what = f"has no {' and no '.join(missing)}" if missing else "gives single verdicts only"
            raise ConfigError(
                f"evaluate(): the judge {self.name} {what}, so that it cannot do the task {task}",
                mend="leave out the metrics that need it, or give the object an `ask(task, request)`",
            )
        return super().prompt_digest(task)

    async def _reply(self, task: Task, request: JudgeRequest) -> object:
        rules = {
            "claims": self._claims,
            "sentences": self._sentences,
            "questions": self._questions,
            "reference": self._reference,
        }
        return await rules[task.name](task.inputs)

    async def _claims(self, inputs: Inputs) -> Output:
        lines, passages = cast("list[str]", inputs["lines"]), _passages(inputs)
        claims = await self._judged_claims(lines, passages)
        return {"claims": claims, "no_claim": _unspoken(claims, len(lines))}

    async def _sentences(self, inputs: Inputs) -> Output:
        sentences = [each for passage in cast("list[list[str]]", inputs["passages"]) for each in passage]
        query = inputs["question"]
        verdicts = await asyncio.gather(
            *(called(self._judge, "is_relevant", sentence=each, query=query) for each in sentences)
        )
        numbered = list(enumerate(map(bool, verdicts), 1))
        return {
            "relevant": [number for number, relevant in numbered if relevant],
            "irrelevant": [number for number, relevant in numbered if not relevant],
        }

    async def _questions(self, inputs: Inputs) -> Output:
        answer, n = cast("str", inputs["answer"]), cast("int", inputs["n"])
        questions = [str(each) for each in await called(self._judge, "generate_questions", answer=answer, n=n)]
        if not questions:  # it answers no question at all
            return {"noncommittal": True, "questions": [answer] * n}
        return {"noncommittal": False, "questions": list[JsonValue](questions)}

    async def _reference(self, inputs: Inputs) -> Output:
        """A passage helps a reference when it alone supports one of its claims."""
        references, passages = cast("list[list[str]]", inputs["references"]), _passages(inputs)
        claims: list[JsonValue] = []
        helps: list[list[JsonValue]] = [[] for _ in passages]
        done = 0
        for number, lines in enumerate(references, 1):
            found = await self._judged_claims(lines, passages, done)
            for place, passage in enumerate(passages):
                if await self._supports_any(found, passage):
                    helps[place].append(number)
            claims += found
            done += len(lines)
        uses: list[JsonValue] = [{"passage": place, "helps": found} for place, found in enumerate(helps, 1)]
        return {"claims": claims, "no_claim": _unspoken(claims, done), "passages": uses}

    async def _judged_claims(self, lines: Sequence[str], passages: Sequence[str], before: int = 0) -> list[JsonValue]:
        given = await called(self._judge, "decompose_to_claims", "\n".join(lines))
        claims = [text for each in given if (text := str(each).strip())]
        verdicts = await asyncio.gather(*(self._is_supported(claim, passages) for claim in claims))
        return [
            {
                "source": before + 1 + best_match(claim, lines)[0],
                "claim": claim,
                "passage": 1 + best_match(claim, passages)[0] if supported else 0,
                "verdict": "supported" if supported else "absent",
            }
            for claim, supported in zip(claims, verdicts, strict=True)
        ]

    async def _is_supported(self, claim: str, passages: Sequence[str]) -> bool:
        """Nothing supports a claim where nothing was retrieved."""
        if not passages:
            return False
        return bool(await called(self._judge, "is_supported", claim=claim, context=list(passages)))

    async def _supports_any(self, claims: Sequence[JsonValue], passage: str) -> bool:
        texts = [str(claim["claim"]) for claim in claims if isinstance(claim, dict)]
        return any(await asyncio.gather(*(self._is_supported(text, [passage]) for text in texts)))


class NoJudge(AskingJudge):
    """Stands where none was given: whoever asks it gets a failed judgment."""

    def __init__(self) -> None:
        super().__init__(None)
        self.name, self.models = "no judge", ()

    async def _reply(self, task: Task, request: JudgeRequest) -> object:
        raise LookupError("a judge is asked, and none was given")


async def called(owner: object, method: str, *args: Any, **kwargs: Any) -> Any:
    """Calls a method that may be async; a sync one runs in a thread."""
    function = getattr(owner, method)
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    result = await asyncio.to_thread(function, *args, **kwargs)
    return await result if inspect.isawaitable(result) else result


def _passages(inputs: Inputs) -> list[str]:
    return [" ".join(sentences) for sentences in cast("list[list[str]]", inputs["passages"])]


def _unspoken(claims: Sequence[JsonValue], lines: int) -> list[JsonValue]:
    """Numbers of the lines that no claim was taken from."""
    sources = {claim["source"] for claim in claims if isinstance(claim, dict)}
    return [number for number in range(1, lines + 1) if number not in sources]


def _checked(task: Task, reply: object) -> tuple[Output, str | None]:
    """The reply and None, or nothing and why it cannot be accepted."""
    if not isinstance(reply, Mapping):
        return {}, f"the reply is a {type(reply).__name__}, not a mapping"
    try:
        read = task.reply.model_validate(dict(reply))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return {}, f"the reply does not fit: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    problems = read.problems(task.inputs)
    return ({}, "; ".join(problems)) if problems else (read.model_dump(mode="json"), None)

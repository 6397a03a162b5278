"""A scripted judge and an embedder of fixed vectors, for tests of metrics without prompts or network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ragguard.core.digests import digest
from ragguard.core.ports import Vectors
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key
from ragguard.core.tasks import Task

Reply = Mapping[str, Any]
Script = Reply | Sequence[Reply] | Callable[[Task], Reply] | None
"""A reply, one for each judge of a panel, a rule from task to reply, or None for a judgment that fails."""


class ScriptedJudge:
    """Replies by task name; a reply that could not be accepted is an error of the test itself.

    Attributes:
        asked: The tasks asked, in order: one entry for each call.
    """

    fingerprint = "scripted"
    models = ("scripted",)

    def __init__(self, script: Mapping[str, Script], panel: int = 1) -> None:
        self._script = script
        self._panel = panel
        self.asked: list[Task] = []

    @property
    def names(self) -> list[str]:
        return sorted(task.name for task in self.asked)

    def prompt_digest(self, task: str) -> str:
        return digest(task)

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        return tuple(
            JudgeRequest(
                task=task.name,
                model=f"model-{number}",
                params={},
                prompt_digest=self.prompt_digest(task.name),
                inputs_digest=digest(task.inputs),
                repeat=repeat,
                session=session,
            )
            for number in range(self._panel)
        )

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        self.asked.append(task)
        reply = self._reply(task, int(request.model.removeprefix("model-")))
        if reply is None:
            return Judgment(
                key=judgment_key(request),
                task=task.name,
                model=request.model,
                status="failed",
                reason="scripted to fail",
            )
        assert not task.reply.model_validate(reply).problems(task.inputs), (task.name, reply)
        return Judgment(key=judgment_key(request), task=task.name, model=request.model, status="ok", output=dict(reply))

    async def aclose(self) -> None:
        """Nothing to free."""

    def _reply(self, task: Task, number: int) -> Reply | None:
        script = self._script[task.name]
        if callable(script):
            return script(task)
        if script is None or isinstance(script, Mapping):
            return script
        return script[number]


class FixedEmbedder:
    """Vectors by text, made unit length; an unknown text is an error of the test itself."""

    fingerprint = "fixed"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        rows = np.array([self._vectors[text] for text in texts], dtype=np.float64)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

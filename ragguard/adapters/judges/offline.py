"""A judge that needs no key and no network, for demos and dry runs. It is no faithfulness judge.

Its only rule with any worth is that a number which no passage holds is unsupported; all else is shared characters.
Every report that used it must say so in its first lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, model_validator

from ragguard.adapters.judges.offline_replies import reply_to
from ragguard.core.digests import digest
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key
from ragguard.core.tasks import Task

_VERSION = 1
_MOST_TEXT = 1_000_000
"""Characters that are read for one task, in some seconds; no model's window holds as many."""
_OF_OTHER_JUDGES = {
    "api_base", "temperature", "max_tokens", "repeats", "fallbacks", "rpm", "tpm", "concurrency", "timeout",
}  # fmt: skip


class OfflineJudge(BaseModel):
    """The deterministic stand-in for a judge: `judge: {model: offline}`.

    Settings of other judges, such as `temperature`, are accepted and have no effect, so that changing `model` alone is
    enough for a dry run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["offline"] = "offline"
    model: Literal["offline"] = "offline"

    @model_validator(mode="before")
    @classmethod
    def _without_settings_of_other_judges(cls, data: object) -> object:
        if isinstance(data, Mapping):
            return {key: value for key, value in data.items() if key not in _OF_OTHER_JUDGES}
        return data

    @property
    def fingerprint(self) -> str:
        """Digest of the name and version."""
        return digest(["offline", _VERSION])

    @property
    def models(self) -> tuple[str, ...]:
        """Always `offline`."""
        return (self.model,)

    def prompt_digest(self, task: str) -> str:
        """Digest of the task and the version: the rules stand in for a prompt."""
        return digest(["offline", _VERSION, task])

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        """One request: asking the same thing again would give the same reply."""
        request = JudgeRequest(
            task=task.name,
            model=self.model,
            params={},
            prompt_digest=self.prompt_digest(task.name),
            inputs_digest=digest(task.inputs),
            repeat=repeat,
            session=session,
        )
        return (request,)

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        """Replies by the rules; a task that they do not know, of a user's own metric, is a failed judgment."""
        output, reason = _checked(task)
        return Judgment(
            key=judgment_key(request),
            task=request.task,
            model=request.model,
            response_model=self.model,
            status="ok" if reason is None else "failed",
            output=output,
            reason=reason,
            repeat=request.repeat,
            session=request.session,
            attempts=1,
            prompt_tokens=0,
            completion_tokens=0,
            cost_usd=0.0,
        )

    async def aclose(self) -> None:
        """Nothing to free."""


def _checked(task: Task) -> tuple[dict[str, JsonValue], str | None]:
    """The reply and None, or nothing and why there is none."""
    if (length := _length(list(task.inputs.values()))) > _MOST_TEXT:
        told = f"{length:,} characters of answer and passages are more than the offline judge reads ({_MOST_TEXT:,})"
        return {}, f"{told}: look whether the app's answer is one, and configure a model for texts of that size"
    output = reply_to(task)
    if output is None:
        return {}, f"the offline judge knows no task {task.name!r}: configure a model"
    try:
        problems = task.reply.model_validate(output).problems(task.inputs)
    except ValidationError as error:
        problems = [str(error)]
    return ({}, "; ".join(problems)) if problems else (output, None)


def _length(value: JsonValue) -> int:
    """Characters of all texts in a value."""
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return sum(map(_length, inner))

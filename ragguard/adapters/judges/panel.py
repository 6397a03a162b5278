"""Several judges as one: each task is asked of all of them; what becomes of their judgments is `vote`'s business."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property

from ragguard.core.digests import digest
from ragguard.core.ports import Judge
from ragguard.core.scores import JudgeRequest, Judgment
from ragguard.core.tasks import Task
from ragguard.errors import ConfigError


class PanelJudge:
    """A panel of judges.

    Args:
        judges: Its members; no two of the same model and parameters.

    Raises:
        ConfigError: There are no members, or two are the same.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        if not judges:
            raise ConfigError("`judges` is empty", mend="name at least one model")
        self._judges = tuple(judges)
        self._members: dict[str, Judge] = {}
        if len({judge.fingerprint for judge in self._judges}) < len(self._judges):
            raise ConfigError(
                "`judges` names the same judge twice",
                mend="take another model, or ask one model several times by `repeats`",
            )

    @cached_property
    def fingerprint(self) -> str:
        """Digest over all members, whatever their order."""
        return digest(["panel", *sorted(judge.fingerprint for judge in self._judges)])

    @property
    def models(self) -> tuple[str, ...]:
        """The models of all members."""
        return tuple(model for judge in self._judges for model in judge.models)

    def prompt_digest(self, task: str) -> str:
        """Digest of the prompt's sources; of all of them where members use different ones."""
        digests = sorted({judge.prompt_digest(task) for judge in self._judges})
        return digests[0] if len(digests) == 1 else digest(digests)

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        """The requests of all members."""
        requests: list[JudgeRequest] = []
        for judge in self._judges:
            for request in judge.requests(task, repeat, session):
                self._members[_member_key(request)] = judge
                requests.append(request)
        return tuple(requests)

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        """Asks the member that a request is for.

        Raises:
            JudgeError: That member cannot be used.
            BudgetError: The budget is spent.
        """
        if _member_key(request) not in self._members:
            self.requests(task, request.repeat, request.session)
        return await self._members[_member_key(request)].ask(task, request)

    async def preflight(self) -> None:
        """Checks all members."""
        for judge in self._judges:
            if callable(check := getattr(judge, "preflight", None)):
                await check()

    async def aclose(self) -> None:
        """Frees the connections of all members."""
        await asyncio.gather(*(judge.aclose() for judge in self._judges))


def _member_key(request: JudgeRequest) -> str:
    return digest([request.model, request.params])

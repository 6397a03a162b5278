"""A panel asks all of its members, and each call goes to the member it is for."""

import asyncio

import pytest

from ragguard.adapters.judges.litellm import LiteLLMJudge
from ragguard.adapters.judges.panel import PanelJudge
from ragguard.core.agreement import agreement
from ragguard.core.ports import Judge
from ragguard.core.scores import JudgeRequest, Judgment, judgment_key
from ragguard.core.tasks import Task, questions_task
from ragguard.errors import ConfigError

TASK = questions_task("Học phí là 2 triệu đồng.", 1)


class Member:
    """Answers with its own name; two members may share a model and differ in parameters."""

    def __init__(self, model: str, temperature: float = 0.0, *, noncommittal: bool = False) -> None:
        self.settings = LiteLLMJudge(model=model, temperature=temperature)
        self.noncommittal = noncommittal
        self.asked = self.closed = 0

    @property
    def fingerprint(self) -> str:
        return self.settings.fingerprint

    @property
    def models(self) -> tuple[str, ...]:
        return self.settings.models

    def prompt_digest(self, task: str) -> str:
        return self.settings.prompt_digest(task)

    def requests(self, task: Task, repeat: int, session: str | None) -> tuple[JudgeRequest, ...]:
        return self.settings.requests(task, repeat, session)

    async def ask(self, task: Task, request: JudgeRequest) -> Judgment:
        self.asked += 1
        output = {"noncommittal": self.noncommittal, "questions": [f"{request.model}?"]}
        return Judgment(key=judgment_key(request), task=task.name, model=request.model, status="ok", output=output)

    async def aclose(self) -> None:
        self.closed += 1


def ask_all(panel: PanelJudge, repeat: int = 0) -> list[Judgment]:
    async def story() -> list[Judgment]:
        requests = panel.requests(TASK, repeat, None)
        return list(await asyncio.gather(*(panel.ask(TASK, request) for request in requests)))

    return asyncio.run(story())


def test_every_member_is_asked_and_answers_for_itself() -> None:
    members = [Member("openai/a"), Member("anthropic/b"), Member("openai/a", temperature=1.0)]
    panel = PanelJudge(members)
    judgments = ask_all(panel)
    assert isinstance(panel, Judge)
    assert panel.models == ("openai/a", "anthropic/b", "openai/a")
    assert [judgment.output["questions"] for judgment in judgments] == [["openai/a?"], ["anthropic/b?"], ["openai/a?"]]
    assert [member.asked for member in members] == [1, 1, 1]
    assert len({judgment.key for judgment in judgments}) == 3


def test_a_request_from_elsewhere_finds_its_member() -> None:
    first, second = Member("openai/a"), Member("openai/b")
    (request,) = second.requests(TASK, 3, "session")
    judgment = asyncio.run(PanelJudge([first, second]).ask(TASK, request))
    assert judgment.model == "openai/b"
    assert first.asked == 0


def test_the_fingerprint_is_that_of_all_members_in_any_order() -> None:
    a, b, c = Member("openai/a"), Member("openai/b"), Member("openai/c")
    assert PanelJudge([a, b]).fingerprint == PanelJudge([b, a]).fingerprint
    assert len({PanelJudge(members).fingerprint for members in ([a], [a, b], [a, c], [a, b, c])}) == 4
    assert a.fingerprint != PanelJudge([a]).fingerprint


def test_members_share_prompts() -> None:
    panel = PanelJudge([Member("openai/a"), Member("openai/b")])
    assert panel.prompt_digest("claims") == Member("openai/a").prompt_digest("claims")


def test_closing_the_panel_closes_all() -> None:
    members = [Member("openai/a"), Member("openai/b")]
    asyncio.run(PanelJudge(members).aclose())
    assert [member.closed for member in members] == [1, 1]


def test_disagreement_of_a_panel_can_be_told() -> None:
    judgments = ask_all(PanelJudge([Member("openai/a"), Member("openai/b", noncommittal=True)]))
    assert agreement(judgment.output for judgment in judgments).flip_rate == 1.0


@pytest.mark.parametrize(("members", "words"), [([], "empty"), ([Member("openai/a"), Member("openai/a")], "twice")])
def test_refuses_a_panel_that_means_nothing(members: list[Member], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        PanelJudge(members)

"""The test judge itself: it reads every task's real prompt and gives a reply that is accepted."""

import json
from collections import Counter

import pytest

from ragguard.adapters.judges.prompts import Prompts
from ragguard.adapters.judges.replies import Accepted, read_reply
from ragguard.core.answer_tasks import abstention_task, rubric_task
from ragguard.core.passage_tasks import citations_task, grades_tasks
from ragguard.core.reference_tasks import correctness_task, reference_task
from ragguard.core.tasks import Task, claims_task, questions_task, sentences_task
from tests.fakes.judge_samples import sample
from tests.parts.hashed_vectors import hashed_vector
from tests.parts.judge_rules import answer, read_prompt

SAMPLE = sample(12, passages=3)
PASSAGES = SAMPLE.contexts or ()
LINES = ["Học phí học kỳ 12 là 1200 nghìn đồng.", "Điện thoại 987654321.", "Bạn cần gì?"]
REFERENCES = [["Học phí là 1200 nghìn đồng.", "Hạn nộp là ngày 5."], ["学费是1200元。"]]
TASKS = (
    claims_task(SAMPLE, LINES, PASSAGES),
    sentences_task(SAMPLE, PASSAGES),
    questions_task(" ".join(LINES), 3),
    *grades_tasks(SAMPLE, PASSAGES),
    reference_task(SAMPLE, REFERENCES, PASSAGES),
    citations_task(SAMPLE, LINES[:2], [[1, 2], []], PASSAGES),
    correctness_task(SAMPLE, LINES, REFERENCES),
    abstention_task(SAMPLE, LINES),
    rubric_task("tone", "Lịch sự", {0: "thô", 4: "lịch sự"}, SAMPLE, LINES, passages=PASSAGES, references=REFERENCES),
)


def reply(task: Task, verdict: str | None = None) -> Accepted:
    prompt = Prompts().render(task)
    asked = read_prompt(f"{prompt.system}\n{prompt.user}")
    assert asked.task == task.name.partition(":")[0]
    said = answer(asked, lambda line, verdicts, default: verdict if verdict in verdicts else default)
    found = read_reply(json.dumps(said), task)
    assert isinstance(found, Accepted), found
    return found


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_gets_a_reply_that_is_accepted(task: Task) -> None:
    assert reply(task).output


def test_numbers_decide_on_claims() -> None:
    verdicts = Counter(claim["verdict"] for claim in reply(TASKS[0]).output["claims"])
    assert verdicts == {"supported": 1, "absent": 1}


def test_only_cited_passages_count() -> None:
    assert [claim["verdict"] for claim in reply(TASKS[6]).output["claims"]] == ["supported", "absent"]


@pytest.mark.parametrize("verdict", ["supported", "absent", "contradicted"])
def test_verdicts_can_be_scripted(verdict: str) -> None:
    assert {claim["verdict"] for claim in reply(TASKS[0], verdict).output["claims"]} == {verdict}


def test_vectors_are_units_and_the_same_everywhere() -> None:
    row = hashed_vector("Học phí là bao nhiêu?", 64)
    assert sum(value * value for value in row) == pytest.approx(1)
    assert row == hashed_vector("HỌC PHÍ là bao nhiêu?", 64)
    assert row != hashed_vector("学费是多少？", 64)

"""The offline judge: its rules, its honesty, and that it fits the port."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import ValidationError

from ragguard.adapters.judges.lexical import foreign_numbers, held_numbers, numbers, shared
from ragguard.adapters.judges.offline import OfflineJudge
from ragguard.core.answer_tasks import abstention_task, rubric_task
from ragguard.core.passage_tasks import citations_task, grades_tasks
from ragguard.core.ports import Judge
from ragguard.core.reference_tasks import correctness_task, reference_lines, reference_task
from ragguard.core.samples import Passage, Sample
from ragguard.core.scores import Judgment, judgment_key
from ragguard.core.tasks import Inputs, Reply, Task, claims_task, questions_task, sentences_task

SAMPLE = Sample(id="s", question="Học phí một khóa học là bao nhiêu?")


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(text=text, rank=rank) for rank, text in enumerate(texts, 1))


def ask(task: Task, repeat: int = 0) -> Judgment:
    judge = OfflineJudge()
    (request,) = judge.requests(task, repeat, None)
    return asyncio.run(judge.ask(task, request))


def verdicts(lines: list[str], *texts: str) -> list[object]:
    output = ask(claims_task(SAMPLE, lines, passages(*texts))).output
    claims = output["claims"]
    assert isinstance(claims, list)
    return [claim["verdict"] for claim in claims if isinstance(claim, dict)]


def test_fits_the_port_and_is_free() -> None:
    judge = OfflineJudge.model_validate({"type": "offline", "model": "offline", "temperature": 0.0, "rpm": 60})
    assert isinstance(judge, Judge)
    assert judge.models == ("offline",)
    judgment = ask(questions_task("Học phí là 2 triệu đồng.", 2))
    assert (judgment.status, judgment.cost_usd, judgment.model) == ("ok", 0.0, "offline")
    assert judge.prompt_digest("claims") != judge.prompt_digest("sentences")


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="modle"):
        OfflineJudge.model_validate({"modle": "offline"})


def test_the_same_task_gives_the_same_reply_and_each_repeat_its_own_key() -> None:
    task = claims_task(SAMPLE, ["Học phí là 2 triệu đồng."], passages("Học phí 2 triệu đồng."))
    first, second = ask(task), ask(task, repeat=1)
    assert first.output == second.output
    assert first.key != second.key
    assert first.key == judgment_key(OfflineJudge().requests(task, 0, None)[0])


class AnyReply(Reply):
    def problems(self, inputs: Inputs) -> list[str]:
        return []


def test_a_task_of_a_users_own_metric_is_a_failed_judgment() -> None:
    judgment = ask(Task("politeness", {}, AnyReply))
    assert judgment.status == "failed"
    assert "politeness" in str(judgment.reason)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("It costs 1.000,5 dollars.", "It costs 1,000.5 dollars."),
        ("Học phí là 2.400.000 đồng.", "Học phí: 2,400,000 đồng."),
        ("Học phí là 2,4 triệu đồng.", "Học phí là 2.400.000 đồng."),
        ("Fees rose to 2.4 million.", "Lệ phí là 2 400 000 đồng."),
        ("费用是1２０元。", "费用是120元。"),
        ("一共３，５００人。", "一共3500人。"),
        ("约14亿人", "约1400000000人"),
        ("15 percent", "15%"),
        ("giảm 15 phần trăm", "giảm １５％"),
        ("在90°C沸腾", "水在90°C沸腾。"),
        ("需要3天。", "需要三天。"),
        ("共12人", "共十二人"),
        ("It takes 2 weeks.", "It takes two weeks."),
        ("1. Giảm 15% [3].", "Được giảm 15%."),
        ("在2024，100人", "2024年有100人"),
        ("no number at all", "nothing here"),
    ],
)
def test_equal_numbers_are_supported(claim: str, text: str) -> None:
    assert not foreign_numbers(claim, [text])


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Học phí là 2.750.000 đồng.", "Học phí là 2.400.000 đồng."),
        ("费用是180元。", "费用是120元。"),
        ("It costs 3 million.", "It costs 3 dollars."),
        ("Version 1.2.3", "Version 1.2"),
        ("In 2025 fees fell.", "In 2024 fees fell."),
        ("a half, 0.5", "5 of them"),
        ("100", "1000"),
    ],
)
def test_a_number_that_no_text_holds_is_foreign(claim: str, text: str) -> None:
    assert foreign_numbers(claim, [text])


def test_an_ambiguous_number_has_both_readings() -> None:
    assert {float(value) for value in numbers("1.000")[0]} == {1000.0, 1.0}
    assert {float(value) for value in numbers("1.000,5")[0]} == {1000.5}


def test_huge_and_odd_digits_do_no_harm() -> None:
    assert numbers("9" * 5000 + " triệu")
    assert held_numbers("٣ ³ ½ Ⅳ") is not None


def test_claims_number_absent_else_supported_by_the_likest_passage() -> None:
    task = claims_task(
        SAMPLE,
        ["Xin chào bạn!", "Học phí là 9 triệu đồng.", "Thư viện mở cửa cả tuần.", "Tài liệu không nêu lịch thi."],
        passages("Học phí là 2 triệu đồng.", "Thư viện mở cửa từ thứ Hai."),
    )
    output = ask(task).output
    assert output["no_claim"] == [1, 4]
    assert output["claims"] == [
        {"source": 2, "claim": "Học phí là 9 triệu đồng.", "passage": 0, "verdict": "absent"},
        {"source": 3, "claim": "Thư viện mở cửa cả tuần.", "passage": 2, "verdict": "supported"},
    ]


@pytest.mark.parametrize("texts", [(), ("", "  ")])
def test_without_passages_every_claim_is_absent(texts: tuple[str, ...]) -> None:
    assert verdicts(["The library opens early.", "图书馆开门。"], *texts) == ["absent", "absent"]


def test_sentences_prefer_those_like_the_question() -> None:
    task = sentences_task(
        Sample(id="q", question="图书馆几点开门？"),
        passages("图书馆早上八点开门。食堂在一楼。", "Bananas are yellow."),
    )
    output = ask(task).output
    assert output["relevant"] == [1]
    assert output["irrelevant"] == [2, 3]


def test_a_neighbour_of_the_same_passage_lifts_a_sentence_and_one_of_another_passage_does_not() -> None:
    question = Sample(id="q", question="When does the library open on Sunday?")
    like, near = "When does the library open on Sunday?", "Lunch is on the first floor."
    together = ask(sentences_task(question, passages(f"{like} {near}"))).output
    apart = ask(sentences_task(question, passages(like, near))).output
    assert together["relevant"] == [1, 2]
    assert apart["relevant"] == [1]


def test_questions_come_from_the_answers_own_lines() -> None:
    output = ask(questions_task("Học phí là 2 triệu đồng. Nộp trước tháng 8.", 3)).output
    assert output == {
        "noncommittal": False,
        "questions": ["Học phí là 2 triệu đồng. Nộp trước tháng 8?", "Học phí là 2 triệu đồng?", "Nộp trước tháng 8?"],
    }


@pytest.mark.parametrize(
    ("answer", "noncommittal"),
    [
        ("抱歉，资料中没有提到。", True),
        ("Tài liệu không nêu.", True),
        ("The material does not say.", True),
        ("The material does not say when, but the fee is 5 dollars.", False),
        ("...", False),
    ],
)
def test_noncommittal_is_only_for_answers_that_only_refuse(answer: str, noncommittal: bool) -> None:
    judgment = ask(questions_task(answer, 1))
    assert judgment.status == "ok"
    assert judgment.output["noncommittal"] is noncommittal


def test_shared_characters_are_a_fraction() -> None:
    assert shared("abc", "abc") == 1.0
    assert shared("", "abc") == 0.0
    assert shared("学费", "学费是多少") == 1.0


REFERENCED = Sample(id="s", question="学费是多少？", reference=["学费是200元。开学前交。", "The fee is 200 yuan."])


def test_reference_lines_are_recalled_by_passages_that_hold_them() -> None:
    given = passages("食堂在一楼。", "学费是200元，可以退。", "学费是300元。")
    output = ask(reference_task(REFERENCED, reference_lines(REFERENCED), given)).output
    assert output["claims"] == [
        {"source": 1, "claim": "学费是200元。", "passage": 2, "verdict": "supported"},
        {"source": 2, "claim": "开学前交。", "passage": 0, "verdict": "absent"},
        {"source": 3, "claim": "The fee is 200 yuan.", "passage": 0, "verdict": "absent"},
    ]
    assert output["passages"] == [
        {"passage": 1, "helps": []},
        {"passage": 2, "helps": [1]},
        {"passage": 3, "helps": []},
    ]


def test_passages_are_graded_by_their_likeness_to_the_question() -> None:
    given = passages("学费是多少？学费是200元。", "The canteen is downstairs.", "")
    for task in grades_tasks(REFERENCED, given):
        grades = ask(task).output["grades"]
        assert isinstance(grades, list)
        first, second, third = (grade["grade"] for grade in grades if isinstance(grade, dict))
        assert first == 2
        assert second == third == 0


def test_citations_are_judged_against_the_cited_passages_alone() -> None:
    given = passages("学费是200元。", "学费是300元。")
    lines = ["学费是200元。", "学费是300元。", "学费是300元。", "资料中没有提到。"]
    output = ask(citations_task(REFERENCED, lines, [[1], [1, 2], [], [1]], given)).output
    assert output["no_claim"] == [4]
    assert [(claim["passage"], claim["verdict"]) for claim in output["claims"] if isinstance(claim, dict)] == [  # type: ignore[union-attr]
        (1, "supported"),
        (2, "supported"),
        (0, "absent"),
    ]


def test_correctness_compares_numbers_and_characters() -> None:
    output = ask(correctness_task(REFERENCED, ["学费是200元。", "学费是900元。"], reference_lines(REFERENCED))).output
    assert output == {
        "answer": [
            {"source": 1, "claim": "学费是200元。", "in_references": [1, 2]},
            {"source": 2, "claim": "学费是900元。", "in_references": []},
        ],
        "answer_no_claim": [],
        "reference": [
            {"source": 1, "claim": "学费是200元。", "in_answer": True},
            {"source": 2, "claim": "开学前交。", "in_answer": False},
            {"source": 3, "claim": "The fee is 200 yuan.", "in_answer": False},
        ],
        "reference_no_claim": [],
    }


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [
        (["学费是200元。"], "answered"),
        (["学费是200元。", "考试时间没有提到。"], "partial"),
        (["抱歉！", "资料中没有提到学费。"], "refused"),
    ],
)
def test_abstention_goes_by_the_lexicon(lines: list[str], verdict: str) -> None:
    assert ask(abstention_task(REFERENCED, lines)).output == {"verdict": verdict}


def test_a_rubrics_score_admits_that_the_criterion_was_not_read() -> None:
    judgment = ask(rubric_task("tone", "Is it kind?", {0: "no", 4: "yes"}, REFERENCED, ["学费是多少"]))
    assert judgment.output["score"] == 4
    assert "does not read the criterion" in str(judgment.output["reason"])


def test_a_text_of_millions_is_refused_at_once_and_says_what_mends_it() -> None:
    lines = [f"Item number {k} costs {k} dollars in all." for k in range(650_000)]
    judgment = ask(claims_task(SAMPLE, lines, passages("Item number 1 costs 1 dollar.")))
    assert judgment.status == "failed"
    assert "configure a model" in str(judgment.reason)
    assert ask(claims_task(SAMPLE, lines[:100], passages("Item number 1 costs 1 dollar."))).status == "ok"

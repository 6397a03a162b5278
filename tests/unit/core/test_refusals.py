"""Refusals in three languages, and statements that only look like them."""

from __future__ import annotations

import pytest

from ragguard.core.refusals import is_claimless, only_refuses, refuses

REFUSALS = [
    "The material does not say.",
    "The passages do not mention how much the exam costs.",
    "The provided context doesn’t contain information about scholarships.",
    "I cannot answer this question based on the documents.",
    "I'm unable to find that in the handbook.",
    "I don't know.",
    "I do not have enough information to answer.",
    "There is no information about parking.",
    "There is no mention of refunds in the text.",
    "This is not mentioned in the passages.",
    "The fee is not stated.",
    "The retake fee: not provided." + " It is not provided.",
    "That is outside the scope of the documents.",
    "Sorry, the sources say nothing about this.",
    "The question cannot be answered from the given passages.",
    "Insufficient context.",
    "Unanswerable.",
    "Xin lỗi, tài liệu không nêu học phí.",
    "Không có thông tin về học bổng.",
    "Tôi không biết.",
    "Tôi không thể trả lời câu hỏi này.",
    "Tài liệu không đề cập đến vấn đề này.",
    "Trong các đoạn trích không có thông tin nào về lệ phí.",
    "Không tìm thấy câu trả lời trong tài liệu.",
    "Lịch thi chưa được nêu.",
    "Các đoạn văn chưa đủ thông tin để kết luận.",
    "Câu hỏi này nằm ngoài phạm vi tài liệu.",
    "资料中没有提到。",
    "抱歉，资料中没有提到学费。",
    "无法回答这个问题。",
    "根据提供的资料，无法确定费用。",
    "文中未提及。",
    "没有相关信息。",
    "我不知道。",
    "文档中没有关于奖学金的信息。",
    "這些資料沒有提到獎學金。",
    "该问题超出了资料的范围。",
]

SUBSTANCE = [
    "The fee does not include meals.",
    "Refunds are not given after 30 days.",
    "Parking is not included in the price.",
    "The theorem cannot be proved without the axiom of choice.",
    "Students cannot find parking on Mondays.",
    "If you do not know your password, reset it.",
    "Unfortunately, refunds are not possible after week two.",
    "Sorry, the office is closed on Sunday.",
    "Hello, the library opens early.",
    "No refund is given.",
    "If you want a refund, you must write to the office.",
    "If you want more control over queries, you must use the query API.",
    "I would recommend sticking to savings accounts.",
    "Học phí không bao gồm bữa ăn.",
    "Học sinh không được nói chuyện trong phòng thi.",
    "Sau ngày thứ 30, học phí không được hoàn lại.",
    "Nếu bạn nghỉ học, học phí không được hoàn.",
    "Học sinh không thể đổi lớp.",
    "学费不包括餐费。",
    "学生不能使用手机。",
    "逾期不退学费。",
    "没有考试的学生可以补考。",
    "如果您退课，学费不退。",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_recognised(text: str) -> None:
    assert only_refuses(text)


@pytest.mark.parametrize("text", SUBSTANCE)
def test_a_statement_is_no_refusal(text: str) -> None:
    assert not refuses(text)
    assert not is_claimless(text)
    assert not only_refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "The material does not say when, but the fee is 5 dollars.",
        "The material does not say. The usual fee is 5 dollars.",
        "Not sure, but fees rose by 3 %.",
        "Although the documents do not mention Sunday, the library opens at 8.",
        "I cannot answer that; the deadline is 1 May.",
        "Tài liệu không nêu học phí, nhưng lệ phí thi là 150.000 đồng.",
        "Mặc dù tài liệu không nêu, học phí thường là 2 triệu đồng.",
        "资料中没有提到学费，但考试费是50元。",
        "资料中没有提到睡眠时间，只知道上午上课不早于8:00。",
        "I don't know. Please call 555-0199.",
    ],
)
def test_a_refusal_with_substance_refuses_but_not_only(text: str) -> None:
    assert not only_refuses(text)


@pytest.mark.parametrize(
    "text",
    [
        "Sorry, the documents do not say. Please contact the office. Can I help with anything else?",
        "Xin lỗi bạn. Tài liệu không nêu thông tin này, nên tôi không thể trả lời. Bạn có thể liên hệ phòng đào tạo.",
        "很抱歉，资料中没有提到这一点。建议您联系教务处。",
        "The documents do not say. I recommend contacting the office. If you need more specific help, feel free to ask.",
        "I’m sorry, but I can’t answer that. If you have any other questions, feel free to ask!",
    ],
)
def test_courtesy_around_a_refusal_is_no_substance(text: str) -> None:
    assert only_refuses(text)


@pytest.mark.parametrize("text", ["", "  ", "…", "Xin chào!", "Hello!", "What do you mean?"])
def test_saying_nothing_is_not_refusing(text: str) -> None:
    assert not only_refuses(text)


@pytest.mark.parametrize(
    "text", ["Xin chào bạn!", "您好！", "Thank you for your question.", "- - -", "Do you mean Sunday?"]
)
def test_courtesies_questions_and_marks_claim_nothing(text: str) -> None:
    assert is_claimless(text)


@pytest.mark.parametrize(
    "piece",
    [
        "没有与",
        "没有关于有关",
        "无法根据从",
        "sorry ",
        "documents no ",
        "không có thông ",
        "i cannot ",
        "if you need ",
        "：",
        "dạ ",
    ],
)
def test_hostile_repetition_is_read_in_linear_steps(piece: str) -> None:
    # A pattern that backtracks exponentially would never come back from this.
    assert not refuses(piece * 2000 + "!")
    assert is_claimless(piece * 2000 + "!") is (piece in {"sorry ", "：", "dạ "})

"""Samples for judges' tests in three languages; by the test judge's rule two claims of three are supported."""

from ragguard.core.samples import Answer, Passage, Sample
from ragguard.core.work import WorkItem

_TEXTS = (
    ("Học phí học kỳ {n} là bao nhiêu?", "Học phí học kỳ {n} là {n}00 nghìn đồng.", "Hạn nộp học phí là ngày 5."),
    ("第{n}学期的学费是多少？", "第{n}学期的学费是{n}00元。", "学费的截止日期是5日。"),
    ("What is the fee for term {n}?", "The fee for term {n} is {n}00 dollars.", "The fee is due on day 5."),
)


def sample(n: int, passages: int = 1) -> Sample:
    """The n-th sample, n >= 10."""
    question, fact, due = (text.format(n=n) for text in _TEXTS[n % 3])
    texts = [f"{fact} {due}", *(f"Page {k}: opening hours, 7 to {k}." for k in range(1, passages))]
    return Sample(
        id=f"s{n}",
        question=question,
        contexts=tuple(Passage(id=f"p{k}", text=text, rank=k) for k, text in enumerate(texts, 1)),
    )


def answer(n: int) -> Answer:
    """Its answer: two claims that its passages hold, and one that they do not."""
    _, fact, due = (text.format(n=n) for text in _TEXTS[n % 3])
    return Answer(text=f"{fact} {due}\nĐiện thoại 987654321.")


def work(count: int, passages: int = 1) -> list[WorkItem]:
    """So many work items."""
    return [WorkItem(sample(n, passages), answer(n)) for n in range(10, 10 + count)]

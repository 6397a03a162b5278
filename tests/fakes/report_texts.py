"""What reports built by hand speak of: one lesson of an education app in each language."""

from dataclasses import dataclass
from typing import Final, Literal

Language = Literal["en", "vi", "zh"]


@dataclass(frozen=True)
class Case:
    """A question, what was retrieved, and a good and a bad answer with the judge's claims about each."""

    key: str
    question: str
    passages: tuple[tuple[str, str], ...]
    good: str
    bad: str
    good_claims: tuple[tuple[str, str, int], ...]
    bad_claims: tuple[tuple[str, str, int], ...]


CASES: Final[dict[Language, tuple[Case, ...]]] = {
    "en": (
        Case(
            "refund",
            "How much is refunded when a course is dropped in its third week?",
            (
                ("refunds#1", "Until day 14 of a course 80% of the fee is refunded. From day 15 to day 30 it is 40%."),
                ("refunds#2", "Refunds are paid within 10 working days."),
            ),
            "In the third week 40% of the fee is refunded. It is paid within 10 working days.",
            "In the third week 60% of the fee is refunded. A book voucher of $50 comes on top.",
            (
                ("40% of the fee is refunded in the third week", "supported", 1),
                ("The refund is paid within 10 working days", "supported", 2),
            ),
            (
                ("60% of the fee is refunded in the third week", "contradicted", 1),
                ("A book voucher of $50 comes with the refund", "absent", 0),
            ),
        ),
        Case(
            "exam",
            "How long is the final exam?",
            (("exams#3", "The final exam takes 90 minutes. Calculators are allowed."),),
            "The final exam takes 90 minutes.",
            "The final exam takes two hours.",
            (("The final exam takes 90 minutes", "supported", 1),),
            (("The final exam takes two hours", "contradicted", 1),),
        ),
    ),
    "vi": (
        Case(
            "hoan-tien",
            "Rút khỏi khóa học ở tuần thứ ba thì được hoàn bao nhiêu phần trăm học phí?",
            (
                (
                    "hoan-tien#1",
                    "Trong 14 ngày đầu được hoàn 80% học phí. Từ ngày thứ 15 đến ngày thứ 30, mức hoàn là 40%.",
                ),
                ("hoan-tien#2", "Tiền được chuyển trong vòng 10 ngày làm việc."),
            ),
            "Ở tuần thứ ba được hoàn 40% học phí. Tiền được chuyển trong vòng 10 ngày làm việc.",
            "Ở tuần thứ ba được hoàn 60% học phí. Ngoài ra còn được tặng phiếu mua sách 500.000 đồng.",
            (
                ("Ở tuần thứ ba được hoàn 40% học phí", "supported", 1),
                ("Tiền được chuyển trong vòng 10 ngày làm việc", "supported", 2),
            ),
            (
                ("Ở tuần thứ ba được hoàn 60% học phí", "contradicted", 1),
                ("Được tặng phiếu mua sách 500.000 đồng", "absent", 0),
            ),
        ),
        Case(
            "thi-cuoi-ky",
            "Bài thi cuối kỳ kéo dài bao lâu?",
            (("thi#3", "Bài thi cuối kỳ kéo dài 90 phút. Học sinh được dùng máy tính cầm tay."),),
            "Bài thi cuối kỳ kéo dài 90 phút.",
            "Bài thi cuối kỳ kéo dài hai tiếng.",
            (("Bài thi cuối kỳ kéo dài 90 phút", "supported", 1),),
            (("Bài thi cuối kỳ kéo dài hai tiếng", "contradicted", 1),),
        ),
    ),
    "zh": (
        Case(
            "退费",
            "第三周退课可以退多少学费？",
            (
                ("退费#1", "开课14天内退还80%的学费。第15天至第30天退还40%。"),
                ("退费#2", "退款在10个工作日内到账。"),
            ),
            "第三周退课可退还40%的学费。退款在10个工作日内到账。",
            "第三周退课可退还60%的学费。另外赠送500元购书券。",
            (("第三周退课可退还40%的学费", "supported", 1), ("退款在10个工作日内到账", "supported", 2)),
            (("第三周退课可退还60%的学费", "contradicted", 1), ("退课赠送500元购书券", "absent", 0)),
        ),
        Case(
            "期末考试",
            "期末考试时间多长？",
            (("考试#3", "期末考试时长90分钟，可以使用计算器。"),),
            "期末考试时长90分钟。",
            "期末考试时长两个小时。",
            (("期末考试时长90分钟", "supported", 1),),
            (("期末考试时长两个小时", "contradicted", 1),),
        ),
    ),
}

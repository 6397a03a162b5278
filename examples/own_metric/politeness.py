"""A metric of one's own: is the answer polite? By words, in Vietnamese, English and Chinese; no judge."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from ragguard import Answer, Metric, SampleRecord, Score, Tools

POLITE = ("vui lòng", "xin", "cảm ơn", "dạ", "please", "thank", "glad to", "请", "您", "谢谢")
RUDE = ("tự tìm đi", "obviously", "read the manual", "stupid", "自己看", "废话")


class Politeness(Metric):
    """1.0 for an answer with a polite word, 0.5 for a neutral one, 0.0 for one with a rude word.

    The fields are its settings in ragguard.yaml. Count `version` up when the same answer would get another value:
    stored scores are not compared across versions.
    """

    type: Literal["politeness"] = "politeness"
    also_rude: tuple[str, ...] = Field(default=(), description="Further words that are not wanted.")

    version: ClassVar[int] = 1
    needs: ClassVar[tuple[str, ...]] = ("answer",)

    def unseen_inputs(self, sample: SampleRecord, answer: Answer) -> JsonValue:
        """All that the value depends on: an unchanged answer is not scored again."""
        return answer.text

    async def score(self, sample: SampleRecord, answer: Answer, tools: Tools) -> Score:
        """Looks for the words."""
        text = answer.text.casefold()
        rude = [word for word in (*RUDE, *self.also_rude) if word in text]
        if rude:
            return self.scored(0.0, reason=f"it says {rude[0]!r}")
        polite = [word for word in POLITE if word in text]
        return self.scored(1.0 if polite else 0.5, reason=f"it says {polite[0]!r}" if polite else "it is neutral")

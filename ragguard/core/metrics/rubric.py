"""Rubric: a criterion in the user's own words, scored on a scale of named steps. One judge call."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from ragguard.core.answer_tasks import RubricReply, rubric_task
from ragguard.core.metrics.base import Metric, mean
from ragguard.core.ports import Tools
from ragguard.core.reference_tasks import reference_lines
from ragguard.core.samples import Answer, Sample, passages_of
from ragguard.core.scores import Score
from ragguard.core.sentences import split_sentences
from ragguard.core.tasks import Task

_FEWEST_STEPS = 2


class Rubric(Metric):
    """Score of a criterion / the scale's end; a mean over judges and repeats.

    `steps` names what scores mean: a list from 0 upwards, or a mapping from score to meaning whose lowest is 0; the
    highest is the scale's end n. The judge may give every whole number from 0 to n. Without steps, `scale: n` makes
    the two ends. A blank answer scores 0.0.
    """

    type: Literal["rubric"] = "rubric"
    name: str = Field(pattern=r"^[\w.-]{1,64}$", description="The metric's id is `rubric:<name>`.")
    criterion: str = Field(min_length=1, description="What to judge, in your own words.")
    steps: dict[Annotated[int, Field(ge=0, le=100)], str] = Field(
        default={0: "not met", 1: "partly met", 2: "fully met"},
        description="What scores mean: a list from 0 upwards, or {score: meaning}.",
    )
    shows: tuple[Literal["contexts", "reference"], ...] = Field(
        default=(), description="What the judge sees, and the metric needs, besides question and answer."
    )

    @model_validator(mode="before")
    @classmethod
    def _scale_without_steps(cls, data: object) -> object:
        """`scale: 10` alone means steps 0 and 10, so that a threshold stands on the rubric's own scale."""
        if isinstance(data, dict) and "steps" not in data and str(data.get("scale", "")).isdigit():
            return {**data, "steps": {0: "not met at all", int(data["scale"]): "fully met"}}
        return data

    @field_validator("steps", mode="before")
    @classmethod
    def _numbered(cls, value: object) -> object:
        return dict(enumerate(value)) if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _steps_make_a_scale(self) -> Rubric:
        if len(self.steps) < _FEWEST_STEPS or min(self.steps) != 0:
            raise ValueError("steps must name the score 0 and at least one score above it")
        if self.scale not in {1.0, float(max(self.steps))}:
            raise ValueError(f"scale {self.scale:g} does not end where steps do, at {max(self.steps)}")
        return self

    @property
    def id(self) -> str:
        """`rubric:<name>`."""
        return f"rubric:{self.name}"

    @property
    def task_names(self) -> tuple[str, ...]:
        """The `rubric:<name>` task."""
        return (self.id,)

    @property
    def needed(self) -> tuple[str, ...]:
        """Question and answer, and what `shows` asks for."""
        return (*self.needs, *self.shows)

    def tasks(self, sample: Sample, answer: Answer) -> tuple[Task, ...]:
        """One task; none for a blank answer."""
        lines = split_sentences(answer.text)
        if not lines:
            return ()
        task = rubric_task(
            self.name,
            self.criterion,
            self.steps,
            sample,
            lines,
            passages=passages_of(sample, answer) if "contexts" in self.shows else None,
            references=reference_lines(sample) if "reference" in self.shows else None,
        )
        return (task,)

    def unseen_inputs(self, sample: Sample, answer: Answer) -> JsonValue:
        """Nothing: the judge sees all."""
        return None

    async def score(self, sample: Sample, answer: Answer, tools: Tools) -> Score:
        """Rescales the judges' scores to [0, 1]."""
        tasks = self.tasks(sample, answer)
        if not tasks:
            return self.scored(0.0, flags=("empty_answer",), reason="the answer is blank")
        judgments = await tools.judge(tasks[0])
        replies = [RubricReply.model_validate(judgment.output) for judgment in judgments]
        maximum = max(self.steps)
        return self.scored(
            mean([reply.score / maximum for reply in replies]),
            reason=f"{replies[0].score} of {maximum}: {replies[0].reason}",
            details={"scores": [reply.score for reply in replies], "maximum": maximum},
            judgments=judgments,
        )

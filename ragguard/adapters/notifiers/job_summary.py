"""The summary page of a CI job: the report, appended to the file from which the runner makes it."""

from __future__ import annotations

from typing import ClassVar, Literal

from ragguard.adapters.notifiers.base import Letter, MarkdownName, Notifier, Secrets, Surroundings
from ragguard.adapters.notifiers.patience import DeliveryError, Patience

MOST_BYTES = 1_048_576
"""Of a step; a summary that is larger is dropped whole, and nobody is told."""
_SIZES: tuple[MarkdownName, ...] = ("summary", "comment", "line")


class JobSummary(Notifier):
    """The job's summary page."""

    type: Literal["job-summary"] = "job-summary"
    inward: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Who or what is told, for people."""
        return "job-summary"

    @property
    def tells(self) -> str:
        """What is sent, for people."""
        return "the report on the job's summary page"

    def is_here(self, at: Surroundings) -> bool:
        """Whether a runner takes a summary."""
        return at.step_summary is not None

    def send(self, letter: Letter, at: Surroundings, secrets: Secrets, patience: Patience) -> str:
        """Appends the largest form that still fits."""
        path = at.step_summary
        assert path is not None
        try:
            there = path.stat().st_size if path.exists() else 0
            apart = "\n" if there else ""
            for form in _SIZES:
                text = f"{apart}{letter.markdown(form)}\n".encode()
                if there + len(text) <= MOST_BYTES:
                    with path.open("ab") as file:
                        file.write(text)
                    return "written" if form == "summary" else "written in short: other steps' words leave no more room"
        except OSError as error:
            raise DeliveryError(f"the summary's file cannot be written: {error.strerror}") from error
        raise DeliveryError("the summary is full already: 1 MiB is all that a step may write")

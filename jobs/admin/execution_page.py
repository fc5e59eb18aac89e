"""What the page of an execution shows: its life from due to done, what was tried, what it was given and answered."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from jobs.admin.lists import address_of
from jobs.history import start_delay
from jobs.models import Attempt, Execution, LogLine, Progress
from jobs.timeline import Moment, timeline

MOST_LINES = 500  # of a log: who needs more asks the API for all of it
TONES = {
    "completed": "good",
    "failed": "bad",
    "attempt failed": "bad",
    "attempt crashed": "bad",
    "attempt lost": "warn",
    "started": "busy",
    "next attempt": "warn",
    "skipped": "dim",
    "cancelled": "dim",
    "cancellation requested": "dim",
    "attempt interrupted": "dim",
    "discarded": "dim",
}


class Step(NamedTuple):
    moment: Moment
    tone: str
    since: timedelta | None  # from the moment before


class ExecutionPage:
    def __init__(self, execution: Execution) -> None:
        self.execution = execution

    @cached_property
    def attempts(self) -> list[Attempt]:
        return self.execution.latest_attempts

    @cached_property
    def log_lines(self) -> list[LogLine]:
        """The last ones, as they were written."""
        return list(self.execution.log_lines.order_by("-attempt", "-number")[:MOST_LINES])[::-1]

    @cached_property
    def progress(self) -> Progress | None:
        return Progress.objects.filter(pk=self.execution.pk).first()

    @property
    def percent(self) -> int:
        return round(100 * self.progress.fraction) if self.progress else 0

    @cached_property
    def steps(self) -> list[Step]:
        moments = timeline(self.execution)
        befores: list[datetime | None] = [None, *(moment.at for moment in moments[:-1])]
        return [
            Step(moment, TONES.get(moment.event, "calm"), moment.at - before if before else None)
            for moment, before in zip(moments, befores, strict=True)
        ]

    @property
    def start_delay(self) -> timedelta | None:
        return start_delay(self.execution)

    @property
    def took(self) -> timedelta | None:
        one = self.execution
        return one.finished_at - one.started_at if one.finished_at and one.started_at else None

    @property
    def job_address(self) -> str:
        return address_of(self.execution.job)

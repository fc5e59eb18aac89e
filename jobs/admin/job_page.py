"""What the page of a job shows above its form: how it has been doing lately, and what was done to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from math import log10
from statistics import median
from uuid import UUID

from django.urls import reverse

from jobs.expected import pending_due
from jobs.models import AuditEvent, Execution, Job
from jobs.shown import length
from jobs.states import Status
from scheduling.recurrence import InvalidSchedule, describe
from scheduling.upcoming import stored

LATEST = 60  # executions of the strip
EVENTS = 8  # of the audit trail
READ = ("id", "job", "status", "due_at", "started_at", "finished_at", "attempt", "error", "reason")
LOWEST, HIGHEST = 18, 100  # percent of the strip's height


@dataclass(frozen=True, slots=True)
class Tick:
    """One execution in the strip."""

    id: UUID
    status: str
    told: str
    height: int  # percent: the logarithm of how long it took, among those beside it

    @property
    def address(self) -> str:
        return reverse("admin:jobs_execution_change", args=[self.id])


class JobPage:
    def __init__(self, job: Job) -> None:
        self.job = job
        # By one index, and without what may be large.
        self._latest = list(job.executions.only(*READ).order_by("-id")[:LATEST])

    @cached_property
    def words(self) -> str:
        try:
            return describe(stored(json.dumps(self.job.schedule), self.job.id))
        except InvalidSchedule as error:
            return f"Cannot be read: {error}"

    @cached_property
    def next_due(self) -> datetime | None:
        return pending_due(self.job)

    @cached_property
    def ticks(self) -> list[Tick]:
        """Oldest first, as time goes on a page."""
        spans = [_took(one) for one in self._latest]
        known = [span.total_seconds() for span in spans if span is not None]
        return [_tick(one, span, known) for one, span in zip(self._latest, spans, strict=True)][::-1]

    @cached_property
    def finished(self) -> int:
        return sum(one.status in (Status.COMPLETED, Status.FAILED) for one in self._latest)

    @cached_property
    def succeeded(self) -> int:
        return sum(one.status == Status.COMPLETED for one in self._latest)

    @property
    def success_rate(self) -> str:
        return f"{100 * self.succeeded / self.finished:.0f} %" if self.finished else ""

    @cached_property
    def usual_length(self) -> timedelta | None:
        spans = [span for one in self._latest if one.status == Status.COMPLETED and (span := _took(one))]
        return median(spans) if spans else None

    @cached_property
    def last(self) -> Execution | None:
        return self._latest[0] if self._latest else None

    @cached_property
    def events(self) -> list[AuditEvent]:
        return list(
            self.job.audit_events.select_related("actor").defer("before", "after").order_by("-at", "-id")[:EVENTS]
        )

    @cached_property
    def usual_distance(self) -> timedelta | None:
        """From one due time to the next, as they have been."""
        spans = [later.due_at - earlier.due_at for later, earlier in pairwise(self._latest)]
        return median(spans) if spans else None


def _took(one: Execution) -> timedelta | None:
    return one.finished_at - one.started_at if one.finished_at and one.started_at else None


def _tick(one: Execution, span: timedelta | None, known: list[float]) -> Tick:
    what = f"{Status(one.status).value.capitalize()}, due {one.due_at:%Y-%m-%d %H:%M:%S} UTC"
    took = f", took {length(span)}" if span is not None else ""
    tried = f", attempt {one.attempt}" if one.attempt > 1 else ""
    why = f": {one.explanation}"[:200] if one.explanation else ""
    return Tick(one.pk, one.status, f"{what}{took}{tried}{why}", _height(span, known))


def _height(span: timedelta | None, known: list[float]) -> int:
    if span is None:
        return LOWEST
    least, most = (log10(max(seconds, 0.001)) for seconds in (min(known), max(known)))
    if most - least < 0.1:
        return (LOWEST + HIGHEST) // 2
    share = (log10(max(span.total_seconds(), 0.001)) - least) / (most - least)
    return round(LOWEST + share * (HIGHEST - LOWEST))

"""What is known of a job's past: the acts on it and its executions, a bounded number of each, read by index."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Min

from jobs.ids import MILLISECOND, lowest_id
from jobs.models import Attempt, AuditEvent, Execution, Job
from jobs.models.audit import CHANGES
from jobs.models.execution import ExecutionQuerySet
from jobs.states import Cause, JobStatus
from scheduling.periods import Act, Standing, State

UNREAD = ("payload", "result", "error")  # of an execution: may be large, and say nothing of when it ran


def present_state(job: Job) -> State:
    return State(job.schedule, Standing.DELETED if job.deleted_at else _standing(job.status))


def acts_since(job: Job, start: datetime, *, most: int) -> list[Act]:
    """The first acts at or after `start` that may have changed when the job runs, in their order."""
    events = AuditEvent.objects.filter(job=job, at__gte=start, action__in=CHANGES).order_by("at", "id")
    # Not the whole of what was kept: the payload is in it too, twice.
    states = ("before__schedule", "before__status", "after__schedule", "after__status")
    return [_act(*event) for event in events.values_list("at", "action", *states)[:most]]


def executions_between(job: Job, start: datetime, end: datetime, *, most: int) -> tuple[list[Execution], datetime]:
    """The executions that are due from `start` on, and before `end`; and until when these are all there are.

    That is `end`, but for a job that has more than `most`.
    """
    rows = list(_by_id(job, start, end + MILLISECOND).order_by("id")[: most + 1])
    if len(rows) > most:
        end = min(end, _to_the_millisecond(rows[-1].due_at))
    return [row for row in rows if start <= row.due_at < end], end


def latest_by_schedule(job: Job, before: datetime) -> Execution | None:
    """The execution of the last due time earlier than `before` that the schedule made."""
    rows = job.executions.filter(id__lt=lowest_id(before + MILLISECOND), due_at__lt=before, cause=Cause.SCHEDULE)
    return rows.defer(*UNREAD).order_by("-id").first()


def first_starts(rows: Collection[Execution]) -> dict[UUID, datetime]:
    """When the first attempt began, of those that were tried. A row itself knows only of its latest."""
    known = {row.pk: row.started_at for row in rows if row.started_at}
    if tried_again := [row.pk for row in rows if row.attempt > 1]:
        attempts = Attempt.objects.filter(execution__in=tried_again, started_at__isnull=False)
        known |= dict(attempts.order_by().values_list("execution").annotate(Min("started_at")))
    return known


def start_delay(execution: Execution) -> timedelta | None:
    """From the due time to the start of the first attempt. Retries start later and say nothing about delay."""
    started = first_starts([execution]).get(execution.pk)
    return started - execution.due_at if started else None


def _by_id(job: Job, start: datetime, end: datetime) -> ExecutionQuerySet:
    return job.executions.filter(id__gte=lowest_id(start), id__lt=lowest_id(end)).defer(*UNREAD)


def _to_the_millisecond(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def _act(at: datetime, action: str, schedule: Any, status: str | None, schedule_after: Any, status_after: str) -> Act:
    after = State(schedule_after, Standing.DELETED if action == "delete" else _standing(status_after))
    if action == "create":
        return Act(at, State(schedule_after, Standing.NOT_CREATED), after)
    return Act(at, State(schedule, _standing(status)), after)


def _standing(status: str | None) -> Standing:
    return Standing[JobStatus(status).name]

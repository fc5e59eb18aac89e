"""Makes up for due times that passed without a run, when somebody asks for it.

A due time is made up for once. What is made here has ids unlike the schedule's, so it is not they that keep a due
time from running twice; the job's lock does, which whoever records anything holds: pollers, and other backfills. Under
it is read what has run, and what a poller has yet to record is left to the poller.

There is no process that paces them. All are recorded at once, each with a start of its own, later by what the
rate says; from then on they are executions like any other, and no stop of anything loses them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction

from accounts.models import User
from jobs import audit, ledger, quotas
from jobs.clock import database_now
from jobs.ids import execution_id
from jobs.models import Execution, Job
from jobs.occurrences import InvalidWindow, list_occurrences
from jobs.outcomes import Outcome
from jobs.states import Cause, IllegalMove, JobStatus, Status
from scheduler_project.origin import Origin, current_origin
from scheduling.recurrence.instants import write_instant

logger = structlog.get_logger(__name__)

MOST = 1000  # due times a window: what is locked, read and written in one go
RATE = 60  # executions a minute, where nobody says how many
FASTEST = 6000  # executions a minute: more would be no throttle
WITHOUT_A_RUN = (Outcome.SKIPPED, Outcome.MISSED)
COLUMNS = (
    *("id", "job_id", "tenant_id", "task", "priority", "cause", "status", "attempt", "forgiven"),
    *("due_at", "not_before", "wake_at", "recorded_at", "worker", "error", "reason", *Origin._fields),
)


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a backfill makes, or would make."""

    due_times: list[datetime]  # that get a run
    skipped: int  # how many of them were skipped
    missed: int  # how many of them have no execution at all
    left_alone: int  # due times that have run, run, wait, were cancelled, or are still a poller's to record
    rate: int  # executions a minute

    @property
    def interval(self) -> timedelta:
        return timedelta(minutes=1) / self.rate

    @property
    def lasts(self) -> timedelta:
        """From the first start to the last."""
        return self.interval * max(len(self.due_times) - 1, 0)


def plan(job: Job, *, start: datetime, end: datetime, rate: int = RATE) -> Backfill:
    """What a backfill of the due times from `start` on, and before `end`, would make now. Nothing is changed.

    Raises InvalidWindow for one that is not past or has too many due times, IllegalMove for a job that has ended.
    """
    if job.status == JobStatus.CANCELLED:
        raise IllegalMove("A cancelled job cannot be backfilled. Create a new one.")
    now = database_now()
    if end > now:
        raise InvalidWindow("to", f"is not past yet: only what was due can be made up for. It is {write_instant(now)}.")
    page = list_occurrences(job, start=start, end=end, now=now, limit=MOST)
    if page.following is not None:
        raise InvalidWindow(
            "to",
            f"leaves too much for one backfill, which has {MOST:,} due times at most. "
            f"Up to {write_instant(page.following)} it fits: ask for that, and then for the rest.",
        )
    by_schedule = [one for one in page.occurrences if one.cause == Cause.SCHEDULE]
    backfilled = {one.due_at for one in page.occurrences if one.cause == Cause.BACKFILL}
    wanted = [one for one in by_schedule if one.outcome in WITHOUT_A_RUN and one.due_at not in backfilled]
    outcomes = Counter(one.outcome for one in wanted)
    return Backfill(
        [one.due_at for one in wanted],
        skipped=outcomes[Outcome.SKIPPED],
        missed=outcomes[Outcome.MISSED],
        left_alone=len(by_schedule) - len(wanted),
        rate=rate,
    )


def backfill(job: Job, *, start: datetime, end: datetime, rate: int = RATE, actor: User | None) -> Backfill:
    """Record an execution for each due time of the window that has had none; raises as `plan` does."""
    plan(job, start=start, end=end, rate=rate)  # what is reckoned here is remembered, and the lock held for less
    with transaction.atomic():
        job = Job.objects.kept().locked().get(pk=job.pk)
        made = plan(job, start=start, end=end, rate=rate)
        if made.due_times:
            quotas.Room(job.tenant).take_runs(len(made.due_times), now=database_now())
            ledger.insert(Execution, COLUMNS, _rows(job, made, now=database_now()))
            _write_audit(job, made, start, end, actor)
    logger.info("job.backfilled", job=str(job.id), executions=len(made.due_times))
    return made


def _rows(job: Job, made: Backfill, *, now: datetime) -> list[tuple[Any, ...]]:
    starts = [now + place * made.interval for place in range(len(made.due_times))]
    origin = current_origin()
    alike = (job.id, job.tenant_id, job.task, int(job.priority), Cause.BACKFILL.value, Status.SCHEDULED.value)
    return [
        # Woken when it may start: the recoverer is what sends it.
        (execution_id(job.id, due, Cause.BACKFILL), *alike, 0, 0, due, start, start, now, "", "", "", *origin)
        for due, start in zip(made.due_times, starts, strict=True)
    ]


def _write_audit(job: Job, made: Backfill, start: datetime, end: datetime, actor: User | None) -> None:
    window = {"from": start.isoformat(), "to": end.isoformat(), "rate": made.rate, "count": len(made.due_times)}
    audit.write("backfill", job, actor, before=None, after=window)

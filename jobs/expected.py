"""Which due times a job was to have, or is to have, by the schedules it had."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice

from jobs.history import latest_by_schedule
from jobs.models import Job
from scheduling.periods import Period, Standing, due_times
from scheduling.recurrence import Recurrence
from scheduling.upcoming import stored

MOST_COUNTED = 1000  # runs ahead: with more left than this, it is not worked out which is the last
FOREVER = datetime.max.replace(tzinfo=UTC)


def pending_due(job: Job) -> datetime | None:
    """The due time that the job's row waits for. Whatever is due then or later is a poller's to record."""
    return None if job.next_run_at is None else job.due_for or job.next_run_at


def schedule_of(job: Job, period: Period) -> Recurrence:
    return stored(json.dumps(period.state.schedule), job.id)


def expected_due_times(job: Job, held: Iterable[Period], *, now: datetime) -> Iterator[tuple[datetime, Period]]:
    """The due times of each of the periods, with the period, as they are asked for."""
    for period in held:
        schedule = schedule_of(job, period)
        until = min(period.until, _last(job, period, schedule, now))
        for due in due_times(schedule, after=period.after, until=until):
            yield due, period


def _last(job: Job, period: Period, schedule: Recurrence, now: datetime) -> datetime:
    """The instant after which the period has no due times, whatever its schedule says."""
    standing = period.state.standing
    if standing in (Standing.CANCELLED, Standing.DELETED):
        return now  # what would have been is told; what would be is nobody's question
    most = period.state.schedule.get("max_runs")
    if most is None:
        return FOREVER
    if standing is Standing.FINISHED:
        latest = latest_by_schedule(job, period.until + datetime.resolution)
        return (latest.covers_until or latest.due_at) if latest else period.after
    if period.ended is not None or period.until <= now or most - job.runs > MOST_COUNTED:
        return FOREVER
    pending = pending_due(job)
    ahead = due_times(schedule, after=pending - datetime.resolution if pending else now, until=FOREVER)
    return next(islice(ahead, max(most - job.runs, 1) - 1, None), FOREVER)

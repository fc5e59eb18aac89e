"""One job's past, as far as a page shows it: its last runs, how many of them went well, and a year of days."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from functools import lru_cache
from uuid import UUID

from django.db import connection

from jobs.ids import lowest_id
from jobs.models import Execution, Job
from jobs.states import UNFINISHED, Status

STRIP = 60  # runs
RATED = 500  # runs that the success rate is about, at most
MOST = 20_000  # runs that the calendar looks at: a year of hourly ones, some hundredths of a second
YEAR = timedelta(days=365)
UNREAD = ("payload", "result")
GOOD_FOR = 10.0  # seconds
KEPT = 200  # calendars
LAST_MOMENT = clock_time.max
COUNT = """
    SELECT {day} AS day, status, count(*)
    FROM (
        SELECT due_at, status FROM jobs_execution WHERE job_id = %s AND id >= %s ORDER BY id DESC LIMIT %s
    ) AS looked_at
    GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of a job from its latest runs."""

    strip: list[Execution]  # the oldest first
    rated: int  # runs that ended well or badly, of those looked at
    completed: int

    @property
    def rate(self) -> float | None:
        """Hundredths that ended well."""
        return 100 * self.completed / self.rated if self.rated else None


@dataclass(frozen=True, slots=True)
class Calendar:
    days: dict[date, Counter[Status]]
    since: date  # before this there may be runs that were not looked at
    whole: bool  # whether that is all there was within the year


def past_of(job: Job) -> Past:
    strip = list(job.executions.defer(*UNREAD).order_by("-id")[:STRIP])
    ended = Counter(job.executions.order_by("-id").values_list("status", flat=True)[:RATED])
    completed, failed = ended[Status.COMPLETED], ended[Status.FAILED]
    return Past(strip[::-1], completed + failed, completed)


def calendar_of(job: Job, now: datetime) -> Calendar:
    """What became of the runs of each day, in UTC. A job that runs so often that a year is too many is told in part."""
    first = lowest_id(now - YEAR)
    key = Execution._meta.pk.get_db_prep_value
    day = "(due_at AT TIME ZONE 'UTC')::date" if connection.vendor == "postgresql" else "date(due_at)"
    with connection.cursor() as cursor:
        cursor.execute(COUNT.format(day=day), [key(job.pk, connection), key(first, connection), MOST])
        rows = cursor.fetchall()
    days: dict[date, Counter[Status]] = {}
    for one, status, count in rows:
        days.setdefault(one if isinstance(one, date) else date.fromisoformat(one), Counter())[Status(status)] += count
    whole = sum(count for *_, count in rows) < MOST
    return Calendar(days, (now - YEAR).date() if whole else min(days), whole)


def recent_calendar(job: Job, now: datetime) -> Calendar:
    """The same, as it was a few seconds ago: pages ask each second, and a year changes slowly."""
    return _calendar(job.pk, int(time.monotonic() / GOOD_FOR), now.date())


@lru_cache(maxsize=KEPT)
def _calendar(job: UUID, moment: int, today: date) -> Calendar:
    return calendar_of(Job(pk=job), datetime.combine(today, LAST_MOMENT, UTC))


def outcome_of(day: Counter[Status]) -> str:
    """How a day is coloured."""
    failed, completed = day[Status.FAILED], day[Status.COMPLETED]
    if failed:
        return "mixed" if completed else "failed"
    if completed:
        return "completed"
    return "unfinished" if any(day[status] for status in UNFINISHED) else "skipped"

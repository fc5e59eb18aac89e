"""One job's past, as far as a page shows it: its last runs, how many of them went well, and a year of days."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count
from django.db.models.functions import TruncDate

from jobs.ids import lowest_id, time_of
from jobs.models import Execution, Job
from jobs.states import UNFINISHED, Status

STRIP = 60  # runs
RATED = 500  # runs that the success rate is about, at most
MOST = 20_000  # runs that the calendar looks at: a year of hourly ones, some hundredths of a second
YEAR = timedelta(days=365)
UNREAD = ("payload", "result")


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
    latest = job.executions.filter(id__gte=lowest_id(now - YEAR)).order_by("-id")
    ids = latest.values("id")[:MOST]
    oldest = latest.values_list("id", flat=True)[MOST - 1 : MOST].first()
    rows = (
        Execution.objects.filter(pk__in=ids)
        .annotate(day=TruncDate("due_at"))
        .order_by()
        .values_list("day", "status")
        .annotate(Count("pk"))
    )
    days: dict[date, Counter[Status]] = {}
    for day, status, count in rows:
        days.setdefault(day, Counter())[Status(status)] += count
    since = time_of(oldest) if oldest else now - YEAR
    return Calendar(days, since.date(), oldest is None)


def outcome_of(day: Counter[Status]) -> str:
    """How a day is coloured."""
    failed, completed = day[Status.FAILED], day[Status.COMPLETED]
    if failed:
        return "mixed" if completed else "failed"
    if completed:
        return "completed"
    return "unfinished" if any(day[status] for status in UNFINISHED) else "skipped"

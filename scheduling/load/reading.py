"""Reads the jobs that a report is about, without holding more of them than it says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import TextField
from django.db.models.functions import Cast, Coalesce

from accounts.models import Tenant
from jobs.clock import database_now
from jobs.models import Job
from jobs.models.job import JobQuerySet
from scheduling.load.counting import MAX_STEPS, Budget, Tally
from scheduling.load.groups import Groups
from scheduling.load.report import Progress, Report, report_on
from scheduling.load.window import Window

MOST_JOBS = 200_000  # in one report: half a minute, and some hundred megabytes while it is made
CHUNK = 2000


def load_report(
    hours: int,
    *,
    tenant: Tenant | None = None,
    most: int = MOST_JOBS,
    steps: int = MAX_STEPS,
    max_new: int | None = None,
    progress: Progress = lambda *_: None,
) -> Report:
    """How busy the coming hours will be: for one tenant, or for all of them.

    Where there are more than `most` jobs, those that are due first count. `steps` bounds the work on them,
    and `max_new` the schedules to read that this process has not read yet.
    """
    window = Window(database_now(), hours)
    jobs = _due_within(window, tenant)
    total = jobs.count()
    groups = _grouped(jobs, Groups(window, max_new), most, lambda done: progress("reading", done, min(total, most)))
    return report_on(groups, left_out=max(0, total - most), steps=steps, progress=progress)


class Ahead(NamedTuple):
    """How many executions start in each of the coming minutes."""

    start: datetime
    per_minute: list[int]

    def at(self, instant: datetime) -> int | None:
        """Those of the minute that `instant` is in; None if it is not one of these."""
        minute = (instant - self.start) // timedelta(minutes=1)
        return self.per_minute[minute] if 0 <= minute < len(self.per_minute) else None


def minutes_ahead(hours: int, *, most: int, steps: int, max_new: int) -> Ahead:
    """The minutes alone, of the `most` jobs that are due first: nothing is counted in the database."""
    window = Window(database_now(), hours)
    tally = Tally(window, Budget(steps))
    for group in _grouped(_due_within(window, None), Groups(window, max_new), most, lambda done: None):
        tally.add(group)
    return Ahead(window.start, tally.per_minute())


def _due_within(window: Window, tenant: Tenant | None) -> JobQuerySet:
    jobs = Job.objects.scheduled().filter(next_run_at__lt=window.end)
    return jobs if tenant is None else jobs.for_tenant(tenant)


def _grouped(jobs: JobQuerySet, groups: Groups, most: int, read: Callable[[int], None]) -> Groups:
    rows = jobs.order_by("next_run_at").values_list(
        "pk", "name", Cast("schedule", TextField()), Coalesce("due_for", "next_run_at"), "runs"
    )
    for done, (job, name, schedule, due, runs) in enumerate(rows[:most].iterator(CHUNK)):
        groups.add(job, name, schedule, due=due, runs=runs)
        read(done)
    return groups

"""Reads the jobs that a report is about, without holding more of them than it says."""

from __future__ import annotations

from django.db.models import TextField
from django.db.models.functions import Cast, Coalesce

from accounts.models import Tenant
from jobs.clock import database_now
from jobs.models import Job
from scheduling.load.groups import Groups
from scheduling.load.report import Progress, Report, report_on
from scheduling.load.window import Window

MOST_JOBS = 200_000  # in one report: half a minute, and some hundred megabytes while it is made
CHUNK = 2000


def load_report(
    hours: int, *, tenant: Tenant | None = None, most: int = MOST_JOBS, progress: Progress = lambda *_: None
) -> Report:
    """How busy the coming hours will be: for one tenant, or for all of them.

    Where there are more than `most` jobs, those that are due first count.
    """
    window = Window(database_now(), hours)
    jobs = Job.objects.scheduled().filter(next_run_at__lt=window.end)
    if tenant is not None:
        jobs = jobs.for_tenant(tenant)
    total = jobs.count()
    groups = Groups(window)
    rows = jobs.order_by("next_run_at").values_list(
        "pk", "name", Cast("schedule", TextField()), Coalesce("due_for", "next_run_at"), "runs"
    )
    for done, (job, name, schedule, due, runs) in enumerate(rows[:most].iterator(CHUNK)):
        groups.add(job, name, schedule, due=due, runs=runs)
        progress("reading", done, min(total, most))
    return report_on(groups, left_out=max(0, total - most), progress=progress)

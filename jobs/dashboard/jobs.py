"""The pages of jobs: all of them, and one with its state, its runs to come and its runs so far."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import Tenant
from accounts.quota import QuotaExceeded
from execution.registry import registry
from jobs import services
from jobs.clock import database_now
from jobs.dashboard.charts import job as charts
from jobs.dashboard.filters import Filters
from jobs.dashboard.paging import paged
from jobs.dashboard.windows import done, form_target, must_change, shown, window
from jobs.models import Job
from jobs.models.job import JobQuerySet
from jobs.occurrences import InvalidWindow, list_occurrences
from jobs.outcomes import Missed, Outcome
from jobs.states import JobStatus
from jobs.stats.job import past_of, recent_calendar
from jobs.terms import MOST_SOUGHT, InvalidTags, read_tag, words_of
from scheduling.recurrence import InvalidSchedule, PreviewedRun, Recurrence, describe, preview
from scheduling.upcoming import stored

FILTERS = ("q", "status", "task", "tag")
UPCOMING = 10  # executions
LOOKS_BACK = timedelta(days=7)  # for due times that did not run
DUE_TIMES = 300  # of them, at most, and so many shown:
SHOWN = 12
LOOKED_THROUGH = 20_000  # jobs of all tenants, for staff who search among them
WENT_WELL = (Outcome.RAN, Outcome.UPCOMING, Outcome.DUE, Outcome.WAITING, Outcome.FORGOTTEN)  # or nobody knows


@window
def job_list(request: HttpRequest) -> HttpResponse:
    filters = Filters(request.GET, FILTERS)
    jobs = _filtered(request.viewer.jobs, request.viewer.scope, filters)
    page = paged(request, jobs.defer("payload"))
    for job in page.rows:
        job.words = _words(_schedule(job))
    context = {
        "jobs": page,
        "wanted": request.GET,
        "faults": filters.faults,
        "narrowed": filters.narrowed,
        "statuses": [status.value for status in JobStatus],
        "tasks": filters.offered("task", registry.names()),
        "page": "jobs",
    }
    return shown(request, "dashboard/jobs.html", context)


@window
def job_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    job = request.viewer.job(pk)
    now = database_now()
    schedule = _schedule(job)
    past = past_of(job)
    context = {
        "job": job,
        "words": _words(schedule),
        "zone": job.schedule.get("timezone", "UTC"),
        "upcoming": _upcoming(job, schedule, now),
        "past": past,
        "latest": past.strip[::-1][:10],
        "strip": charts.strip(past.strip),
        "calendar": recent_calendar(job, now),
        "not_run": _not_run(job, now),
        "may_change": request.viewer.may_change(job.tenant),
        "page": "jobs",
    }
    context["year"] = charts.calendar(context["calendar"], now.date())
    return shown(request, "dashboard/job.html", context)


ACTS: dict[str, tuple[Callable[..., Any], str]] = {
    "run": (services.run_job_now, "Execution started."),
    "pause": (services.pause_job, "Paused. The job has no due times until it is resumed."),
    "resume": (services.resume_job, "Resumed."),
    "cancel": (services.cancel_job, "Cancelled. A cancelled job cannot be resumed."),
}


@form_target
def act_on_job(request: HttpRequest, pk: UUID, act: str) -> HttpResponse:
    job = request.viewer.job(pk)
    must_change(request, job.tenant)
    if act not in ACTS:
        raise Http404(f"Nothing is done by {act}.")
    do, told = ACTS[act]
    try:
        outcome = do(job, actor=request.user)
    except (services.IllegalMove, QuotaExceeded) as error:
        messages.error(request, str(error))
        return redirect("job", pk)
    if isinstance(outcome, services.Resumed) and outcome.missed.count:
        told = f"{told} {outcome.missed.outcome}"
    return done(request, told, "job", pk)


def _filtered(jobs: JobQuerySet, scope: Tenant | None, filters: Filters) -> JobQuerySet:
    """As the API filters; nothing where a filter is refused."""
    if status := filters.choice("status", [status.value for status in JobStatus]):
        jobs = jobs.standing(status)
    sought, tag, task = filters.text("q"), filters.text("tag"), filters.text("task")
    words = words_of(sought)
    if sought and not 1 <= len(words) <= MOST_SOUGHT:
        filters.refuse(f"Search for 1 to {MOST_SOUGHT} words; this has {len(words)}.")
    if tag and scope is None:
        filters.refuse("Tags belong to a tenant. Choose one to filter by tag.")
    elif tag:
        try:
            tag = read_tag(tag)
        except InvalidTags as error:
            filters.refuse(str(error))
    if filters.faults:
        return jobs.none()
    if scope is None:  # terms and kinds are a tenant's: of all tenants' jobs, the latest are looked through
        latest = Job.objects.order_by("-id").values("pk")[:LOOKED_THROUGH]
        narrowed = Q(**{"task": task} if task else {}) & Q(*(Q(name__icontains=word) for word in words))
        return jobs.filter(narrowed, pk__in=latest) if words or task else jobs
    if words:
        jobs = jobs.called(scope, words)
    if tag:
        jobs = jobs.tagged(scope, [tag])
    return jobs.of_kind(scope, task=task) if task else jobs


def _schedule(job: Job) -> Recurrence | None:
    """None where it cannot be read: a page that shows fifty jobs does not fail for one."""
    try:
        return stored(json.dumps(job.schedule), job.id)
    except InvalidSchedule:
        return None


def _words(schedule: Recurrence | None) -> str:
    return describe(schedule) if schedule else "The schedule is invalid."


def _upcoming(job: Job, schedule: Recurrence | None, now: datetime) -> list[PreviewedRun]:
    if schedule is None or job.next_run_at is None:
        return []
    return preview(schedule, after=now, count=UPCOMING, runs_so_far=job.runs)


def _not_run(job: Job, now: datetime) -> list[Any]:
    """Why due times of the last days did not run, the latest first."""
    try:
        page = list_occurrences(job, start=max(job.created_at, now - LOOKS_BACK), end=now, now=now, limit=DUE_TIMES)
    except (InvalidSchedule, InvalidWindow):  # it cannot be read; it was created this very moment
        return []
    # The instant of its creation may be a due time of its schedule: nobody expected that one.
    told = (one for one in page.occurrences if one.missed_because is not Missed.NOT_CREATED)
    return [one for one in told if one.outcome not in WENT_WELL][::-1][:SHOWN]

"""The pages of executions: the list, and one with its timeline, attempts and result."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.quota import QuotaExceeded
from execution.registry import registry
from jobs import services
from jobs.dashboard.filters import Filters
from jobs.dashboard.paging import paged
from jobs.dashboard.windows import done, form_target, must_change, shown, window
from jobs.history import start_delay
from jobs.models import Execution, LogLine, Progress
from jobs.states import FINAL, IllegalMove, Status
from jobs.stats.unfinished import name_jobs
from jobs.timeline import timeline

FILTERS = ("status", "task", "job")
UNREAD = ("payload", "result")
LINES = 200  # of the log, the latest: the API has them all


@window
def execution_list(request: HttpRequest) -> HttpResponse:
    filters = Filters(request.GET, FILTERS)
    scope = request.viewer.scope
    rows = request.viewer.executions.defer(*UNREAD)
    if status := filters.choice("status", [status.value for status in Status]):
        rows = rows.standing(status)
    if task := filters.text("task"):
        rows = rows.filter(task=task) if scope is None else rows.of_kind(scope, task=task)
    job = None
    if wanted := filters.identifier("job"):
        job = request.viewer.jobs.filter(pk=wanted).first()
        rows = rows.filter(job=wanted)
        if job is None:
            filters.refuse(f"Job not found: {wanted}. Check its id, or choose the tenant that it belongs to.")
    page = paged(request, rows.none() if filters.faults else rows)
    name_jobs(page.rows)
    context = {
        "executions": page,
        "wanted": request.GET,
        "job": job,
        "faults": filters.faults,
        "narrowed": filters.narrowed,
        "statuses": [status.value for status in Status],
        "tasks": filters.offered("task", registry.names()),
        "page": "executions",
    }
    return shown(request, "dashboard/executions.html", context)


@window
def execution_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    return page_of(request, request.viewer.execution(pk))


def page_of(
    request: HttpRequest, execution: Execution, *, typed: str | None = None, faults: Sequence[str] = ()
) -> HttpResponse:
    """The page; with a payload that was typed and refused, the form as it was left and what is wrong."""
    context = {
        "execution": execution,
        "moments": timeline(execution),
        "attempts": execution.latest_attempts[::-1],
        "start_delay": start_delay(execution),
        "progress": Progress.objects.filter(execution=execution).first(),
        "lines": list(LogLine.objects.filter(execution=execution).order_by("-attempt", "-number")[:LINES])[::-1],
        "may_change": request.viewer.may_change(execution.tenant),
        "over": execution.status in FINAL,
        "dead": execution.status == Status.FAILED and Execution.objects.replayable().filter(pk=execution.pk).exists(),
        "cancelled": execution.status == Status.CANCELLED,
        "typed": typed,
        "faults": faults,
        "page": "executions",
    }
    return shown(request, "dashboard/execution.html", context)


@form_target
def cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    execution = request.viewer.execution(pk)
    must_change(request, execution.tenant)
    try:
        services.cancel_execution(execution, actor=request.user)
    except IllegalMove as error:
        messages.error(request, str(error))
        return redirect("run", pk)
    return done(request, "Cancelled. A handler that is running is asked to stop.", "run", pk)


@form_target
def replay(request: HttpRequest, pk: UUID) -> HttpResponse:
    execution = request.viewer.execution(pk)
    must_change(request, execution.tenant)
    try:
        services.retry_execution(execution, actor=request.user)
    except (IllegalMove, QuotaExceeded) as error:
        messages.error(request, str(error))
        return redirect("run", pk)
    return done(request, "Replay started, with all retries.", "run", pk)

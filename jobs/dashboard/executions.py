"""The pages of runs: all of them, and one with its timeline, its attempts and what came of it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from execution.registry import registry
from jobs import services
from jobs.dashboard.paging import paged
from jobs.dashboard.windows import done, must_change, shown, window
from jobs.models import LogLine, Progress
from jobs.redaction import redacted
from jobs.states import FINAL, IllegalMove, Status
from jobs.stats.unfinished import name_jobs
from jobs.timeline import timeline

UNREAD = ("payload", "result")
LINES = 200  # of the log, the latest: the API has them all


@window
def execution_list(request: HttpRequest) -> HttpResponse:
    rows = request.viewer.executions.defer(*UNREAD)
    if (status := request.GET.get("status")) in set(Status):
        rows = rows.standing(status)
    if task := request.GET.get("task"):
        scope = request.viewer.scope
        rows = rows.filter(task=task) if scope is None else rows.of_kind(scope, task=task)
    page = paged(request, rows)
    name_jobs(page.rows)
    context = {
        "executions": page,
        "wanted": request.GET,
        "narrowed": any(request.GET.get(name) for name in ("status", "task")),
        "statuses": [status.value for status in Status],
        "tasks": registry.names(),
        "page": "executions",
    }
    return shown(request, "dashboard/executions.html", context)


@window
def execution_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    execution = request.viewer.execution(pk)
    context = {
        "execution": execution,
        "moments": timeline(execution),
        "attempts": execution.attempts.order_by("-number"),
        "payload": redacted(execution.effective_payload),
        "progress": Progress.objects.filter(execution=execution).first(),
        "lines": list(LogLine.objects.filter(execution=execution).order_by("-attempt", "-number")[:LINES])[::-1],
        "may_change": request.viewer.may_change(execution.tenant),
        "over": execution.status in FINAL,
        "dead": execution.status == Status.FAILED and execution.discarded_at is None,
        "page": "executions",
    }
    return shown(request, "dashboard/execution.html", context)


@require_POST
@window
def cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    execution = request.viewer.execution(pk)
    must_change(request, execution.tenant)
    try:
        services.cancel_execution(execution, actor=request.user)
    except IllegalMove as error:
        messages.error(request, str(error))
        return redirect("run", pk)
    return done(request, "Cancelled, or asked to end where it runs.", "run", pk)


@require_POST
@window
def replay(request: HttpRequest, pk: UUID) -> HttpResponse:
    execution = request.viewer.execution(pk)
    must_change(request, execution.tenant)
    try:
        services.retry_execution(execution, actor=request.user)
    except IllegalMove as error:
        messages.error(request, str(error))
        return redirect("run", pk)
    return done(request, "It runs again, with all its retries.", "run", pk)

"""The schedules' calendar: how busy the coming days are, which minutes are worst, and what runs next."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from jobs.admin.permissions import require
from jobs.clock import database_now
from jobs.models import Job
from jobs.stats.load import MAX_JOBS, reports
from scheduling.load.report import Hour

SPANS = {"24": "24 hours", "72": "3 days", "168": "7 days"}
NEXT = 40  # runs listed
SHADES = 6


def calendar(request: HttpRequest) -> HttpResponse:
    require(request, "jobs.view_job")
    hours = request.GET.get("hours", "24")
    if hours not in SPANS:
        messages.warning(request, f"Unknown hours: {hours[:20]}. Showing 24. Choose one of {', '.join(SPANS)}.")
        hours = "24"
    report = reports.of(None, int(hours), at_once=True)
    context = {
        **admin.site.each_context(request),
        "title": "Calendar",
        "spans": [(value, title, value == hours) for value, title in SPANS.items()],
        "report": report,
        "days": _days(report.hours),
        "coming": _coming(),
        "counted": MAX_JOBS,
    }
    return TemplateResponse(request, "admin/punctual/calendar.html", context)


def _days(hours: list[Hour]) -> list[tuple[str, list[tuple[Hour, int] | None]]]:
    """Rows of a heat map: a day, and its 24 hours with a shade each; None for hours that are not looked at."""
    usual = sum(hour.executions for hour in hours) / max(len(hours), 1)
    days = []
    for day, of_day in groupby(hours, key=lambda hour: hour.at.date()):
        cells: list[tuple[Hour, int] | None] = [None] * 24
        for hour in of_day:
            cells[hour.at.hour] = (hour, _shade(hour.executions, usual))
        days.append((f"{day:%a %d %b}", cells))
    return days


def _shade(executions: int, usual: float) -> int:
    """An hour like the others has a shade in the middle, one with twice as much the darkest."""
    return 0 if not executions else max(1, min(SHADES, round(SHADES / 2 * executions / usual)))


def _coming() -> list[dict[str, Any]]:
    """The runs that come first, by the index that pollers go by."""
    now = database_now()
    jobs = Job.objects.scheduled().select_related("tenant").order_by("next_run_at")
    rows = jobs.only("name", "task", "next_run_at", "tenant__name")[:NEXT]
    return [{"job": job, "overdue": job.next_run_at < now - timedelta(seconds=1)} for job in rows]

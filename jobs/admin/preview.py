"""What a schedule means while somebody types it: in words, as its next runs, and how busy its minute is already."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, JsonResponse
from django.template.loader import render_to_string
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET, require_POST

from jobs.admin.permissions import require
from jobs.clock import database_now
from jobs.new_jobs import IMMEDIATELY
from jobs.stats.load import MAX_NEW, MAX_STEPS
from scheduling.load.reading import Ahead, minutes_ahead
from scheduling.recurrence import InvalidSchedule, describe, preview
from scheduling.upcoming import read_unsaved

SHOWN = 10  # runs
LONGEST = 5_000  # characters of a schedule: no real one has more than some hundred
HOURS = 24  # that the load is known for
COUNTED = 5_000  # jobs: a second for whoever asks first
REMEMBERED = 60  # seconds: what is asked for while typing is reckoned once


@require_POST
def preview_schedule(request: HttpRequest) -> JsonResponse:
    """The schedule that is being typed: drawn, or what is wrong with which part of it."""
    require(request, "jobs.view_job")
    try:
        # An emptied field means the same as a job without a schedule, and the widget writes it as null.
        wanted = json.loads(request.POST.get("schedule", "")[:LONGEST] or "null") or IMMEDIATELY
    except ValueError:
        return JsonResponse({"faults": {"schedule": "This is not JSON."}})
    now = database_now()
    try:
        schedule = read_unsaved(wanted, now=now)
    except InvalidSchedule as error:
        return JsonResponse({"faults": {error.field: str(error)}})
    runs = preview(schedule, after=_before(schedule, now), count=SHOWN)
    context = {"words": describe(schedule), "runs": runs, "zone": wanted.get("timezone", "UTC")}
    drawn = render_to_string("admin/punctual/preview.html", context)
    return JsonResponse({"faults": {}, "drawn": drawn, "first": runs[0].at.isoformat() if runs else None})


@require_GET
def minute_load(request: HttpRequest) -> JsonResponse:
    """How many executions other jobs start in the minute of a run, as far as that is known."""
    require(request, "jobs.view_job")
    at = parse_datetime(request.GET.get("at", "")[:40]) or datetime.max.replace(tzinfo=UTC)
    return JsonResponse({"said": told_load(at if at.tzinfo else at.replace(tzinfo=UTC))})


def told_load(at: datetime) -> str:
    ahead: Ahead = cache.get_or_set(
        "admin-load", lambda: minutes_ahead(HOURS, most=COUNTED, steps=MAX_STEPS, max_new=MAX_NEW), REMEMBERED
    )
    others = ahead.at(at)
    if others is None:
        return f"How busy that minute is cannot be said yet: it is more than {HOURS} hours away."
    busy = f" The busiest minute of the next {HOURS} hours starts {max(ahead.per_minute):,}."
    starts = "1 other execution starts" if others == 1 else f"{others:,} other executions start"
    return f"{starts} in that minute.{busy}"


def _before(schedule: Any, now: datetime) -> datetime:
    """An instant that all runs to come are after: also one that is due this very moment."""
    first = schedule.first_run(now)
    return now if first is None or first > now else first - timedelta.resolution

"""What a job missed while it was paused.

Nothing is recorded during a pause, so it is reckoned when it ends: from the due time that stood on the row when the job
was paused, as the audit event of that act has it, or from the last change of its schedule since.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from django.db.models import Max

from jobs.models import AuditEvent, Job
from scheduling.misfire import count_missed
from scheduling.upcoming import Upcoming, next_run

MOST_COUNTED = 1000  # due times: a fraction of a second to reckon, and nobody needs the exact number beyond
MOST_EDITS = 100  # looked at: who changes a paused job more often than that gets too high a count
NONE = "No due time passed during the pause."


@dataclass(frozen=True, slots=True)
class Missed:
    count: int
    more: bool  # than were counted
    first: datetime | None
    last: datetime | None
    outcome: str


def missed_in_pause(job: Job, *, now: datetime) -> Missed:
    """Which due times of a paused job have passed since it was paused, and what becomes of them."""
    following = partial(next_run, json.dumps(job.schedule), job=job.id)
    counted = count_missed(_first_missed(job, following, now), following, runs=job.runs, now=now, most=MOST_COUNTED)
    if not counted.count:
        return Missed(0, False, None, None, NONE)
    number = f"More than {counted.count:,}" if counted.more else f"{counted.count:,}"
    what = (
        "due time passed during the pause and is" if counted.count == 1 else "due times passed during the pause and are"
    )
    outcome = (
        f"{number} {what} not made up for. To run after all, POST the time span to /api/v1/jobs/{job.id}/backfill."
    )
    return Missed(counted.count, counted.more, counted.first, counted.last, outcome)


def first_missed(jobs: Sequence[Job], *, now: datetime) -> dict[UUID, datetime]:
    """The first due time that passed while these jobs were paused, of those that have one: two statements for all.

    One whose schedule was changed meanwhile is left out: to reckon it takes a look at each change.
    """
    known = {job.id: job for job in jobs}
    pauses = AuditEvent.objects.filter(job__in=known, action="pause")
    latest = pauses.order_by().values_list("job").annotate(Max("id")).values_list("id__max", flat=True)
    told = AuditEvent.objects.filter(pk__in=list(latest))
    missed = {}
    for job, due, schedule in told.values_list("job", "before__next_run_at", "before__schedule"):
        if due and schedule == known[job].schedule and (first := datetime.fromisoformat(due)) <= now:
            missed[job] = first
    return missed


def _first_missed(job: Job, following: partial[Upcoming], now: datetime) -> Upcoming:
    paused = job.audit_events.filter(action="pause").order_by("-id").first()
    if paused is None:
        return following(now, runs=job.runs)
    edits = job.audit_events.filter(action="update", id__gt=paused.id).order_by("-id")
    for edit in edits[:MOST_EDITS]:
        if edit.before["schedule"] != edit.after["schedule"]:
            return following(edit.at, runs=job.runs)
    return Upcoming(datetime.fromisoformat(paused.before["next_run_at"]), job.due_for)

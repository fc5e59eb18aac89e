"""What a job missed while it was paused.

Nothing is recorded during a pause, so it is reckoned when it ends: from the due time that stood on the row when the job
was paused, as the audit event of that act has it, or from the last change of its schedule since.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from jobs.models import Job
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


def _first_missed(job: Job, following: partial[Upcoming], now: datetime) -> Upcoming:
    paused = job.audit_events.filter(action="pause").order_by("-id").first()
    if paused is None:
        return following(now, runs=job.runs)
    edits = job.audit_events.filter(action="update", id__gt=paused.id).order_by("-id")
    for edit in edits[:MOST_EDITS]:
        if edit.before["schedule"] != edit.after["schedule"]:
            return following(edit.at, runs=job.runs)
    return Upcoming(datetime.fromisoformat(paused.before["next_run_at"]), job.due_for)

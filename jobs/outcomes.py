"""What became of one due time, and why, as people ask for it.

An execution tells it itself. Where there is none, it follows from what the job was then.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from jobs.models import Execution
from jobs.states import Cause, Status
from scheduling.periods import Period, Standing


class Outcome(StrEnum):
    """What became of a due time."""

    RAN = "ran"  # or runs now; `status` says which
    WAITING = "waiting"  # recorded, and no worker has started it yet
    SKIPPED = "skipped"  # meant not to run
    CANCELLED = "cancelled"
    MISSED = "missed"  # there is no execution, and will be none
    FORGOTTEN = "forgotten"  # it may have run: history of that time was pruned
    DUE = "due"  # its time has come, and it is about to be recorded
    UPCOMING = "upcoming"
    ON_HOLD = "on_hold"  # to come, if the job is resumed before


class Missed(StrEnum):
    """Why there is no execution."""

    NOT_CREATED = "not_created"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DELETED = "deleted"
    SCHEDULE_CHANGED = "schedule_changed"
    SYSTEM_DOWN = "system_down"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A due time, or a run that somebody asked for besides, and what became of it."""

    due_at: datetime
    outcome: Outcome
    cause: Cause = Cause.SCHEDULE  # what named the time
    missed_because: Missed | None = None
    reason: str = ""
    execution: UUID | None = None
    status: Status | None = None  # of that execution
    started_at: datetime | None = None  # its first attempt
    late_by: float | None = None  # seconds from the due time to that


OUTCOMES = {
    Status.SCHEDULED: Outcome.WAITING,
    Status.QUEUED: Outcome.WAITING,
    Status.SKIPPED: Outcome.SKIPPED,
    Status.CANCELLED: Outcome.CANCELLED,
}
NO_RUNS = {
    Standing.NOT_CREATED: (Missed.NOT_CREATED, "The job was not created yet."),
    Standing.PAUSED: (Missed.PAUSED, "The job was paused."),
    Standing.CANCELLED: (Missed.CANCELLED, "The job was cancelled."),
    Standing.DELETED: (Missed.DELETED, "The job was deleted."),
}
ENDED = {
    Standing.PAUSED: (Missed.PAUSED, "was paused"),
    Standing.CANCELLED: (Missed.CANCELLED, "was cancelled"),
    Standing.DELETED: (Missed.DELETED, "was deleted"),
}
CHANGED = (Missed.SCHEDULE_CHANGED, "was given another schedule")
PRUNED = "The history of that time was pruned, so what became of it is not known any more."
NOTHING_RECORDED = "No poller recorded it: none was running, or it was so late that other due times took its place."


def of_execution(row: Execution, *, first_start: datetime | None, now: datetime) -> Occurrence:
    """What a row says of its own due time. `first_start` is when its first attempt began, if any did."""
    status = Status(row.status)
    outcome = OUTCOMES.get(status, Outcome.RAN)
    waits_until = row.not_before if outcome is Outcome.WAITING and row.not_before > now else None
    return Occurrence(
        row.due_at,
        outcome,
        Cause(row.cause),
        reason=f"It starts at {_told(waits_until)}." if waits_until else row.reason,
        execution=row.pk,
        status=status,
        started_at=first_start,
        late_by=(first_start - row.due_at).total_seconds() if first_start else None,
    )


def covered(due: datetime, row: Execution) -> Occurrence:
    """A due time that has no row of its own, because another row's reason holds for it too."""
    return Occurrence(due, Outcome.SKIPPED, reason=row.reason, execution=row.pk, status=Status(row.status))


def forgotten(due: datetime) -> Occurrence:
    """A due time of which nothing is left, because nobody wanted to keep it for so long."""
    return Occurrence(due, Outcome.FORGOTTEN, reason=PRUNED)


def without_execution(
    due: datetime, *, period: Period, starts_at: datetime, pending: datetime | None, now: datetime
) -> Occurrence:
    """A due time that nothing is recorded of. `pending` is the due time that the job's row waits for."""
    if pending is not None and due >= pending:
        if starts_at <= now:
            return Occurrence(due, Outcome.DUE, reason="Its time has come. A poller is about to record it.")
        reason = f"It starts at {_told(starts_at)}, by its jitter." if starts_at > due else ""
        return Occurrence(due, Outcome.UPCOMING, reason=reason)
    standing = period.state.standing
    if standing is Standing.PAUSED and due > now:
        return Occurrence(due, Outcome.ON_HOLD, reason="The job is paused. It takes place if it is resumed before.")
    if standing in NO_RUNS:
        because, reason = NO_RUNS[standing]
        return Occurrence(due, Outcome.MISSED, missed_because=because, reason=reason)
    if period.ended is not None and starts_at > period.ended.at:
        because, what = ENDED.get(period.ended.after.standing, CHANGED)
        reason = f"The job {what} before {_told(starts_at)}, when it would have started by its jitter."
        return Occurrence(due, Outcome.MISSED, missed_because=because, reason=reason)
    return Occurrence(due, Outcome.MISSED, missed_because=Missed.SYSTEM_DOWN, reason=NOTHING_RECORDED)


def _told(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC"

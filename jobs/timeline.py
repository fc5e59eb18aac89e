"""The life of one execution as a list of moments, oldest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jobs.models import Execution
from jobs.states import AttemptOutcome, Status


@dataclass(frozen=True, slots=True)
class Moment:
    at: datetime
    event: str
    detail: str = ""


ENDED = {
    AttemptOutcome.FAILED: "attempt failed",
    AttemptOutcome.UNKNOWN: "attempt lost",
    AttemptOutcome.CRASHED: "attempt crashed",
}


def timeline(execution: Execution) -> list[Moment]:
    """Everything that is known to have happened, from the row's own times and its latest failed attempts."""
    moments = [
        Moment(execution.due_at, "due"),
        Moment(execution.recorded_at, "recorded", f"by {execution.get_cause_display().lower()}"),
    ]
    if execution.waits_for and execution.status == Status.SCHEDULED:
        moments.append(Moment(execution.recorded_at, "waits", f"for {execution.waits_for} to be over"))
    if execution.queued_at:
        moments.append(Moment(execution.queued_at, "queued"))
    for attempt in execution.latest_attempts:
        if attempt.started_at:
            moments.append(Moment(attempt.started_at, "started", f"attempt {attempt.number} on {attempt.worker}"))
        interrupted = execution.status == Status.CANCELLED and attempt.number == execution.attempt
        event = "attempt interrupted" if interrupted else ENDED[AttemptOutcome(attempt.outcome)]
        moments.append(Moment(attempt.finished_at, event, f"attempt {attempt.number}: {attempt.error}"))
    if execution.cancel_requested_at:
        moments.append(Moment(execution.cancel_requested_at, "cancellation requested"))
    if execution.started_at and execution.status in (Status.RUNNING, Status.COMPLETED):
        moments.append(Moment(execution.started_at, "started", f"attempt {execution.attempt} on {execution.worker}"))
    if execution.finished_at:
        moments.append(Moment(execution.finished_at, execution.status.lower(), execution.explanation))
    if execution.covers_until:
        moments.append(Moment(execution.covers_until, "covers", "every due time up to this one was skipped with it"))
    if execution.discarded_at:
        moments.append(Moment(execution.discarded_at, "discarded", execution.reason))
    if execution.status == Status.RETRYING:
        moments.append(Moment(execution.not_before, "next attempt"))
    return sorted(moments, key=lambda moment: moment.at)

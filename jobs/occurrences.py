"""Every due time of a window, with what became of it: the answer to "why did it not run?".

The due times are worked out from the schedules that the job had, and held against its executions. Neither the length
of the window nor that of the history matters: an answer has a stated number of due times, costs a few reads by
index, and says where to go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from jobs.expected import expected_due_times, pending_due, schedule_of
from jobs.history import (
    acts_since,
    executions_between,
    first_starts,
    latest_by_schedule,
    present_state,
)
from jobs.models import Execution, Horizon, Job
from jobs.outcomes import Missed, Occurrence, covered, forgotten, of_execution, without_execution
from jobs.states import Cause
from scheduling.periods import Period, periods
from scheduling.recurrence.instants import EARLIEST, LATEST

MOST = 1000  # due times an answer: some two tenths of a second to reckon
MOST_ROWS = 2 * MOST  # executions an answer reads: far more than can be due within a millisecond, so it gets somewhere
MOST_ACTS = 100  # changes of the job an answer goes through
INSTANT = datetime.resolution


class InvalidWindow(ValueError):
    """A window that cannot be looked through; `field` names the end that is at fault."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Page(NamedTuple):
    """What became of the first due times of a window."""

    occurrences: list[Occurrence]  # by due time; of one due time, the schedule's comes first
    periods: list[Period]  # what the job was in the time that the page is about
    following: datetime | None  # the start of what is left of the window


def list_occurrences(job: Job, *, start: datetime, end: datetime, now: datetime, limit: int = MOST) -> Page:
    """What became of the first `limit` due times from `start` on, and before `end`.

    An execution that no schedule named is listed as well, and its due time counts like any other.
    """
    if start >= end:
        raise InvalidWindow(
            "to", "must be later than `from`: the window has all due times from that on and before `to`."
        )
    start, end = max(start, EARLIEST), min(end, LATEST)
    if start >= end:
        return Page([], [], None)  # beyond the years that anything can be due in
    acts = acts_since(job, start, most=MOST_ACTS)
    # Each of these steps may find that it knows all only until some earlier end. That is where the page ends.
    known = end if len(acts) < MOST_ACTS else min(end, acts[-1].at + INSTANT)
    held = periods(present_state(job), acts, after=start - INSTANT, until=known - INSTANT)
    expected = dict(islice(expected_due_times(job, held, now=now), limit + 1))
    if len(expected) > limit:
        known, _ = expected.popitem()
    pending = pending_due(job)
    if pending is not None and start <= pending < known:
        expected.setdefault(pending, held[-1])  # a time that had just passed may be accepted, and belongs to no period
    rows, known = executions_between(job, start, known, most=MOST_ROWS)
    instants = sorted(due for due in {*expected, *(row.due_at for row in rows)} if due < known)
    if len(instants) > limit:
        known = instants[limit]
    return Page(
        _told(job, instants[:limit], expected, rows, latest_by_schedule(job, start), now),
        [_within(period, start, known) for period in held if period.after < known],
        known if known < end else None,
    )


def _within(period: Period, start: datetime, end: datetime) -> Period:
    """The period as far as a page is about it, with the page's own ends where it has no other."""
    return period._replace(after=max(period.after, start), until=end if period.until + INSTANT >= end else period.until)


def _told(
    job: Job,
    instants: Sequence[datetime],
    expected: dict[datetime, Period],
    rows: Sequence[Execution],
    latest: Execution | None,
    now: datetime,
) -> list[Occurrence]:
    """What became of each of `instants`. `latest` is the last execution by the schedule before them."""
    due_at: dict[datetime, list[Execution]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.cause != Cause.SCHEDULE):
        due_at[row.due_at].append(row)
    started = first_starts(rows)
    horizon = Horizon.objects.of(job) or EARLIEST
    told: list[Occurrence] = []
    for due in instants:
        here = due_at[due]
        if here and here[0].cause == Cause.SCHEDULE:
            latest = here[0]
        elif due in expected:
            told.append(_without_row(job, due, expected[due], latest, horizon, now))
        told += [of_execution(row, first_start=started.get(row.pk), now=now) for row in here]
    return told


def _without_row(
    job: Job, due: datetime, period: Period, latest: Execution | None, horizon: datetime, now: datetime
) -> Occurrence:
    if latest is not None and due <= (latest.covers_until or latest.due_at):
        return covered(due, latest)
    starts_at = schedule_of(job, period).not_before(due, key=str(job.id))
    told = without_execution(due, period=period, starts_at=starts_at, pending=pending_due(job), now=now)
    return forgotten(due) if told.missed_because is Missed.SYSTEM_DOWN and due < horizon else told

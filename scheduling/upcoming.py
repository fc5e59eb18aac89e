"""When a job runs next: the due time that its schedule names, and the moment it may start.

The two differ where a schedule has jitter. A run is known by its due time; the index and the poller go by the start.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from jobs.policies import recurs
from scheduling.recurrence import Recurrence, depends_on_seed, parse_schedule

KEPT = 10_000  # answers: thousands of jobs share `0 * * * *` and its due time, and croniter takes 200 µs for one
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)

Stored = dict[str, str | int]  # a schedule's JSON form


class Upcoming(NamedTuple):
    """A job's next run; all None when it has had its last."""

    start_at: datetime | None = None
    due_for: datetime | None = None  # the due time, where the start is later

    @property
    def due_at(self) -> datetime:
        """The due time, of a run that there is."""
        due = self.due_for or self.start_at
        assert due is not None
        return due


NEVER = Upcoming()


def read_new(schedule: Any, *, job: UUID, now: datetime) -> Recurrence:
    """The schedule that somebody asks for, or InvalidSchedule."""
    return parse_schedule(schedule, now=now, seed=str(job))


class NewSchedules:
    """Schedules that somebody asks for at `now`, many at once: each different one is read and reckoned once."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._known: dict[str, tuple[Stored, Upcoming]] = {}

    def read(self, schedule: Any, *, job: UUID) -> tuple[Stored, Upcoming]:
        """The schedule as it is stored, shared by all who ask for the same, and its first run; or InvalidSchedule."""
        text = repr(schedule)  # tells 1 from true, which a dictionary does not
        if known := self._known.get(text):
            return known
        recurrence = read_new(schedule, job=job, now=self.now)
        answer = recurrence.to_dict(), first_run(recurrence, job=job, now=self.now)
        if not _has_own_times(answer[0]):
            self._known[text] = answer
        return answer


def read_unsaved(schedule: Any, *, now: datetime) -> Recurrence:
    """The schedule that somebody thinks about, or InvalidSchedule. An `H` is picked as for no job in particular."""
    return parse_schedule(schedule, now=now)


def first_run(recurrence: Recurrence, *, job: UUID, now: datetime) -> Upcoming:
    """The run that a job starts with when its schedule is accepted at `now`."""
    return _placed(recurrence, recurrence.first_run(now), job)


def next_run(schedule: str, after: datetime, *, job: UUID, runs: int) -> Upcoming:
    """The run after the due time `after`, of a job that has had so many. `schedule` is JSON, as stored."""
    if (shared := _shared_run(schedule, after)) is not None:
        return shared
    recurrence = stored(schedule, job)
    return _placed(recurrence, recurrence.next_due(after, runs_so_far=runs), job)


def _placed(recurrence: Recurrence, due: datetime | None, job: UUID) -> Upcoming:
    if due is None:
        return NEVER
    start = recurrence.not_before(due, key=str(job))
    return Upcoming(start, due if start != due else None)


class Traits(NamedTuple):
    differs_by_job: bool
    recurs: bool


def is_recurring(schedule: str) -> bool:
    """Whether a schedule, JSON as stored, can have more than one due time."""
    return _traits(schedule).recurs


@lru_cache(KEPT)
def _traits(schedule: str) -> Traits:
    stored = json.loads(schedule)
    return Traits(_has_own_times(stored) or "max_runs" in stored, recurs(stored))


def _has_own_times(stored: Stored) -> bool:
    """Whether two jobs with this schedule start at different times."""
    return "jitter" in stored or depends_on_seed(stored)


@lru_cache(KEPT)
def _shared_run(schedule: str, after: datetime) -> Upcoming | None:
    """What is next for all jobs with this schedule; None if that differs by the job."""
    if _traits(schedule).differs_by_job:
        return None
    return Upcoming(parse_schedule(json.loads(schedule), now=after, allow_past=True).next_after(after))


@lru_cache(KEPT)
def stored(schedule: str, job: UUID) -> Recurrence:
    """The schedule of a job, from the JSON that its row keeps."""
    # What is stored has its anchor written down, so the instant it is read at makes no difference.
    return parse_schedule(json.loads(schedule), now=LONG_AGO, allow_past=True, seed=str(job))

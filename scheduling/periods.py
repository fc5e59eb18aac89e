"""Which schedule a job had when, and whether it made executions then. Pure.

A job's row says what it is now. What it was is known from the acts on it, each of which found it in one state and
left it in another. They are read backwards, so to speak: until an act the job was what that act found, and after the
last one it is what it is now. So nothing that happened before a window needs to be known to tell what held in it.

What no act says is when a schedule has run out. Such a job is `FINISHED` at the end of its period, and was active at
the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from scheduling.recurrence import Recurrence


class Standing(StrEnum):
    """Whether a job's schedule makes executions; if not, why."""

    NOT_CREATED = "NOT_CREATED"
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    FINISHED = "FINISHED"
    CANCELLED = "CANCELLED"
    DELETED = "DELETED"


class State(NamedTuple):
    """What a job was at some time. One that is not created yet has the schedule that it will be created with."""

    schedule: dict[str, Any]
    standing: Standing


class Act(NamedTuple):
    """That somebody changed a job."""

    at: datetime
    before: State
    after: State


class Period(NamedTuple):
    """A stretch of time in which a job stayed as it was."""

    after: datetime  # its due times are later than this …
    until: datetime  # … and at this at the latest
    state: State
    ended: Act | None  # what it ended with, which may be later than `until`; None, if the job is like this now


def periods(present: State, acts: Iterable[Act], *, after: datetime, until: datetime) -> list[Period]:
    """What held at the instants later than `after`, up to and including `until`, oldest first and without a gap.

    `acts` are in their order: all those later than `after` up to `until`, and at least the next one, if there is any.
    An instant at which somebody acts belongs to the time before: a schedule that is accepted at noon has its first
    run after noon.
    """
    found: list[Period] = []
    start = after
    for act in acts:
        if start >= until:
            break
        if act.at > start and act.before != act.after:
            _append(found, Period(start, min(act.at, until), act.before, act))
            start = act.at
    if start < until:
        _append(found, Period(start, until, present, None))
    return found


def due_times(recurrence: Recurrence, *, after: datetime, until: datetime) -> Iterator[datetime]:
    """The due times later than `after`, up to and including `until`, as they are asked for."""
    due = recurrence.next_after(after)
    while due is not None and due <= until:
        yield due
        due = recurrence.next_after(due)


def _append(found: list[Period], period: Period) -> None:
    """Add a period, as part of the last one if nothing has changed in between."""
    if found and found[-1].state == period.state:
        period = period._replace(after=found.pop().after)
    found.append(period)

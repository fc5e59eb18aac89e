"""Shows the next runs of a schedule before anybody relies on them.

The runs are those that `next_due` finds, one after the other: there is no second way to reckon that
could disagree with the first. Jitter is not shown: it depends on the job, and a run is known by when
it is due.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.bounds import Bounded
from scheduling.recurrence.clock_notes import note_on
from scheduling.recurrence.cron import Cron
from scheduling.recurrence.jitter import Jittered
from scheduling.recurrence.zone_names import zone_named

MOST_RUNS = 1000  # in one preview: a page for people, some tenths of a second to reckon


@dataclass(frozen=True)
class PreviewedRun:
    """One run to come: when it is due, what the clocks of its zone show then, and what is odd about the day."""

    at: datetime  # in UTC
    local: datetime  # in the schedule's zone, with the offset; UTC for schedules that have none
    note: str  # empty on most days


def preview(recurrence: Recurrence, *, after: datetime, count: int, runs_so_far: int = 0) -> list[PreviewedRun]:
    """Return the first `count` runs later than `after`, or as many as there are.

    `runs_so_far` is for a job that has run before and has a maximum of runs.
    """
    if not 0 <= count <= MOST_RUNS:
        raise ValueError(f"{count} is no number of runs to preview: allowed are 0 to {MOST_RUNS}.")
    rule = recurrence.bare()
    zone = zone_named(rule.timezone) if isinstance(rule, Cron) else UTC
    runs: list[PreviewedRun] = []
    previous = _start(recurrence, after)
    while len(runs) < count:
        run = recurrence.next_due(previous, runs_so_far=runs_so_far + len(runs))
        if run is None:
            break
        note = note_on(rule, previous=previous, run=run) if isinstance(rule, Cron) else ""
        runs.append(PreviewedRun(run, run.astimezone(zone), note))
        previous = run
    return runs


def _start(recurrence: Recurrence, after: datetime) -> datetime:
    """Return from when on the schedule has something to say: what it left out before it began is not news."""
    match recurrence:
        case Jittered(rule=rule):
            return _start(rule, after)
        case Bounded():
            return recurrence.earliest_start(after)
        case _:
            return after

"""What becomes of due times that nobody looked at in time, and of those that come while the run before goes on. Pure.

Only the choices are here, and which of them go together. `scheduling.misfire` and `scheduling.overlap` follow them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, NamedTuple

ONE_OFF = ("now", "once")  # types of schedule with a single due time

CATCH_UP_WINDOW = timedelta(days=1)
LONGEST_WINDOW = timedelta(days=366)
CATCH_UP_MAX = 100
MOST_CAUGHT_UP = 1000  # runs in one go: what one transaction of the poller should write for one job
MISFIRE_ROWS = 100
OVERLAP_LOOK = timedelta(seconds=0.5)
MOST_WAITING = 100  # runs of a job in line: more will hardly ever be worked off


class Misfire(StrEnum):
    """What to do about due times that were missed because nobody looked: no poller ran, or all were behind."""

    SKIP = "skip"  # none of them runs
    RUN_ONCE = "run_once"  # the earliest runs, late; the others are skipped
    CATCH_UP = "catch_up"  # each runs, within a window and up to a maximum


class Overlap(StrEnum):
    """What to do when a due time comes and the job's previous run is not over."""

    ALLOW = "allow"  # both run
    SKIP = "skip"  # the new one is skipped
    WAIT = "wait"  # the new one runs when the previous one is over
    CANCEL_PREVIOUS = "cancel_previous"  # the previous one is cancelled, and the new one runs when it is over


class InvalidPolicy(Exception):
    """Policies that make no sense together. `field` is the one to change."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Allowances(NamedTuple):
    """What the settings say for jobs that do not, and what holds for all."""

    window: timedelta = CATCH_UP_WINDOW
    most: int = CATCH_UP_MAX
    rows: int = MISFIRE_ROWS
    look: timedelta = OVERLAP_LOOK


def recurs(schedule: Mapping[str, Any]) -> bool:
    """Whether a stored schedule can have more than one due time."""
    return schedule.get("type") not in ONE_OFF


def overlap_of(chosen: str | None, *, recurring: bool) -> Overlap:
    """The policy that holds for a job that chose this one, or none."""
    if chosen:
        return Overlap(chosen)
    return Overlap.SKIP if recurring else Overlap.ALLOW


def check_policies(misfire: str, overlap: str | None, *, recurring: bool) -> None:
    """Refuse what contradicts itself: runs that are caught up on start together, each while the one before goes on."""
    holds = overlap_of(overlap, recurring=recurring)
    if misfire == Misfire.CATCH_UP and holds in (Overlap.SKIP, Overlap.CANCEL_PREVIOUS):
        said = f"'{holds}'" if overlap else f"'{holds}', the default of recurring jobs,"
        lost = "skipped" if holds is Overlap.SKIP else "cancelled"
        raise InvalidPolicy(
            "overlap",
            f"With {said} all but one of the runs that misfire 'catch_up' makes up for would be {lost} at once: "
            "choose overlap 'allow' or 'wait', or another misfire.",
        )

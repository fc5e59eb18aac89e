"""A cron daemon that wakes every minute of real time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from tests.oracle.fields import Matcher

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Window:
    """Some hours of real time, minute by minute, with what the clocks of a zone show at each.

    The clocks must not have been put back shortly before it starts or after it ends: a daemon that
    wakes for the first time cannot know what it has missed.
    """

    instants: list[datetime]
    walls: list[datetime]
    shown: Counter[datetime]

    @classmethod
    def of(cls, zone: ZoneInfo, start: datetime, end: datetime) -> Window:
        instants = [start + number * MINUTE for number in range((end - start) // MINUTE + 1)]
        walls = [instant.astimezone(zone).replace(tzinfo=None) for instant in instants]
        return cls(instants, walls, Counter(walls))

    @property
    def start(self) -> datetime:
        return self.instants[0]

    @property
    def end(self) -> datetime:
        return self.instants[-1]


def runs(expression: str, window: Window, *, on_gap: str = "run_once", on_repeat: str = "run_once") -> list[datetime]:
    """Return the instants in the window, its first minute left out, at which the daemon runs the expression."""
    matcher = Matcher(expression)
    found = []
    reached = window.walls[0]  # the latest time a clock has shown so far
    for instant, wall in zip(window.instants[1:], window.walls[1:], strict=True):
        due = matcher.matches(wall)
        if not matcher.follows_real_time:
            if window.shown[wall] > 1:
                first_time = wall > reached
                due = due and (on_repeat == "run_twice" or (on_repeat == "run_once" and first_time))
            while reached + MINUTE < wall:  # a gap: these no clock has shown
                reached += MINUTE
                due = due or (on_gap == "run_once" and matcher.matches(reached))
            reached = max(reached, wall)
        if due:
            found.append(instant)
    return found

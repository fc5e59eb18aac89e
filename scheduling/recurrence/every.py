"""Runs at a steady interval of real time.

It knows seconds, not calendars: a day here is 86,400 seconds, also on the day the clocks change.
Whoever wants nine o'clock every morning wants cron.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.errors import InvalidSchedule, quoted
from scheduling.recurrence.instants import checked_instant, start_of_search, write_instant

SHORTEST = 1  # second: more often is a stream, not a schedule
LONGEST = 365 * 24 * 60 * 60  # seconds, a year: further apart is a calendar's business


@dataclass(frozen=True)
class Every(Recurrence):
    """Runs at `anchor`, and every `seconds` after it. Without a `start_at` the anchor is now, which itself is past."""

    seconds: int
    anchor: datetime

    def __post_init__(self) -> None:
        # bool is an int to Python, and `true` would read as every second.
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int):
            raise InvalidSchedule("seconds", f"{quoted(self.seconds)} is not a whole number of seconds.")
        if not SHORTEST <= self.seconds <= LONGEST:
            raise InvalidSchedule(
                "seconds",
                f"{quoted(self.seconds)} is out of range: allowed are {SHORTEST} to {LONGEST} (a year).",
            )
        object.__setattr__(self, "anchor", checked_instant("start_at", self.anchor))

    def next_after(self, instant: datetime) -> datetime | None:
        start = start_of_search(instant)
        if start is None:
            return None
        if start < self.anchor:
            return self.anchor
        # Counted from the anchor, not from the last run: a late run must not make every later one late.
        step = timedelta(seconds=self.seconds)
        return self.anchor + ((start - self.anchor) // step + 1) * step

    def bare(self) -> "Every":
        return self

    def to_dict(self) -> dict[str, str | int]:
        return {"type": "interval", "seconds": self.seconds, "start_at": write_instant(self.anchor)}

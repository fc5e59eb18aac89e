"""The time that a report looks at, counted in seconds and minutes from its beginning."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

MOST_HOURS = 7 * 24  # a week: what recurs within it has shown itself, and a report of minutes stays small
SECOND = timedelta(seconds=1)
MINUTE = 60  # seconds


@dataclass(frozen=True)
class Window:
    """So many hours from the minute that `now` is in."""

    now: datetime
    hours: int

    def __post_init__(self) -> None:
        if not 1 <= self.hours <= MOST_HOURS:
            raise ValueError(f"{self.hours} is no number of hours to look at: allowed are 1 to {MOST_HOURS}.")

    @cached_property
    def start(self) -> datetime:
        return self.now.replace(second=0, microsecond=0)

    @cached_property
    def end(self) -> datetime:
        return self.start + timedelta(hours=self.hours)

    @property
    def seconds(self) -> int:
        return self.hours * 3600

    @property
    def minutes(self) -> int:
        return self.hours * 60

    def second_of(self, instant: datetime) -> int:
        """How many whole seconds after the start this is; less than none, if it was before."""
        return (instant - self.start) // SECOND

    def at_minute(self, minute: int) -> datetime:
        return self.start + timedelta(minutes=minute)

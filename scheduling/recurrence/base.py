"""What every kind of schedule promises."""

from abc import ABC, abstractmethod
from datetime import datetime


class Recurrence(ABC):
    """A rule for run times. Immutable, comparable, and always valid: a bad one cannot be built."""

    @abstractmethod
    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first run strictly later than `instant`, or None when there is none.

        The answer depends on the rule and the instant alone: asking again, or from any other
        instant before the same run, gives the same run.
        """

    def first_run(self, now: datetime) -> datetime | None:
        """Return the run that a job accepted at `now` starts with."""
        return self.next_after(now)

    @abstractmethod
    def to_dict(self) -> dict[str, str | int]:
        """Return the JSON form that is stored; `parse_schedule` reads it back to an equal rule."""
